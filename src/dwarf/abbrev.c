/* SPDX-License-Identifier: MIT */
#include "dwarf/abbrev.h"

#include "dwarf/constants.h"
#include "dwarf/cursor.h"

enum { FIRST_BYTES = 8 << 10, MAX_BYTES = 64 << 20 };

/* By enum form_encoding, the size of forms that is the same in all entries; -1: it varies. */
struct sizes {
	int8_t of[ENCODINGS];
};

static struct sizes find_sizes(const struct abbrevs *a)
{
	struct sizes sizes;

	memset(&sizes, -1, sizeof(sizes));
	sizes.of[IMPLICIT] = sizes.of[PRESENT] = 0;
	sizes.of[BYTES_1] = 1;
	sizes.of[BYTES_2] = 2;
	sizes.of[BYTES_3] = 3;
	sizes.of[BYTES_4] = 4;
	sizes.of[BYTES_8] = 8;
	sizes.of[BYTES_16] = 16;
	sizes.of[OF_ADDRESS] = (int8_t)a->address_size;
	sizes.of[OF_OFFSET] = (int8_t)a->offset_size;
	sizes.of[OF_REF] = (int8_t)(a->version <= 2 ? a->address_size : a->offset_size);
	return sizes;
}

static void take_attribute(struct abbrev *abbrev, struct abbrev_attribute *attribute, int size)
{
	if (attribute->name == DW_AT_declaration)
		abbrev->declaration = true;
	if (attribute->name == DW_AT_sibling && attribute->form.encoding == BYTES_4 &&
		attribute->form.class == DEBUG_REF && abbrev->size >= 0 &&
		abbrev->size <= INT16_MAX)
		abbrev->sibling = (int16_t)abbrev->size;
	attribute->run = size >= 0; /* see find_runs() */
	attribute->run_bytes = (uint16_t)MAX(size, 0);
	abbrev->size =
		size < 0 || abbrev->size < 0 || abbrev->size > 1 << 20 ? -1 : abbrev->size + size;
	abbrev->n++;
}

static int read_attributes(
	struct abbrevs *a, const struct sizes *sizes, struct cursor *c, struct abbrev *abbrev)
{
	abbrev->first = (uint32_t)a->attributes.n;
	while (!c->failed) {
		uint64_t name = cursor_uleb(c), form = cursor_uleb(c);
		struct abbrev_attribute *attribute;

		if (!name && !form)
			break;
		if (a->attributes.n >= ABBREV_ATTRIBUTES_MAX)
			return -EBADMSG;
		attribute = vec_add(&a->attributes);
		if (!attribute)
			return -ENOMEM;
		attribute->name = name <= UINT16_MAX ? (uint16_t)name : 0;
		attribute->form = form_find(form);
		if (form == DW_FORM_implicit_const)
			attribute->implicit = cursor_sleb(c);
		take_attribute(abbrev, attribute, sizes->of[attribute->form.encoding]);
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

/* The runs are used for functions, and for entries whose size varies. */
static bool needs_runs(const struct abbrev *abbrev)
{
	return abbrev->size < 0 || abbrev->tag == DW_TAG_subprogram ||
	       abbrev->tag == DW_TAG_inlined_subroutine;
}

static int parse(struct abbrevs *a, struct cursor *c)
{
	const struct sizes sizes = find_sizes(a);
	int r = 0;

	while (r >= 0) {
		uint64_t code = cursor_uleb(c);
		struct abbrev abbrev = {.sibling = -1};

		if (!code || c->failed)
			break;
		abbrev.tag = (uint16_t)cursor_uleb(c);
		abbrev.children = cursor_u8(c);
		r = read_attributes(a, &sizes, c, &abbrev);
		if (r < 0 || c->failed)
			break;
		if (needs_runs(&abbrev))
			find_runs(a, &abbrev);
		r = add(a, code, &abbrev);
	}
	return r;
}

static void clear(struct abbrevs *a)
{
	a->list.n = a->attributes.n = 0;
	map_done(&a->others);
}

/* The size of a table is not known: more is read until its end is found. */
int abbrevs_read(struct abbrevs *a)
{
	uint64_t size = a->file->sections[DEBUG_ABBREV].size, n = FIRST_BYTES;

	clear(a);
	while (a->offset < size) {
		const uint8_t *bytes;
		struct cursor c;
		int r;

		n = MIN(n, size - a->offset);
		r = debug_file_borrow(a->file, DEBUG_ABBREV, a->offset, n, &bytes);
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
	vec_done(&abbrevs->list);
	vec_done(&abbrevs->attributes);
	map_done(&abbrevs->others);
	*abbrevs = (struct abbrevs){0};
}
