/* SPDX-License-Identifier: MIT */
/* Integers as digits, without printf. Each function writes at `to` and returns the end. */
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

/* Exactly `digits` decimal digits, with leading zeroes; higher ones are cut off. */
static inline char *digits_padded(char *to, uint64_t n, unsigned digits)
{
	static const char pairs[] = "00010203040506070809"
				    "10111213141516171819"
				    "20212223242526272829"
				    "30313233343536373839"
				    "40414243444546474849"
				    "50515253545556575859"
				    "60616263646566676869"
				    "70717273747576777879"
				    "80818283848586878889"
				    "90919293949596979899";
	char *end = to + digits;

	for (char *at = end; digits >= 2; digits -= 2, n /= 100)
		memcpy(at -= 2, pairs + n % 100 * 2, 2);
	if (digits)
		*to = (char)('0' + n % 10);
	return end;
}

static inline char *digits_u64(char *to, uint64_t n)
{
	if (n < 10) {
		*to = (char)('0' + n);
		return to + 1;
	}
	return digits_padded(to, n, digits_of(n));
}

static inline char *digits_i64(char *to, int64_t n)
{
	if (n < 0)
		*to++ = '-';
	return digits_u64(to, n < 0 ? 0 - (uint64_t)n : (uint64_t)n);
}

/* Eight hexadecimal digits of n, the first one in the lowest byte. */
static inline uint64_t digits_hex_word(uint32_t n)
{
	uint64_t x = __builtin_bswap32(n), letters;

	x = (x | x << 16) & 0x0000ffff0000ffff;
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = (x >> 4 | x << 8) & 0x0f0f0f0f0f0f0f0f;
	letters = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	return x + 0x3030303030303030 + letters * ('a' - '0' - 10);
}

/* In hexadecimal, lower case, without a prefix. May overwrite 16 bytes. */
static inline char *digits_hex(char *to, uint64_t n)
{
	unsigned digits = (67 - (unsigned)__builtin_clzll(n | 1)) / 4;
	uint64_t shifted = n << (64 - 4 * digits), words[2];

	if (n < 10) {
		*to = (char)('0' + n);
		return to + 1;
	}
	words[0] = digits_hex_word((uint32_t)(shifted >> 32));
	words[1] = digits <= 8 ? 0 : digits_hex_word((uint32_t)shifted);
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
		words[0] = __builtin_bswap64(words[0]);
		words[1] = __builtin_bswap64(words[1]);
	}
	memcpy(to, words, sizeof(words));
	return to + digits;
}

#endif
