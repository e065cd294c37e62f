/* SPDX-License-Identifier: MIT */
/* Spelling suggestions: the most similar of a set of known words. */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

#include "base/base.h"

/* Keeps the best word seen. Start with .best = NULL and .word set. */
struct suggest {
	const char *word; /* what the user wrote */
	const char *best; /* borrowed from the words offered; NULL: none is similar */
	unsigned distance;
};

/*
 * Offers a known word. It is similar if the edit distance is at most a third of its length. Words
 * of more than 64 bytes are not: they would not be short enough to read.
 */
void suggest_offer(struct suggest *s, const char *known);

#endif
