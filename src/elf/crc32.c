/* SPDX-License-Identifier: MIT */
#include "elf/crc32.h"

enum { SLICES = 8, READ_BYTES = 64 << 10 };

/* table[0] advances the sum by one byte, table[k] by that byte followed by k zero bytes. */
static void crc32_fill(uint32_t table[SLICES][256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t sum = i;

		for (int bit = 0; bit < 8; bit++)
			sum = sum >> 1 ^ (sum & 1 ? 0xedb88320 : 0);
		table[0][i] = sum;
	}
	for (int k = 1; k < SLICES; k++)
		for (int i = 0; i < 256; i++)
			table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
}

static uint32_t crc32_add(
	const uint32_t table[SLICES][256], uint32_t sum, const uint8_t *p, size_t n)
{
	for (; n >= SLICES; n -= SLICES, p += SLICES) {
		sum ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
		       (uint32_t)p[3] << 24;
		sum = table[7][sum & 255] ^ table[6][sum >> 8 & 255] ^ table[5][sum >> 16 & 255] ^
		      table[4][sum >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^
		      table[0][p[7]];
	}
	for (; n; n--, p++)
		sum = sum >> 8 ^ table[0][(sum ^ *p) & 255];
	return sum;
}

int crc32_of(const struct byte_source *source, uint32_t *ret_sum)
{
	uint32_t table[SLICES][256], sum = UINT32_MAX;
	uint8_t *block _cleanup_free_ = malloc(READ_BYTES);

	if (!block)
		return base_oom();
	crc32_fill(table);
	for (uint64_t at = 0; at < source->size; at += READ_BYTES) {
		size_t n = MIN((uint64_t)READ_BYTES, source->size - at);
		int r = byte_source_read(source, at, block, n);

		if (r < 0)
			return r;
		sum = crc32_add(table, sum, block, n);
	}
	*ret_sum = ~sum;
	return 0;
}
