/* SPDX-License-Identifier: MIT */
#include "lang/python_line.h"

#include <stdbool.h>

enum { UNIT_BYTES = 2 }; /* of code */

/* The kinds of entries: how the line and the columns are written. */
enum kind { ONE_LINE_0 = 10, ONE_LINE_2 = 12, NO_COLUMNS, LONG, NONE };

struct table {
	const uint8_t *at, *end;
	bool is_invalid;
};

/* Six bits each, the lowest first; bit 6: another byte follows. */
static uint32_t table_number(struct table *t)
{
	uint32_t number = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		if (t->at == t->end || shift > 30) {
			t->is_invalid = true;
			return 0;
		}
		byte = *t->at++;
		number |= (uint32_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & 0x40);
	return number;
}

/* The sign is the lowest bit. */
static int64_t table_signed(struct table *t)
{
	uint32_t number = table_number(t);

	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* Reads the rest of an entry after its first byte. Returns by how many lines it is further down. */
static int64_t table_lines(struct table *t, enum kind kind)
{
	int64_t lines = 0;

	if (kind == NONE)
		return 0;
	if (kind == NO_COLUMNS || kind == LONG)
		lines = table_signed(t);
	else if (kind >= ONE_LINE_0)
		lines = (int64_t)kind - ONE_LINE_0;
	/* What follows has the top bit clear, the next entry has it set. */
	while (t->at < t->end && !(*t->at & 0x80))
		t->at++;
	return lines;
}

uint32_t python_line(const uint8_t *table, size_t n, uint32_t first, uint64_t at)
{
	struct table t = {.at = table, .end = table + n};
	int64_t line = first;
	uint64_t end = 0;

	while (t.at < t.end) {
		uint8_t byte = *t.at++;
		enum kind kind = (byte >> 3) & 15;

		if (!(byte & 0x80))
			return 0;
		end += (uint64_t)((byte & 7) + 1) * UNIT_BYTES;
		line += table_lines(&t, kind);
		if (t.is_invalid || line < 0 || line > UINT32_MAX)
			return 0;
		if (at < end)
			return kind == NONE ? 0 : (uint32_t)line;
	}
	return 0;
}

/* Pairs: how long the entry is, and by how many lines it is further down (-128: it has none). */
uint32_t python_line_310(const uint8_t *table, size_t n, uint32_t first, uint64_t at)
{
	enum { NO_LINE = -128 };
	int64_t line = first;
	uint64_t end = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		int8_t lines = (int8_t)table[i + 1];

		end += table[i];
		line += lines == NO_LINE ? 0 : lines;
		if (line < 0 || line > UINT32_MAX)
			return 0;
		if (at < end)
			return lines == NO_LINE ? 0 : (uint32_t)line;
	}
	return 0;
}

/* Pairs: how far away the next line begins, and by how many lines it is further down. */
uint32_t python_line_38(const uint8_t *table, size_t n, uint32_t first, uint64_t at)
{
	int64_t line = first;
	uint64_t begin = 0;

	for (size_t i = 0; i + 1 < n; i += 2) {
		begin += table[i];
		if (begin > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return line < 0 || line > UINT32_MAX ? 0 : (uint32_t)line;
}
