/* SPDX-License-Identifier: MIT */
/*
 * Sorts digit by digit, which takes a fraction of the time of qsort(3) for tables of small
 * elements. An element starts with its key, a u32 or a u64; those with equal keys stay in their
 * order. Passes are made from the lowest digit to the highest; digits that are equal in all
 * elements are left out.
 */
#ifndef BASE_RADIX_H
#define BASE_RADIX_H

#include "base/base.h"

enum {
	RADIX_MIN = 24,    /* elements for which qsort(3) does not take less time */
	RADIX_MANY = 4096, /* elements for which fewer passes outweigh larger tables */
	RADIX_BITS = 8,    /* of a digit */
	RADIX_BITS_MANY = 11,
	RADIX_DIGITS = 1 << RADIX_BITS_MANY, /* at most */
};

static inline unsigned radix_bits(size_t n)
{
	return n < RADIX_MANY ? RADIX_BITS : RADIX_BITS_MANY;
}

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

/* Replaces the number of elements with each digit by the place of the first of them. */
static inline void radix_add(size_t *starts, unsigned bits)
{
	size_t place = 0;

	for (size_t i = 0; i < (size_t)1 << bits; i++) {
		size_t n = starts[i];

		starts[i] = place;
		place += n;
	}
}

/* Copies n elements to `to`, ordered by the digit of their keys at bit `shift`. */
static inline __attribute__((always_inline)) void radix_pass(const void *from, void *to, size_t n,
	size_t size, size_t key_size, unsigned shift, unsigned bits)
{
	size_t starts[RADIX_DIGITS], digits = (size_t)1 << bits;
	const uint8_t *at = from;

	memset(starts, 0, digits * sizeof(*starts));
	for (size_t i = 0; i < n; i++)
		starts[radix_key(at + i * size, key_size) >> shift & (digits - 1)]++;
	radix_add(starts, bits);
	for (size_t i = 0; i < n; i++) {
		uint64_t key = radix_key(at + i * size, key_size);
		size_t place = starts[key >> shift & (digits - 1)]++;

		memcpy((uint8_t *)to + place * size, at + i * size, size);
	}
}

/*
 * Sorts n elements in memory of malloc(3). Returns where they are: in the same memory, or in other
 * memory, and the same is freed. Few elements are compared by fn, which has to keep those with
 * equal keys in their order.
 */
static inline __attribute__((always_inline)) void *radix_sort(void *elements, size_t n, size_t size,
	size_t key_size, int (*fn)(const void *, const void *))
{
	void *other = n < RADIX_MIN ? NULL : malloc(n * size);
	unsigned bits = radix_bits(n);
	const uint8_t *at = elements;
	uint64_t different = 0;

	if (!other) {
		if (n)
			qsort(elements, n, size, fn);
		return elements;
	}
	for (size_t i = 1; i < n; i++)
		different |= radix_key(at + i * size, key_size) ^ radix_key(at, key_size);
	for (unsigned shift = 0; shift < 8 * key_size; shift += bits) {
		void *from = elements;

		if (!(different >> shift & (((uint64_t)1 << bits) - 1)))
			continue;
		radix_pass(from, other, n, size, key_size, shift, bits);
		elements = other;
		other = from;
	}
	free(other);
	return elements;
}

/* The numbers of a few keys in the order of the keys. */
static inline void radix_order_few(const uint64_t *keys, size_t n, uint32_t *order)
{
	for (size_t i = 0; i < n; i++) {
		size_t place = i;

		for (; place && keys[order[place - 1]] > keys[i]; place--)
			order[place] = order[place - 1];
		order[place] = (uint32_t)i;
	}
}

/* The same by one digit, for numbers that are in the order of the lower digits; NULL: in theirs. */
static inline void radix_order_pass(const uint64_t *keys, size_t n, const uint32_t *from,
	uint32_t *to, unsigned shift, unsigned bits)
{
	size_t starts[RADIX_DIGITS], digits = (size_t)1 << bits;

	memset(starts, 0, digits * sizeof(*starts));
	for (size_t i = 0; i < n; i++)
		starts[keys[i] >> shift & (digits - 1)]++;
	radix_add(starts, bits);
	for (size_t i = 0; i < n; i++) {
		uint32_t number = from ? from[i] : (uint32_t)i;

		to[starts[keys[number] >> shift & (digits - 1)]++] = number;
	}
}

/*
 * The numbers of n keys in the order of the keys, of those with equal keys in theirs. n is at most
 * UINT32_MAX. Returns memory of malloc(3); NULL: there is none.
 */
static inline uint32_t *radix_order(const uint64_t *keys, size_t n)
{
	uint32_t *order = malloc((n ?: 1) * sizeof(*order)), *other = NULL, *from = NULL;
	unsigned bits = radix_bits(n);
	uint64_t different = 0;

	if (order && n >= RADIX_MIN)
		other = malloc(n * sizeof(*other));
	if (!order || (n >= RADIX_MIN && !other)) {
		free(order);
		return NULL;
	}
	if (n < RADIX_MIN) {
		radix_order_few(keys, n, order);
		return order;
	}
	for (size_t i = 1; i < n; i++)
		different |= keys[i] ^ keys[0];
	for (unsigned shift = 0; shift < 64; shift += bits) {
		if (!(different >> shift & (((uint64_t)1 << bits) - 1)))
			continue;
		radix_order_pass(keys, n, from, other, shift, bits);
		from = other;
		other = order;
		order = from;
	}
	for (size_t i = 0; !from && i < n; i++)
		order[i] = (uint32_t)i;
	free(other);
	return order;
}

#endif
