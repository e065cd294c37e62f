/* SPDX-License-Identifier: MIT */
/*
 * The words of expressions: names, constants of C, strings, operators. What a character means
 * depends on its place (a '*' in a pattern, a type or a product), so the parser asks for the word
 * that it expects. Each function skips white space, then the word if it comes next; otherwise it
 * returns false or 0.
 */
#ifndef EXPR_LEX_H
#define EXPR_LEX_H

#include "base/buf.h"

void lex_blanks(const char **p);

/* Skips this text. */
bool lex_take(const char **p, const char *text);

/* The length of the letters, digits and '_' at p, without skipping them. */
size_t lex_word(const char *p);

/* Like lex_word(); 0 if they start with a digit. */
size_t lex_name(const char *p);

/* Skips a name and copies it. Also false if it does not fit. */
bool lex_copy_name(const char **p, char *ret_name, size_t max);

/* An integer constant of C with the type that C gives it: 32 or 64 bits. */
struct lex_integer {
	uint64_t value;
	uint8_t bits;
	bool is_signed;
};

bool lex_integer(const char **p, struct lex_integer *ret_integer);

/* A character constant such as 'a' or '\n'. */
bool lex_character(const char **p, char *ret_character);

/* String constants of C, joined: "a" "b\n". Appends them to the text. */
bool lex_string(const char **p, struct buf *ret_text);

/* A 64-bit number with a sign, such as -5, 0x1f or 017; errors are as of strtoull(3). */
bool lex_signed(const char **p, int64_t *ret_number);

/* Whether the integer that begins here has more than 64 bits. Skips nothing. */
bool lex_is_too_large(const char *p);

/* A floating-point number as in strtod(3). */
bool lex_real(const char **p, double *ret_number);

/*
 * A string in double or single quotes, without escapes, or without quotes up to one of " \t)&|".
 * Returns its start and stores its length without quotes; NULL if the closing quote is missing.
 */
const char *lex_text(const char **p, size_t *ret_len);

#endif
