/* SPDX-License-Identifier: MIT */
/* Did you mean: the nearest of some known words. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/base.h"

/* Keeps the best word seen. Start with .best = NULL and .word set. */
struct suggest {
	const char *word; /* what the user wrote */
	const char *best; /* borrowed from the words offered; NULL when none is near */
	unsigned distance;
};

/* Offers one known word. Only words within a third of their length (edits and swaps) are near. */
void suggest_offer(struct suggest *s, const char *known);

#endif
