/* SPDX-License-Identifier: MIT */
/*
 * Symbols written by a JIT compiler: /tmp/perf-PID.map, lines of "START SIZE name" in hexadecimal
 * (format: jit-interface.txt in linux/tools/perf/Documentation). It grows while the program runs,
 * and later lines are for newer code. Only an index is kept in memory; names are read from the file
 * on demand.
 */
#ifndef SYMBOL_PERFMAP_H
#define SYMBOL_PERFMAP_H

#include "base/buf.h"
#include "base/vec.h"
#include "elf/byte_source.h"

enum {
	PERFMAP_MAX_ENTRIES = 1 << 20,
	PERFMAP_MAX_BYTES = 256 << 20, /* maximum read from a file */
	PERFMAP_MAX_LINE = 32 << 10,   /* bytes; a longer line is not a map file: stop reading */
	PERFMAP_MAX_NAME = 512,        /* bytes; longer names are cut, see perfmap_add_name() */
	PERFMAP_MAX_READ = 16 << 10,   /* bytes read of a name */
};

struct perfmap_entry {
	uint64_t start;
	uint32_t size; /* bytes */
	uint32_t line; /* file offset of its line: higher is newer */
};

struct perfmap {
	uint64_t read;                     /* bytes indexed so far: whole lines */
	bool ended;                        /* a limit was reached, or the data is malformed */
	VEC(struct perfmap_entry) entries; /* sorted by start; of equal starts only the newest */
};

/* Indexes data appended since the last call. Returns 0, also if there are no new entries. */
int perfmap_index(struct perfmap *map, const struct byte_source *source);

/*
 * Merges the entries from `old` on, which were appended, into the sorted ones before; of those with
 * the same start, the newest is kept. Returns 0 or -ENOMEM.
 */
int perfmap_merge(struct perfmap *map, size_t old);

/* The newest entry that contains address, borrowed until the next perfmap_index(); or NULL. */
const struct perfmap_entry *perfmap_find(const struct perfmap *map, uint64_t address);

/*
 * Appends a name of n bytes, which ends at a NUL. A program chooses the names of its code, and a
 * name is in each stack of a report: of a longer one, the start and a hash of all of it.
 */
void perfmap_add_name(struct buf *name, const char *text, size_t n);

/* Appends the name of an entry. Returns 0; -ENODATA if the file has changed there. */
int perfmap_name(
	const struct byte_source *source, const struct perfmap_entry *entry, struct buf *name);

/* The memory of the index, in bytes. */
size_t perfmap_bytes(const struct perfmap *map);

void perfmap_done(struct perfmap *map);

#endif
