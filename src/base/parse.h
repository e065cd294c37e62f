/* SPDX-License-Identifier: MIT */
/*
 * Parsers for command-line values. Each parses the whole text (trailing bytes are an error). On
 * failure *ret_x is unchanged, and the error message has the input and the expected syntax.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include "base/vec.h"

typedef VEC(int) parse_ints;

/* By character, the value of a hexadecimal digit and 1; 0: it is none. */
extern const uint8_t parse_hex_digits[256];

/* The value of a hexadecimal digit; -1 for another character, without an error message. */
static inline int parse_hex_digit(char c)
{
	return parse_hex_digits[(unsigned char)c] - 1;
}

/* Decimal, or hexadecimal after 0x. */
int parse_u64(const char *text, uint64_t *ret_value);

/*
 * A duration in ns: "250ms", "5s", "1.5s", "4us", "2m", "1h"; a number without a unit is in units
 * of `bare` ns.
 */
int parse_time(const char *text, uint64_t bare, uint64_t *ret_ns);

/* A size in bytes: "4096", "64K", "4M", "1G" (powers of 1024). */
int parse_size(const char *text, uint64_t *ret_bytes);

/*
 * A list of numbers and ranges in the syntax of the kernel's CPU lists: "0-3,8". Each is between 0
 * and max; sorted, without duplicates. Free with vec_done(), also after a failure.
 */
int parse_list(const char *text, int max, parse_ints *ret_list);

bool parse_ints_have(const parse_ints *list, int value);

#endif
