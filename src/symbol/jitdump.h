/* SPDX-License-Identifier: MIT */
/*
 * Symbols and source lines written by a JIT compiler: jit-PID.dump (format:
 * jitdump-specification.txt in linux/tools/perf/Documentation). The compiler maps the file as code,
 * by which it is found. It grows while the program runs, and later records are for newer code. Only
 * an index is kept in memory; the code in it is skipped, and names and lines are read on demand.
 */
#ifndef SYMBOL_JITDUMP_H
#define SYMBOL_JITDUMP_H

#include "base/map.h"
#include "symbol/perfmap.h"

enum {
	JITDUMP_MAX_LINES = 1 << 20, /* of a function */
	JITDUMP_MAX_PATH = 4096,     /* bytes of the path of a source file */
};

struct jitdump {
	uint64_t read;       /* bytes indexed so far: whole records */
	bool ended;          /* a limit was reached, or the data is malformed */
	struct map newest;   /* first address of code to the file offset of its newest record */
	struct map lines;    /* offset in the file of a load or move record to its source lines */
	struct map moved;    /* offset in the file of a move record to the load record */
	uint64_t next_addr;  /* the code for which source lines were read, and ... */
	uint32_t next_lines; /* ... the offset of their record; 0: none */
	struct perfmap code; /* entries: `line` is the offset of the load or move record */
};

/* Whether this is the path of such a file: its last part is "jit-NUMBER.dump". */
bool jitdump_is_path(const char *path);

/* Indexes records appended since the last call. Returns 0 or -ENOMEM. */
int jitdump_index(struct jitdump *dump, const struct byte_source *source);

/* Appends the name of the code of an entry. Returns 0; -ENODATA if the file has changed there. */
int jitdump_name(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, struct buf *name);

/*
 * Appends the source file of an address in the code of an entry, and stores its line. Returns 0;
 * -ENODATA if it is unknown.
 */
int jitdump_line(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, uint64_t address, struct buf *file, uint32_t *ret_line);

/*
 * Reads n bytes of the code of an entry, which is that from when it was loaded. *ret_machine: EM_*
 * of elf(5). Returns 0; -ENODATA if the record does not have them.
 */
int jitdump_code(const struct jitdump *dump, const struct byte_source *source,
	const struct perfmap_entry *entry, uint64_t address, void *bytes, size_t n,
	uint16_t *ret_machine);

/* The memory of the index, in bytes. */
size_t jitdump_bytes(const struct jitdump *dump);

void jitdump_done(struct jitdump *dump);

#endif
