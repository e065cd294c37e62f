/* SPDX-License-Identifier: MIT */
/*
 * A parser of JSON (RFC 8259) that goes over the text once, driven by what the caller expects:
 * values that are not needed are skipped. After an error it is at the end of the text, where
 * nothing is found.
 *
 *	json_expect(p, '{');
 *	while (json_next_member(p, &first, &key))
 *		json_skip(p);
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <locale.h>

#include "base/buf.h"

struct json_parser {
	const char *at, *end;
	locale_t c; /* of numbers, for the caller, who owns it; 0: it reads none */
	bool failed;
};

void json_fail(struct json_parser *p);

/* The next character that is not a space; '\0' at the end. */
char json_peek(struct json_parser *p);

/* Steps over c; fails if it is not there. */
void json_expect(struct json_parser *p, char c);

/* Steps over '{'. False: the value is no object, and was stepped over. */
bool json_enter(struct json_parser *p);

/* Reads a string, which replaces the contents of b. */
void json_read_string(struct json_parser *p, struct buf *b);

/* Steps over a value of any kind. */
void json_skip(struct json_parser *p);

/*
 * Steps to the next element of an array, or member of an object, after its bracket. *first is true
 * before the first one. False: it was the last one, or the text is not JSON.
 */
bool json_next(struct json_parser *p, char close, bool *first);
bool json_next_member(struct json_parser *p, bool *first, struct buf *key);

#endif
