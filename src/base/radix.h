/* SPDX-License-Identifier: MIT */
/*
 * A pass of a sort digit by digit, which takes a fraction of the time of qsort(3) for large tables
 * of small elements. An element starts with its key, a u32 or a u64. Passes from the lowest digit
 * to the highest sort by key; equal ones stay in their order.
 *
 *	for (unsigned shift = 0; shift < 32; shift += RADIX_BITS) {
 *		radix_pass(from, to, n, sizeof(*to), sizeof(to->key), shift);
 *		SWAP(from, to);
 *	}
 */
#ifndef BASE_RADIX_H
#define BASE_RADIX_H

#include "base/base.h"

enum { RADIX_BITS = 11, RADIX_DIGITS = 1 << RADIX_BITS };

static inline size_t radix_digit(const uint8_t *element, size_t key_size, unsigned shift)
{
	uint32_t u32;
	uint64_t u64;

	memcpy(&u32, element, sizeof(u32));
	u64 = u32;
	if (key_size == sizeof(u64))
		memcpy(&u64, element, sizeof(u64));
	return u64 >> shift & (RADIX_DIGITS - 1);
}

/* Copies n elements to `to`, ordered by the digit of their keys at bit `shift`. */
static inline __attribute__((always_inline)) void radix_pass(
	const void *from, void *to, size_t n, size_t size, size_t key_size, unsigned shift)
{
	size_t starts[RADIX_DIGITS + 1] = {0};
	const uint8_t *at = from;

	for (size_t i = 0; i < n; i++)
		starts[radix_digit(at + i * size, key_size, shift) + 1]++;
	for (size_t i = 1; i < RADIX_DIGITS; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < n; i++) {
		size_t place = starts[radix_digit(at + i * size, key_size, shift)]++;

		memcpy((uint8_t *)to + place * size, at + i * size, size);
	}
}

#endif
