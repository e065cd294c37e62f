/* SPDX-License-Identifier: MIT */
/*
 * Source lines and inlined functions of a binary, from its DWARF 2 to 5. Nothing is read before the
 * first lookup. A unit (mostly a source file of C or C++) is read when an address of it is looked
 * up, into sorted tables of 8 to 12 bytes a row: for the first addresses the function and the rows
 * around them, then all. The least recently used tables are dropped if all take more than a limit.
 * .debug_aranges finds the unit of an address, or else the ranges of units. Code of a Go program
 * that is in no unit has the lines of elf/go_table.h.
 *
 *	debug_info_open(&options, &info);
 *	n = debug_info_find(info, vaddr, frames, ARRAY_SIZE(frames));
 *	debug_info_close(info);
 *
 * Hostile files: every length is checked, and a malformed part yields less, not errors.
 */
#ifndef DWARF_DEBUG_INFO_H
#define DWARF_DEBUG_INFO_H

#include "base/intern.h"
#include "elf/byte_source.h"

struct debug_info;

/* Files that a file with debug information refers to. */
enum debug_part { DEBUG_PART_DWO, DEBUG_PART_DWZ };

struct debug_info_options {
	struct byte_source source; /* of the file with debug information, which owns its fd */
	const char *path;          /* of that file, to find others next to it; may be NULL */
	const char *binary;        /* path of the binary, for BINARY.dwp; may be NULL */
	const char *roots;         /* colon-separated directories of debug files; may be NULL */
	/* Opens another file: dwz's, .dwo or .dwp. Returns an fd or a negative errno. NULL: none */
	int (*open)(void *ctx, const char *path);
	/* Such a file cannot be used, for a reason such as "it is of another build"; may be NULL */
	void (*missing)(void *ctx, enum debug_part part, const char *path, const char *reason);
	void *ctx;
	struct intern *strings; /* names of functions and files are interned here; outlives info */
	size_t max_bytes;       /* of the tables of units; 0: 64 MiB */
};

/* A function at an address, or one that another was inlined into. */
struct debug_frame {
	const char *function;  /* linkage name, else the name in the source; NULL: unknown */
	const char *file;      /* path; NULL: unknown */
	uint32_t line, column; /* 0: unknown. Of a caller: of the inlined call */
	bool inlined;          /* into the next frame */
};

struct debug_info_stats {
	uint64_t units_read;    /* also again, after they were dropped, or another part */
	uint64_t units_dropped; /* because of max_bytes */
	size_t bytes;           /* of tables, now */
};

/* Returns 0; -ENODATA if the file has no debug information; -ENOEXEC; -ENOMEM. */
int debug_info_open(const struct debug_info_options *options, struct debug_info **ret_info);
void debug_info_close(struct debug_info *info);

/*
 * The functions and lines at a virtual address of the debug file, the innermost first. Returns the
 * number of frames, which may be more than max: at most max are stored. 0: nothing is known.
 */
size_t debug_info_find(
	struct debug_info *info, uint64_t vaddr, struct debug_frame *frames, size_t max);

/* Says that the next n addresses are of one unit, of which many are found fastest in all of it. */
void debug_info_expect(struct debug_info *info, size_t n);

/*
 * The number of the unit of an address, which is not read; UINT64_MAX: none. The code up to
 * *ret_end has the same. The linker sorts code by kind, so the code of a unit is in several places:
 * many addresses are looked up fastest by unit.
 */
uint64_t debug_info_unit(struct debug_info *info, uint64_t vaddr, uint64_t *ret_end);

/*
 * The code from the address that was looked up last to this one has the same functions and lines;
 * 0: that is not known.
 */
uint64_t debug_info_end(const struct debug_info *info);

void debug_info_get_stats(const struct debug_info *info, struct debug_info_stats *ret_stats);

#endif
