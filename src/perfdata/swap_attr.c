/* SPDX-License-Identifier: MIT */
/* struct perf_event_attr of the other byte order. */
#include "perfdata/swap.h"

#include "record/uapi.h"

/* Bytes of each number in the order of the struct; 0 ends. Flags are handled separately. */
static const uint8_t sizes[] = {
	4, 4, 8, 8, 8, 8, 8 /* flags */, 4, 4, 8, 8, 8, 8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8, 8, 0};

static uint64_t reverse_bits(uint64_t value)
{
	uint64_t reversed = 0;

	for (unsigned i = 0; i < 64; i++)
		reversed |= (value >> i & 1) << (63 - i);
	return reversed;
}

/*
 * Compilers allocate bit fields from the lowest bit on little-endian machines, and from the highest
 * bit on big-endian ones. Fields of several bits are reversed once more.
 */
static uint64_t swap_flags(uint64_t flags)
{
	uint64_t reversed = reverse_bits(__builtin_bswap64(flags));
	uint64_t low = 1ULL << 15, high = 1ULL << 16; /* precise_ip */
	bool precise_low = reversed & high, precise_high = reversed & low;

	reversed &= ~(low | high);
	return reversed | (precise_low ? low : 0) | (precise_high ? high : 0);
}

static void swap_number(char *at, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		char byte = at[i];

		at[i] = at[size - 1 - i];
		at[size - 1 - i] = byte;
	}
}

void swap_attr(void *attr, size_t len)
{
	const size_t flags_at = __builtin_offsetof(union uapi_attr, flags);
	char *at = attr;
	uint64_t flags;

	for (size_t i = 0, offset = 0; sizes[i] && offset + sizes[i] <= len; offset += sizes[i++])
		if (offset != flags_at)
			swap_number(at + offset, sizes[i]);
	memcpy(&flags, at + flags_at, sizeof(flags));
	flags = swap_flags(flags);
	memcpy(at + flags_at, &flags, sizeof(flags));
}
