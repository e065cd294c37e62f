/* SPDX-License-Identifier: MIT */
/*
 * Names, source lines and call frame information that a recording contains, for its locations. They
 * have precedence over the files of this machine, so that a report is the same where the files are
 * missing. Files are only read for locations that are not stored.
 *
 *	struct stored *stored = stored_new();
 *	struct stored_module *module = stored_add(stored, &key);
 *	stored_add_place(module, &place);		// all, in any order
 *	symbols_set_stored(symbols, stored);		// which owns it from now on
 */
#ifndef SYMBOL_STORED_SYMBOLS_H
#define SYMBOL_STORED_SYMBOLS_H

#include "base/intern.h"
#include "symbol/dso.h"

struct stored_place {
	uint64_t offset;          /* of the location */
	const char *name;         /* in the symbol table; NULL: none */
	const char *dso;          /* of the symbol, if not the path of the module; NULL: that */
	uint64_t start, size;     /* of the symbol */
	uint64_t into;            /* bytes from the symbol's start */
	uint32_t frame, n_frames; /* in frames: the functions and lines; 0: none */
};

struct stored_module {
	struct dso_key key; /* path in stored.texts; of anonymous memory, owner is not used */
	pid_t pid;          /* of anonymous memory: its process; else 0 */
	const char *shown;  /* of anonymous memory: path of its symbols; NULL: none */
	uint8_t build_id_size;
	uint8_t build_id[ELF_MAX_BUILD_ID]; /* of the file that was read */
	bool has_cfi;
	struct cfi_table cfi;            /* taken by the first DSO that it belongs to */
	VEC(struct stored_place) places; /* sorted by symbols_set_stored() */
	VEC(struct debug_frame) frames;
};

struct stored {
	struct intern texts;
	VEC(struct stored_module *) modules;
};

/* Returns NULL if out of memory. */
struct stored *stored_new(void);

/* Accepts NULL. */
void stored_free(struct stored *stored);

/* Adds a module; its path is copied. NULL if out of memory. */
struct stored_module *stored_add(struct stored *stored, const struct dso_key *key);

/* The module of a DSO; NULL: there is none. */
struct stored_module *stored_match(const struct stored *stored, const struct dso *dso);

/* The names at an offset in a module, which may be NULL; NULL: none. */
const struct stored_place *stored_find(const struct stored_module *module, uint64_t offset);

#endif
