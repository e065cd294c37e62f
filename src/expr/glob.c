/* SPDX-License-Identifier: MIT */
/* Match texts with patterns as the kernel does: lib/glob.c, Documentation/trace/events.rst. */
#include "expr/expr.h"

/*
 * Parses a class after its '['. Returns false if it has no ']': then the '[' stands for itself. The
 * first character may be a ']'.
 */
static bool match_class(const char **p, const char *end, unsigned char c, bool *ret_matches)
{
	const char *at = *p;
	bool inverted = at < end && *at == '!', matches = false;

	at += inverted;
	for (const char *first = at;; at++) {
		unsigned char low, high;

		if (at >= end)
			return false;
		if (*at == ']' && at > first)
			break;
		low = high = (unsigned char)*at;
		if (end - at > 2 && at[1] == '-' && at[2] != ']') {
			at += 2;
			high = (unsigned char)*at;
		}
		matches |= low <= c && c <= high;
	}
	*p = at + 1;
	*ret_matches = matches != inverted;
	return true;
}

/* Matches one character with the next part of the pattern, and skips it if they match. */
static bool match_one(const char **p, const char *end, char c)
{
	const char *at = *p;
	char wanted = *at++;
	bool matches;

	if (wanted == '?') {
		*p = at;
		return true;
	}
	if (wanted == '[' && match_class(&at, end, (unsigned char)c, &matches)) {
		if (matches)
			*p = at;
		return matches;
	}
	if (wanted == '\\') {
		if (at == end)
			return false;
		wanted = *at++;
	}
	if (wanted == c)
		*p = at;
	return wanted == c;
}

bool expr_glob(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
	const char *p = pattern, *p_end = pattern + pattern_len;
	const char *t = text, *t_end = text + len;
	/* After a mismatch, the last "*" takes one character more. */
	const char *p_star = NULL, *t_star = NULL;

	for (;;) {
		if (p < p_end && *p == '*') {
			p_star = ++p;
			t_star = t;
		} else if (t == t_end) {
			return p == p_end;
		} else if (p < p_end && match_one(&p, p_end, *t)) {
			t++;
		} else if (p_star) {
			p = p_star;
			t = ++t_star;
		} else {
			return false;
		}
	}
}
