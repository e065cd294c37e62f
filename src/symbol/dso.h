/* SPDX-License-Identifier: MIT */
/*
 * One binary that code is mapped from, and the table that gives each its 16-bit number. Who it is
 * stands in its key; a path alone is nobody, since files are replaced.
 *
 * Bound: dsos.max of them. One of which a location was made is kept, for locations outlive mappings; one that no
 * sample ever hit is forgotten with the last mapping of it, and its number is given to another.
 */
#ifndef SYMBOL_DSO_H
#define SYMBOL_DSO_H

#include "attar/symbol.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/jit.h"
#include "elf/symtab.h"

enum { DSO_MAX = 65000, DSO_MAX_TRIES = 8 };

#define PLACE_OFFSET 0xffffffffffffULL /* the bits of an attar_location below the DSO's number */

struct dso_key {
	enum attar_dso_kind kind;
	uint32_t owner; /* JIT memory: a number for its space; vdso: its class, 32 or 64; else 0 */
	uint64_t dev, ino;   /* major << 32 | minor; 0, 0: unknown */
	uint32_t generation; /* of the inode; 0: unknown */
	uint8_t build_id_size;
	uint8_t build_id[ELF_MAX_BUILD_ID];
	const char *path; /* without " (deleted)" */
};

enum { DSO_FIXED = ATTAR_DSO_FULL + 1 }; /* numbers that always exist */

enum dso_state {
	DSO_NEW,    /* nobody hit it */
	DSO_OPEN,   /* its file is open, its symbols are not read */
	DSO_LOADED, /* the index is built; the file may still be open for names */
	DSO_LOST,   /* its file could not be had (tries says how often) or not be read */
	DSO_FREE,   /* its number waits for another */
};

struct dso {
	struct dso_key key; /* path owned */
	enum dso_state state;
	bool stale; /* lost because another file stood at its path */
	uint8_t tries;
	bool kept;        /* a location was made of it */
	uint32_t refs;    /* mappings, and spaces whose memory without a file it is */
	uint32_t next;    /* of the same hash, or of the free ones; 0: none */
	int fd, debug_fd; /* -1: closed */
	uint8_t *image;   /* vdso: the copied ELF image, owned */
	size_t image_size;
	VEC(struct elf_segment) segments; /* PT_LOAD, once loaded */
	struct symtab table;
	struct jit jit; /* of kind ATTAR_DSO_IS_JIT */
};

struct dsos {
	VEC(struct dso *) at; /* by number; 0, 1 and 2 are the fixed ones */
	struct map by_hash;   /* hash of the key: number of the newest */
	uint32_t free;        /* the first number to be given again; 0: none */
	unsigned max;
	uint64_t refused;
};

int dsos_init(struct dsos *dsos, unsigned max);
void dsos_done(struct dsos *dsos);

/*
 * The number of this binary, new or known; ATTAR_DSO_FULL when the table is; 0 when out of memory. It takes no
 * reference: a new one has none, and stays until it had one.
 */
uint16_t dsos_intern(struct dsos *dsos, const struct dso_key *key);

static inline struct dso *dsos_get(const struct dsos *dsos, unsigned number)
{
	return dsos->at.at[number < dsos->at.n ? number : ATTAR_DSO_UNKNOWN];
}

/* For each mapping of it; the fixed ones are not counted. */
void dsos_ref(struct dsos *dsos, unsigned number);
void dsos_unref(struct dsos *dsos, unsigned number);

/* Closes its files; names that were not read yet are taken into memory first. */
void dso_close(struct dso *dso);

#endif
