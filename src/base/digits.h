/* SPDX-License-Identifier: MIT */
/*
 * Integers as digits, without printf. Each function writes at `to` and returns the end. It may also
 * overwrite what follows, but not more than DIGITS_MAX bytes in all.
 */
#ifndef BASE_DIGITS_H
#define BASE_DIGITS_H

#include "base/base.h"

enum { DIGITS_MAX = 20 /* most digits of an integer of 64 bits, or 19 and a sign */ };

/* The number of decimal digits. */
static inline unsigned digits_of(uint64_t n)
{
	static const uint64_t powers[] = {0, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
		100000000, 1000000000, 10000000000, 100000000000, 1000000000000, 10000000000000,
		100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, 10000000000000000000U};
	unsigned bits = 64 - (unsigned)__builtin_clzll(n | 1), guess = bits * 1233 >> 12;

	return guess + (n >= powers[guess]);
}

enum { DIGITS_WORD = 100000000 /* numbers below it have at most eight digits */ };

/*
 * The eight digits of n < DIGITS_WORD, with leading zeroes, the first one in the lowest byte. The
 * number is split into two numbers below 10000, four below 100 and eight digits, at each step with
 * one multiplication for all of them: x * 10486 >> 20 is x / 100, and x * 103 >> 10 is x / 10.
 */
static inline uint64_t digits_word(uint32_t n)
{
	uint64_t halves = n / 10000 | (uint64_t)(n % 10000) << 32, hundreds, pairs, tens;

	hundreds = halves * 10486 >> 20 & 0x0000007f0000007f;
	pairs = hundreds | (halves - hundreds * 100) << 16;
	tens = pairs * 103 >> 10 & 0x000f000f000f000f;
	return (tens | (pairs - tens * 10) << 8) + 0x3030303030303030;
}

/* Writes the bytes of a word, the lowest one first. */
static inline void digits_put(char *to, uint64_t word)
{
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		word = __builtin_bswap64(word);
	memcpy(to, &word, sizeof(word));
}

/* The last `digits` decimal digits (at least one) of n, with leading zeroes. */
static inline char *digits_padded(char *to, uint64_t n, unsigned digits)
{
	if (digits > 8) {
		to = digits_padded(to, n / DIGITS_WORD, digits - 8);
		digits = 8;
	}
	digits_put(to, digits_word((uint32_t)(n % DIGITS_WORD)) >> (64 - 8 * digits));
	return to + digits;
}

static inline char *digits_u64(char *to, uint64_t n)
{
	uint64_t above = n / DIGITS_WORD;

	if (n < 10) {
		*to = (char)('0' + n);
		return to + 1;
	}
	if (n < 100) {
		*to = (char)('0' + n / 10);
		to[1] = (char)('0' + n % 10);
		return to + 2;
	}
	if (n < DIGITS_WORD)
		return digits_padded(to, n, digits_of(n));
	if (above >= DIGITS_WORD) {
		to = digits_padded(to, above / DIGITS_WORD, digits_of(above / DIGITS_WORD));
		to = digits_padded(to, above, 8);
	} else {
		to = digits_padded(to, above, digits_of(above));
	}
	return digits_padded(to, n, 8);
}

static inline char *digits_i64(char *to, int64_t n)
{
	if (n < 0)
		*to++ = '-';
	return digits_u64(to, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

typedef uint8_t digits_bytes __attribute__((vector_size(8)));
typedef uint16_t digits_pairs __attribute__((vector_size(16)));
typedef int8_t digits_text __attribute__((vector_size(16)));

/* In hexadecimal, lower case, without a prefix. */
static inline char *digits_hex(char *to, uint64_t n)
{
	bool swapped = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	unsigned digits = (67 - (unsigned)__builtin_clzll(n | 1)) / 4;
	uint64_t word = n << (64 - 4 * digits);
	digits_bytes bytes;
	digits_pairs pairs;
	digits_text text;

	if (n < 10) {
		*to = (char)('0' + n);
		return to + 1;
	}
	word = swapped ? __builtin_bswap64(word) : word; /* the first digits in the first byte */
	memcpy(&bytes, &word, sizeof(bytes));
	pairs = __builtin_convertvector(bytes, digits_pairs);
	pairs = swapped ? pairs >> 4 | (pairs & 15) << 8 : pairs >> 4 << 8 | (pairs & 15);
	memcpy(&text, &pairs, sizeof(text));
	text += '0' + ((text > 9) & ('a' - '0' - 10));
	memcpy(to, &text, sizeof(text));
	return to + digits;
}

#endif
