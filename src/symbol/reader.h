/* SPDX-License-Identifier: MIT */
/*
 * Files of others are parsed apart: a reader is a process of attar without rights
 * (symbol/reader_sandbox.h), which gets open files and answers with names and lines
 * (symbol/reader_message.h). attar opens files, also those that binaries and debug information
 * name, and checks each answer. A reader that crashes, takes too long or needs too much memory is
 * killed: the file that it was reading has no names from then on, and another reader is started for
 * the others.
 *
 * There is a reader for the files of root and the caller, and one for each other user, whose files
 * may take READER_BUDGET_NS of CPU time together, and more as time passes. At most READERS_MAX run
 * at a time. A reader is started for its first file. Programs that use the library read files
 * themselves, as attar does where readers cannot be started.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include "attar/private/symbol.h"
#include "symbol/dso_open.h"
#include "symbol/reader_dso.h"

enum {
	READERS_MAX = 4,
	READER_USERS_MAX = 1024, /* the files of further ones are not read */
	READER_FAILURES_MAX = 8, /* of one user: no more files are read */
	READER_OWN_FAILURES_MAX = 64,
	READER_BUDGET_PERCENT = 5, /* of the time since the first file */
};

#define READER_BUDGET_NS      10000000000ULL
#define READER_REQUEST_NS     1000000000ULL  /* CPU time of a request */
#define READER_OWN_REQUEST_NS 60000000000ULL /* of files of root and the caller */

struct debuginfod;
struct symbol_readers;

void readers_free(struct symbol_readers *readers);

/* ---- instead of parsing in this process ---- */

/* Whether a reader reads the file of a DSO, which is open. */
bool readers_want(struct attar_symbols *symbols, struct dso *dso);

/*
 * As dso_load(), and keeps the files open. root: the root directory of its process, to look for a
 * debug file; or -1.
 */
int readers_load(
	struct attar_symbols *symbols, struct dso *dso, struct debuginfod *server, int root);

/* As attar_symbols_resolve() for a DSO that a reader has, also of JIT code whose files are open. */
int readers_resolve(struct attar_symbols *symbols, struct dso *dso, struct attar_symbol *symbol);

/* Asks for the symbols of n offsets of such a DSO, sorted, which are not known. */
void readers_prefetch(
	struct attar_symbols *symbols, struct dso *dso, const uint64_t *offsets, size_t n);

/* Whether the symbol of an offset in the file of such a DSO is known. */
bool readers_know(const struct dso *dso, uint64_t offset);

/* Whether caches use readers. */
bool readers_are_used(const struct attar_symbols *symbols);

/* Receives the frames of the place with this index. */
typedef void readers_fn(void *ctx, size_t index, const struct attar_frame *frames, size_t n);

/* Locations of such a DSO. fn must not look up others. */
struct readers_places {
	const attar_location *at;
	size_t n;
	struct attar_frame common; /* what their frames have in common */
	readers_fn *fn;
	void *ctx;
};

/*
 * Finds their frames, in any order, once each. Returns 0 or a negative errno: there are none for
 * those that fn was not called for.
 */
int readers_frames(
	struct attar_symbols *symbols, struct dso *dso, const struct readers_places *places);

/* A DSO with which a reader has failed, and how many there are; NULL: none. */
const struct dso *readers_failed(const struct attar_symbols *symbols, size_t *ret_n);

/* ns of CPU time of all readers so far. */
uint64_t readers_cpu(const struct symbol_readers *readers);

/* Numbers of lines that were read, as in attar_symbols_stats. */
void readers_add_stats(const struct symbol_readers *readers, struct attar_symbols_stats *stats);

#endif
