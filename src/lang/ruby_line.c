/* SPDX-License-Identifier: MIT */
#include "lang/ruby_line.h"

/*
 * The first 54 words have a count of 7 bits each, 9 of them in 64 bits. Blocks of 512 words follow:
 * the rows before the block, the rows before each part of 64 words but the first, which is 0, in 9
 * bits each, and a bit for each word.
 */
enum { FIRST = 54, IN_64 = 9, FIRST_BITS = 7, BLOCKS = FIRST / IN_64 * 8 };
enum { BLOCK = 512, PART = 64, WORDS = 16, BLOCK_BYTES = WORDS + BLOCK / 8, PART_BITS = 9 };

uint32_t ruby_row(struct lang_memory *memory, uint64_t index, uint32_t word)
{
	uint64_t block, counts, bits;
	uint32_t part, before = 0, row;

	if (word < FIRST) {
		counts = lang_memory_word(memory, index + word / IN_64 * 8);
		return counts >> (word % IN_64 * FIRST_BITS) & ((1 << FIRST_BITS) - 1);
	}
	word -= FIRST;
	block = index + BLOCKS + (uint64_t)(word / BLOCK) * BLOCK_BYTES;
	part = word % BLOCK / PART;
	if (!lang_memory_read(memory, block, &row, sizeof(row)))
		return 0;
	counts = lang_memory_word(memory, block + 8);
	if (part)
		before = counts >> ((part - 1) * PART_BITS) & ((1 << PART_BITS) - 1);
	bits = lang_memory_word(memory, block + WORDS + part * 8) << (PART - 1 - word % PART);
	return row + before + (uint32_t)__builtin_popcountll(bits);
}
