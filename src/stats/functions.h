/* SPDX-License-Identifier: MIT */
/*
 * Functions by small numbers: locations that belong to the same function of the same binary share
 * one. Names are asked for when a report is drawn.
 *
 * Places of a binary without a name share one function, "[unknown]", unless functions_set_apart()
 * gave a location one of its own: "MODULE+0xOFFSET", the offset in the file.
 *
 * Bounds: FUNCTIONS_PLACES_MAX locations are remembered, and asked for again beyond;
 * FUNCTIONS_APART_MAX nameless ones are set apart; names are bounded by the cache of symbols.
 */
#ifndef STATS_FUNCTIONS_H
#define STATS_FUNCTIONS_H

#include "attar/symbol.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

enum { FUNCTIONS_PLACES_MAX = 1 << 18, FUNCTIONS_APART_MAX = 4096 };

struct function {
	const char *name; /* "[unknown]" when it has none, or "MODULE+0xOFFSET" */
	const char *dso;
	enum attar_dso_kind kind;
	bool named;
	bool mixed; /* nameless locations of a binary, which can be set apart */
};

enum { PLACE_TEXT_MAX = 288 };

/*
 * "MODULE+0xOFFSET": the last part of the DSO's path, at most 255 bytes of it, and the offset in
 * its file.
 */
void place_text(struct attar_symbols *symbols, attar_location location, char text[PLACE_TEXT_MAX]);

struct functions {
	struct attar_symbols *symbols; /* borrowed */
	struct intern texts;
	VEC(struct function) all;
	struct map by_location; /* location -> number; forgotten when it is full */
	struct map apart;       /* nameless location -> number of its own */
	struct map by_name;     /* name and dso, hashed by their interned addresses -> number */
};

void functions_init(struct functions *f, struct attar_symbols *symbols);
void functions_done(struct functions *f);

/* The function's number; -ENOMEM. */
int functions_of(struct functions *f, attar_location location);

/* The number of what stands for samples without a stack; -ENOMEM. */
int functions_no_stack(struct functions *f);

/*
 * From here on the nameless location of a mixed function has a number of its own. 0, also when
 * there are too many; or -ENOMEM.
 */
int functions_set_apart(struct functions *f, attar_location location);

#endif
