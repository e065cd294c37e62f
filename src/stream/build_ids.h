/* SPDX-License-Identifier: MIT */
/* The build IDs in the header of a recording, by path: its MMAP records have none. */
#ifndef STREAM_BUILD_IDS_H
#define STREAM_BUILD_IDS_H

#include "attar/symbol.h"
#include "base/map.h"
#include "base/vec.h"
#include "perfdata/recording.h"

struct attar_symbols;

/* The first mapped file of a path, to which the build ID of the path was given. */
struct build_id_owner {
	uint32_t maj, min, generation;
	uint64_t ino;
};

struct build_ids {
	const struct recording *recording; /* borrowed */
	struct map by_path;                /* hash of the path to an index, or AMBIGUOUS */
	size_t n;                          /* that are in the map */
	struct map owner_of;               /* hash of the path to an index in owners */
	VEC(struct build_id_owner) owners;
};

void build_ids_init(struct build_ids *b, const struct recording *recording);
void build_ids_done(struct build_ids *b);

/*
 * If the path of a mapping has exactly one build ID and one file, the build ID identifies the file
 * from now on, also on another machine, and the device and inode are cleared. When a second file of
 * the path follows, it is unknown which of them has the build ID: device and inode identify both.
 */
void build_ids_set(
	struct build_ids *b, struct attar_symbols *symbols, struct attar_mapping *mapping);

#endif
