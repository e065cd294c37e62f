/* SPDX-License-Identifier: MIT */
/*
 * Functions by small numbers: places that belong to the same function of the same binary share one. Names
 * are asked for once per place, when a report is drawn.
 */
#ifndef STATS_FUNCTIONS_H
#define STATS_FUNCTIONS_H

#include "attar/symbol.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct function {
	const char *name; /* "[unknown]" when it has none */
	const char *dso;
	enum attar_dso_kind kind;
	bool named;
};

struct functions {
	struct attar_symbols *symbols; /* borrowed */
	struct intern texts;
	VEC(struct function) all;
	struct map by_place; /* place -> number */
	struct map by_name;  /* name and dso, hashed by their interned addresses -> number */
};

void functions_init(struct functions *f, struct attar_symbols *symbols);
void functions_done(struct functions *f);

/* The function's number; -ENOMEM. */
int functions_of(struct functions *f, attar_place place);

#endif
