/* SPDX-License-Identifier: MIT */
/* The build ids in the header of a recording, by path: its MMAP records have none. */
#ifndef STREAM_BUILD_IDS_H
#define STREAM_BUILD_IDS_H

#include "attar/symbol.h"
#include "base/map.h"
#include "recording/recording.h"

struct build_ids {
	const struct recording *recording; /* borrowed */
	struct map by_path;                /* hash of the path to an index, or AMBIGUOUS */
	size_t n;                          /* that are in the map */
};

void build_ids_init(struct build_ids *b, const struct recording *recording);
void build_ids_done(struct build_ids *b);

/*
 * If the file of a mapping has exactly one build id, that identifies it from now on, also on
 * another machine, and the device and inode are cleared.
 */
void build_ids_set(struct build_ids *b, struct attar_mapping *mapping);

#endif
