/* SPDX-License-Identifier: MIT */
/*
 * A sort digit by digit, which takes a fraction of the time of qsort(3) for large tables of small
 * elements. An element starts with its key, a u32 or a u64; those with equal keys stay in their
 * order. radix_sort() makes the passes that are needed, from the lowest digit to the highest:
 *
 *	for (unsigned shift = 0; shift < 32; shift += RADIX_BITS) {
 *		radix_pass(from, to, n, sizeof(*to), sizeof(to->key), shift);
 *		SWAP(from, to);
 *	}
 */
#ifndef BASE_RADIX_H
#define BASE_RADIX_H

#include "base/base.h"

enum {
	RADIX_BITS = 11,
	RADIX_DIGITS = 1 << RADIX_BITS,
	RADIX_MIN = 256, /* elements for which qsort(3) does not take less time */
};

static inline uint64_t radix_key(const uint8_t *element, size_t key_size)
{
	uint32_t u32;
	uint64_t u64;

	memcpy(&u32, element, sizeof(u32));
	u64 = u32;
	if (key_size == sizeof(u64))
		memcpy(&u64, element, sizeof(u64));
	return u64;
}

static inline size_t radix_digit(const uint8_t *element, size_t key_size, unsigned shift)
{
	return radix_key(element, key_size) >> shift & (RADIX_DIGITS - 1);
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

/*
 * Sorts n elements in memory of malloc(3). Returns where they are: in the same memory, or in other
 * memory, and the same is freed. Digits that are equal in all are left out. Few elements are
 * compared by fn, which has to keep those with equal keys in their order.
 */
static inline __attribute__((always_inline)) void *radix_sort(void *elements, size_t n, size_t size,
	size_t key_size, int (*fn)(const void *, const void *))
{
	void *other = n < RADIX_MIN ? NULL : malloc(n * size);
	const uint8_t *at = elements;
	uint64_t different = 0;

	if (!other) {
		if (n)
			qsort(elements, n, size, fn);
		return elements;
	}
	for (size_t i = 1; i < n; i++)
		different |= radix_key(at + i * size, key_size) ^ radix_key(at, key_size);
	for (unsigned shift = 0; shift < 8 * key_size; shift += RADIX_BITS) {
		void *from = elements;

		if (!(different >> shift & (RADIX_DIGITS - 1)))
			continue;
		radix_pass(from, other, n, size, key_size, shift);
		elements = other;
		other = from;
	}
	free(other);
	return elements;
}

#endif
