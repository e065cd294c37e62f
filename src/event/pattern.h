/* SPDX-License-Identifier: MIT */
/* Patterns with alternatives in braces: "tcp_{send,recv}msg*". */
#ifndef EVENT_PATTERN_H
#define EVENT_PATTERN_H

#include "base/vec.h"

enum { PATTERN_TEXTS_MAX = 256, PATTERN_TEXT_MAX = 1024 };

/* The patterns of fnmatch(3) that a pattern with braces stands for. */
struct pattern {
	VEC(char *) texts;
};

/*
 * Returns 0; -E2BIG for more than PATTERN_TEXTS_MAX alternatives or PATTERN_TEXT_MAX bytes; -EINVAL
 * for a brace that is not closed; -ENOMEM. Free with pattern_done(), also after a failure.
 */
int pattern_init(struct pattern *pattern, const char *text);
void pattern_done(struct pattern *pattern);

bool pattern_matches(const struct pattern *pattern, const char *name);

#endif
