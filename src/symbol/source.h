/* SPDX-License-Identifier: MIT */
/*
 * The debug information of DSOs, opened when lines of a DSO are asked for first. Few are open at a
 * time: the least recently used are closed when their tables take more than a limit.
 */
#ifndef SYMBOL_SOURCE_H
#define SYMBOL_SOURCE_H

#include "symbol/dso.h"

enum { SOURCES_OPEN_MAX = 32 };

struct attar_symbols;

/* What else debug information is in. */
enum source_part { SOURCE_PART_DWO, SOURCE_PART_DWZ, SOURCE_PART_LINK };

struct symbol_sources {
	struct intern strings; /* names and paths, valid until the cache is freed */
	size_t max_bytes;
	unsigned open;
	uint64_t clock;
	struct debug_info_stats closed; /* sums of those that were closed */
	struct map missing;             /* files that cannot be used, by their paths in strings */
	const char *first_missing;      /* of them; NULL: none */
	const char *first_reason;       /* in strings */
	enum source_part first_part;
	bool is_missing_said;
	/* Called for each file that is new in missing; NULL: none */
	void (*say_missing)(void *ctx, enum source_part part, const char *path, const char *reason);
	void *say_ctx;
};

void symbol_sources_done(struct symbol_sources *sources);

/* The debug information of a DSO whose symbols were read, or NULL. Borrowed until the next call. */
struct debug_info *source_of(struct attar_symbols *symbols, struct dso *dso);

/* A debug file that a binary refers to cannot be used. */
void source_add_missing(struct symbol_sources *sources, enum source_part part, const char *path,
	const char *reason);

/*
 * Which files of debug information cannot be used; NULL: none. Valid until the thread's next call.
 * Unless it is called, a note says so when the sources are freed.
 */
const char *source_missing(struct symbol_sources *sources);

/* Closes it, if it is open; source_of() looks for it again. */
void source_close(struct attar_symbols *symbols, struct dso *dso);

/* After a lookup: closes others if all take more memory than the limit. */
void source_limit(struct attar_symbols *symbols, struct dso *used);

#endif
