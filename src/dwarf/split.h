/* SPDX-License-Identifier: MIT */
/*
 * Split DWARF: the entries of a unit are in a .dwo file, or in a .dwp package next to the binary,
 * and the binary has a skeleton of the unit (DWARF 5, section 3.1.2; GNU's of DWARF 4 is like it).
 */
#ifndef DWARF_SPLIT_H
#define DWARF_SPLIT_H

#include "dwarf/debug_info.h"
#include "dwarf/unit_index.h"

struct split {
	const char *binary, *path;                     /* see struct debug_info_options */
	int (*open_path)(void *ctx, const char *path); /* the same as `open` there */
	void (*missing)(void *ctx, enum debug_part part, const char *path, const char *reason);
	void *ctx;
	struct debug_file package; /* the .dwp */
	bool package_opened;
	unsigned open; /* .dwo files */
};

/* The unit of a skeleton. unit.file is NULL if it was not found. */
struct split_unit {
	struct debug_unit unit;
	struct debug_file *own; /* its .dwo file; NULL if it is in the package */
};

/* Finds the unit of a skeleton. Its root entry was read. Close with split_unit_close(). */
void split_open(struct split *split, struct unit_index *index, struct debug_unit *skeleton,
	struct split_unit *ret_unit);
void split_unit_close(struct split *split, struct split_unit *unit);
void split_done(struct split *split);

#endif
