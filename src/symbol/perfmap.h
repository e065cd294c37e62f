/* SPDX-License-Identifier: MIT */
/*
 * The names that a JIT compiler writes down for its code: /tmp/perf-PID.map, lines of "START SIZE
 * name" in hexadecimal (format: jit-interface.txt in linux/tools/perf/Documentation). It grows
 * while the program runs, and later lines speak of newer code. Only an index is kept in memory; a
 * name is read from the file when it is asked for.
 */
#ifndef SYMBOL_PERFMAP_H
#define SYMBOL_PERFMAP_H

#include "base/buf.h"
#include "base/vec.h"
#include "elf/byte_source.h"

enum {
	PERFMAP_MAX_ENTRIES = 1 << 20,
	PERFMAP_MAX_BYTES = 256 << 20, /* read of a file */
	PERFMAP_MAX_LINE = 32 << 10,   /* bytes; a longer one ends the reading: no such file */
	PERFMAP_MAX_NAME = 16 << 10,   /* bytes; longer names are cut */
};

struct perfmap_entry {
	uint64_t start;
	uint32_t size; /* bytes */
	uint32_t line; /* where its line begins in the file: later is newer */
};

struct perfmap {
	uint64_t read;                     /* bytes indexed so far: whole lines */
	bool ended;                        /* a bound was reached, or noise */
	VEC(struct perfmap_entry) entries; /* sorted by start; of equal starts only the newest */
};

/* Indexes what was appended since the last time. 0, also when there is nothing of use. */
int perfmap_index(struct perfmap *map, const struct byte_source *source);

/* The newest entry that covers address, borrowed until the next refresh; or NULL. */
const struct perfmap_entry *perfmap_find(const struct perfmap *map, uint64_t address);

/* Appends an entry's name. 0; -ENODATA when the file no longer says the same. */
int perfmap_name(
	const struct byte_source *source, const struct perfmap_entry *entry, struct buf *name);

void perfmap_done(struct perfmap *map);

#endif
