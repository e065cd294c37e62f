/* SPDX-License-Identifier: MIT */
/* The terms between slashes: pmu/term=value,event,.../. */
#ifndef EVENT_TERMS_H
#define EVENT_TERMS_H

#include "event/list.h"

struct pmu;

/*
 * Adds pmu/word/ if the PMU has such an event or the word is generic. Returns 1, or a negative
 * errno.
 */
int terms_add_word(struct parser *parser, struct pmu *pmu, const char *word, size_t n);

#endif
