/* SPDX-License-Identifier: MIT */
/* Values of events as SQLite compares them, and their hashes. */
#include <string.h>

#include "sql/db.h"

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 29;
}

uint64_t sql_value_hash(uint64_t hash, const struct sql_value *v)
{
	if (v->is_null)
		return mix(hash, 0x6e756c6c);
	if (!v->text)
		return mix(hash, (uint64_t)v->number);
	for (size_t i = 0; i < v->n; i += 8) {
		uint64_t word = 0;

		memcpy(&word, v->text + i, v->n - i < 8 ? v->n - i : 8);
		hash = mix(hash, word);
	}
	return mix(hash, v->n);
}

int sql_value_compare(const struct sql_value *a, const struct sql_value *b)
{
	int order;

	if (a->is_null || b->is_null)
		return b->is_null - a->is_null;
	if (!a->text || !b->text)
		return (a->number > b->number) - (a->number < b->number);
	order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
	return order ? order : (a->n > b->n) - (a->n < b->n);
}
