/* SPDX-License-Identifier: MIT */
#include "dwarf/abbrev.h"

#include "dwarf/constants.h"
#include "dwarf/cursor.h"

enum { FIRST_BYTES = 8 << 10, MAX_BYTES = 64 << 20 };

/* The size of a form that has the same size in all entries; -1: it varies. */
static int size_of(const struct abbrevs *a, struct form form)
{
	switch ((enum form_encoding)form.encoding) {
	case IMPLICIT:
	case PRESENT:
		return 0;
	case BYTES_1:
		return 1;
	case BYTES_2:
		return 2;
	case BYTES_3:
		return 3;
	case BYTES_4:
		return 4;
	case BYTES_8:
		return 8;
	case BYTES_16:
		return 16;
	case OF_ADDRESS:
		return a->address_size;
	case OF_REF:
		return a->version <= 2 ? a->address_size : a->offset_size;
	case OF_OFFSET:
		return a->offset_size;
	default:
		return -1;
	}
}

static int read_attributes(struct abbrevs *a, struct cursor *c, struct abbrev *abbrev)
{
	abbrev->first = (uint32_t)a->attributes.n;
	while (!c->failed) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct abbrev_attribute attribute = {
			.name = name <= UINT16_MAX ? (uint16_t)name : 0,
			.form = form_find(form),
		};
		int size = size_of(a, attribute.form);

		attribute.run = size >= 0; /* see find_runs() */
		attribute.run_bytes = attribute.run ? (uint16_t)size : 0;
		if (!name && !form)
			break;
		if (name == DW_AT_declaration)
			abbrev->declaration = true;
		if (name == DW_AT_sibling && form == DW_FORM_ref4 && abbrev->size >= 0 &&
			abbrev->size <= INT16_MAX)
			abbrev->sibling = (int16_t)abbrev->size;
		if (form == DW_FORM_implicit_const)
			attribute.implicit = cursor_sleb(c);
		if (a->attributes.n >= ABBREV_ATTRIBUTES_MAX)
			return -EBADMSG;
		if (vec_push(&a->attributes, attribute) < 0)
			return -ENOMEM;
		abbrev->size = size < 0 || abbrev->size < 0 || abbrev->size > 1 << 20
				       ? -1
				       : abbrev->size + size;
		abbrev->n++;
	}
	return 0;
}

/* The numbers below 128 of the attributes whose values scope_table_read() takes, as bits. */
static const uint64_t of_functions[] = {
	1ULL << DW_AT_sibling | 1ULL << DW_AT_name | 1ULL << DW_AT_low_pc | 1ULL << DW_AT_high_pc |
		1ULL << DW_AT_abstract_origin,
	1ULL << (DW_AT_specification - 64) | 1ULL << (DW_AT_ranges - 64) |
		1ULL << (DW_AT_call_column - 64) | 1ULL << (DW_AT_call_file - 64) |
		1ULL << (DW_AT_call_line - 64) | 1ULL << (DW_AT_linkage_name - 64),
};

static bool describes_function(unsigned name)
{
	return name < 128 ? of_functions[name / 64] >> (name % 64) & 1
			  : name == DW_AT_MIPS_linkage_name;
}

static void join(uint8_t *run, uint16_t *bytes, unsigned size, uint8_t next, uint16_t next_bytes)
{
	bool joins = next && next < UINT8_MAX;

	*run = (uint8_t)(1 + (joins ? next : 0));
	*bytes = (uint16_t)(size + (joins ? next_bytes : 0U));
}

/* Finds the runs of attributes of equal sizes, the last one first. */
static void find_runs(struct abbrevs *a, const struct abbrev *abbrev)
{
	const struct abbrev_attribute none = {0}, *next = &none;

	for (uint32_t i = abbrev->n; i--;) {
		struct abbrev_attribute *at = &a->attributes.at[abbrev->first + i];
		unsigned size = at->run_bytes; /* of this one alone */

		if (at->run && !describes_function(at->name))
			join(&at->skip, &at->skip_bytes, size, next->skip, next->skip_bytes);
		if (at->run)
			join(&at->run, &at->run_bytes, size, next->run, next->run_bytes);
		next = at;
	}
}

/* Codes are 1, 2, 3... in the tables of all compilers, but need not be. */
static int add(struct abbrevs *a, uint64_t code, const struct abbrev *abbrev)
{
	if (a->list.n >= ABBREV_MAX)
		return -EBADMSG;
	if (!a->others.n && code != a->list.n + 1) {
		for (size_t i = 0; i < a->list.n; i++)
			if (map_put(&a->others, i + 1, i) < 0)
				return -ENOMEM;
	}
	if ((a->others.n || code != a->list.n + 1) && !map_get(&a->others, code) &&
		map_put(&a->others, code, a->list.n) < 0)
		return -ENOMEM;
	return vec_push(&a->list, *abbrev);
}

static int parse(struct abbrevs *a, struct cursor *c)
{
	int r = 0;

	while (r >= 0) {
		uint64_t code = cursor_uleb(c);
		struct abbrev abbrev = {.sibling = -1};

		if (!code || c->failed)
			break;
		abbrev.tag = (uint16_t)cursor_uleb(c);
		abbrev.children = cursor_u8(c);
		r = read_attributes(a, c, &abbrev);
		if (r < 0 || c->failed)
			break;
		find_runs(a, &abbrev);
		r = add(a, code, &abbrev);
	}
	return r;
}

static void clear(struct abbrevs *a)
{
	vec_done(&a->list);
	vec_done(&a->attributes);
	map_done(&a->others);
}

/* The size of a table is not known: more is read until its end is found. */
int abbrevs_read(struct abbrevs *a)
{
	uint64_t size = a->file->sections[DEBUG_ABBREV].size, n = FIRST_BYTES;

	while (a->offset < size) {
		uint8_t *bytes _cleanup_free_ = NULL;
		struct cursor c;
		int r;

		n = MIN(n, size - a->offset);
		r = debug_file_copy(a->file, DEBUG_ABBREV, a->offset, n, &bytes);
		if (r < 0)
			return r == -ENOMEM ? r : -EBADMSG;
		c = (struct cursor){.at = bytes, .end = bytes + n};
		r = parse(a, &c);
		if (r >= 0 && !c.failed)
			return 0;
		clear(a);
		if (r < 0)
			return r;
		if (n == size - a->offset || n >= MAX_BYTES)
			break;
		n *= 8;
	}
	return -EBADMSG;
}

void abbrevs_done(struct abbrevs *abbrevs)
{
	clear(abbrevs);
	*abbrevs = (struct abbrevs){0};
}
