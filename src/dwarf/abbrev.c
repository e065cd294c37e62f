/* SPDX-License-Identifier: MIT */
#include "dwarf/abbrev.h"

#include "dwarf/constants.h"
#include "dwarf/cursor.h"

/* The size of the values of a form that is the same in all entries; -1: it varies. */
static int size_of(const struct abbrevs *a, struct form form)
{
	switch (form.encoding) {
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
	case OF_OFFSET:
		return a->offset_size;
	case OF_REF:
		return a->version <= 2 ? a->address_size : a->offset_size;
	default:
		return -1;
	}
}

/* An attribute without a name; its run is itself, see find_runs(). */
static struct abbrev_attribute attribute_of(const struct abbrevs *a, uint64_t form)
{
	struct abbrev_attribute attribute = {.form = form_find(form)};
	int size = size_of(a, attribute.form);

	attribute.run = size >= 0;
	attribute.run_bytes = (uint16_t)MAX(size, 0);
	return attribute;
}

/* By form, attributes without a name. */
struct attributes {
	struct abbrev_attribute of[FORMS_STANDARD];
};

static void find_attributes(const struct abbrevs *a, struct attributes *ret_attributes)
{
	for (unsigned form = 0; form < FORMS_STANDARD; form++)
		ret_attributes->of[form] = attribute_of(a, form);
}

/* Takes the address of an entry's sibling, which follows attributes of these bytes. */
static void take_sibling(struct abbrev *abbrev, struct form form, uint32_t bytes)
{
	if (form.encoding == BYTES_4 && form.class == DEBUG_REF && bytes <= INT16_MAX)
		abbrev->sibling = (int16_t)bytes;
}

/* The cursor is local: the compiler keeps it in registers. */
static int read_attributes(struct abbrevs *a, const struct attributes *attributes,
	struct cursor *from, struct abbrev *abbrev)
{
	struct cursor c = *from;
	uint32_t bytes = 0;
	bool varies = false;

	abbrev->first = (uint32_t)a->attributes.n;
	while (!c.failed) {
		uint64_t name = cursor_uleb(&c), form = cursor_uleb(&c);
		struct abbrev_attribute *at;

		if (!name && !form)
			break;
		if (vec_reserve(&a->attributes, 1) < 0)
			return -ENOMEM;
		at = &a->attributes.at[a->attributes.n++];
		*at = form < FORMS_STANDARD ? attributes->of[form] : attribute_of(a, form);
		at->name = name <= UINT16_MAX ? (uint16_t)name : 0;
		if (form == DW_FORM_implicit_const)
			at->implicit = (int32_t)cursor_sleb(&c);
		if (name == DW_AT_declaration)
			abbrev->declaration = true;
		if (name == DW_AT_sibling && !varies)
			take_sibling(abbrev, at->form, bytes);
		varies |= !at->run;
		bytes += at->run_bytes;
	}
	*from = c;
	abbrev->n = (uint32_t)a->attributes.n - abbrev->first;
	abbrev->size = varies ? -1 : (int32_t)bytes;
	return a->attributes.n > ABBREV_ATTRIBUTES_MAX ? -EBADMSG : 0;
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

static void abbrev_join(
	uint8_t *run, uint16_t *bytes, unsigned size, uint8_t next, uint16_t next_bytes)
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
			abbrev_join(&at->skip, &at->skip_bytes, size, next->skip, next->skip_bytes);
		if (at->run)
			abbrev_join(&at->run, &at->run_bytes, size, next->run, next->run_bytes);
		next = at;
	}
}

/* Codes are 1, 2, 3... in the tables of all compilers, but need not be. */
static int abbrev_add(struct abbrevs *a, uint64_t code, const struct abbrev *abbrev)
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

static bool is_function(const struct abbrev *abbrev)
{
	return abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine;
}

/* Takes whole declarations. Returns 1 at the end of the table, 0 if more bytes are needed. */
static int parse(struct abbrevs *a, struct cursor *c)
{
	struct attributes attributes;
	int r = 0;

	find_attributes(a, &attributes);
	while (r >= 0) {
		struct abbrev abbrev = {.sibling = -1};
		const uint8_t *start = c->at;
		uint64_t code = cursor_uleb(c);

		if (!code && !c->failed)
			return 1;
		abbrev.tag = (uint16_t)cursor_uleb(c);
		abbrev.children = cursor_u8(c);
		r = read_attributes(a, &attributes, c, &abbrev);
		if (r >= 0 && c->failed) {
			a->attributes.n = abbrev.first;
			c->at = start;
			return 0;
		}
		if (r >= 0 && (abbrev.size < 0 || is_function(&abbrev)))
			find_runs(a, &abbrev); /* they are used for these */
		abbrev.plain = abbrev.size >= 0 && !abbrev.children && !is_function(&abbrev);
		if (r >= 0)
			r = abbrev_add(a, code, &abbrev);
	}
	return r;
}

static void clear(struct abbrevs *a)
{
	a->list.n = a->attributes.n = 0;
	map_done(&a->others);
}

/*
 * The size of a table is not known: what is left of a block is taken first. A declaration has at
 * most DEBUG_BLOCK bytes.
 */
int abbrevs_read(struct abbrevs *a)
{
	uint64_t size = a->file->sections[DEBUG_ABBREV].size, at = a->offset;
	size_t n = DEBUG_BLOCK - at % DEBUG_BLOCK;
	int r = 0;

	clear(a);
	while (r == 0 && at < size) {
		const uint8_t *bytes;
		struct cursor c;

		n = (size_t)MIN((uint64_t)n, size - at);
		bytes = debug_file_view(a->file, DEBUG_ABBREV, at, n);
		if (!bytes)
			break;
		c = (struct cursor){.at = bytes, .end = bytes + n};
		r = parse(a, &c);
		at += (uint64_t)(c.at - bytes);
		if (c.at == bytes && (n == DEBUG_BLOCK || n == size - at))
			break;
		n = DEBUG_BLOCK;
	}
	if (r > 0)
		return 0;
	clear(a);
	return r < 0 ? r : -EBADMSG;
}

void abbrevs_done(struct abbrevs *abbrevs)
{
	vec_done(&abbrevs->list);
	vec_done(&abbrevs->attributes);
	map_done(&abbrevs->others);
	*abbrevs = (struct abbrevs){0};
}
