/* SPDX-License-Identifier: MIT */
/*
 * Text from a command line into values. Each parser takes the whole text (trailing bytes are an
 * error) and on failure leaves *ret_x untouched and an error text that names the text and what was
 * expected.
 */
#ifndef BASE_PARSE_H
#define BASE_PARSE_H

#include "base/vec.h"

typedef VEC(int) parse_ints;

/* The value of a hexadecimal digit; -1 for another character, without an error text. */
static inline int parse_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decimal, or hexadecimal after 0x. */
int parse_u64(const char *text, uint64_t *ret_value);

/* A duration in ns: "250ms", "5s", "1.5s", "4us", "2m", "1h"; a bare number counts in `bare` ns. */
int parse_time(const char *text, uint64_t bare, uint64_t *ret_ns);

/* A size in bytes: "4096", "64K", "4M", "1G" (powers of 1024). */
int parse_size(const char *text, uint64_t *ret_bytes);

/*
 * A list of numbers and ranges as the kernel writes CPU lists: "0-3,8". Each between 0 and max,
 * sorted, without repeats. The vector is the caller's to vec_done(), also after a failure.
 */
int parse_list(const char *text, int max, parse_ints *ret_list);

bool parse_ints_have(const parse_ints *list, int value);

#endif
