/* SPDX-License-Identifier: MIT */
#include "dwarf/scopes.h"

#include "base/radix.h"
#include "dwarf/constants.h"
#include "dwarf/function_name.h"
#include "dwarf/ranges.h"

enum {
	SCOPES_MAX = 1 << 26,
	NEAR_RANGES = 4,
	PIECES_SOME = 256, /* of many units */
};

/* Code of a function. */
struct piece {
	uint64_t start, end;
	uint32_t scope;
};

struct walk {
	const struct debug_unit *unit;
	const struct abbrevs *abbrevs;
	struct debug_reader reader;
	struct scope_table *table;
	VEC(struct piece) pieces;
	struct debug_ranges ranges; /* of the current entry */
	const uint64_t *only;       /* see scope_table_read() */
	uint64_t sibling; /* offset of the entry after the last function; 0: it does not say */
	unsigned depth;
	unsigned function; /* depth of the entries in the outermost open function; 0: none */
	bool outside;      /* that function does not have the address `only` */
	uint32_t enclosing
		[SCOPES_DEPTH_MAX]; /* scopes of the `depth` open entries; others not set */
};

static uint16_t clip16(uint64_t n)
{
	return n > UINT16_MAX ? UINT16_MAX : (uint16_t)n;
}

static void scopes_set(struct walk *w, struct scope *scope, struct debug_extent *extent,
	unsigned name, const struct debug_value *v)
{
	switch (name) {
	case DW_AT_sibling:
		w->sibling = v->class == DEBUG_REF ? v->u : 0;
		break;
	case DW_AT_low_pc:
		extent->low = *v;
		break;
	case DW_AT_high_pc:
		extent->high = *v;
		break;
	case DW_AT_ranges:
		extent->ranges = *v;
		break;
	case DW_AT_call_file:
		scope->call_file = (uint32_t)v->u;
		break;
	case DW_AT_call_line:
		scope->call_line = (uint32_t)v->u;
		break;
	case DW_AT_call_column:
		scope->call_column = clip16(v->u);
		break;
	}
}

/* Whether the ranges of the current entry have the address `only`. Limits the code of the table. */
static bool has_only(struct walk *w)
{
	struct scope_table *table = w->table;
	bool found = false;

	vec_each (&w->ranges.list, range) {
		bool before = range->start <= *w->only, behind = range->end > *w->only;

		found |= before && behind;
		if (before)
			table->from = MAX(table->from, behind ? range->start : range->end);
		if (behind)
			table->to = MIN(table->to, before ? range->end : range->start);
	}
	return found;
}

/* Adds a function if it has code. Returns its number, 0, or -ENOMEM. */
static int64_t add_scope(
	struct walk *w, const struct scope *scope, const struct debug_extent *extent)
{
	uint32_t number = (uint32_t)w->table->scopes.n;

	w->ranges.list.n = 0;
	if (debug_ranges_read(w->unit, extent, &w->ranges) < 0)
		return -ENOMEM;
	if (w->only && !w->function) {
		w->outside = !has_only(w);
		if (w->outside)
			return 0;
	}
	/* An inlined function without code may have others with code inlined into it. */
	if ((!w->ranges.list.n && !scope->inlined) || number >= SCOPES_MAX ||
		w->pieces.n >= SCOPES_MAX)
		return 0;
	if (vec_push(&w->table->scopes, *scope) < 0)
		return -ENOMEM;
	vec_each (&w->ranges.list, range)
		if (vec_push(&w->pieces,
			    (struct piece){
				    .start = range->start, .end = range->end, .scope = number}) < 0)
			return -ENOMEM;
	return number;
}

/* Takes the attributes of a function. Returns its number, 0 if it has no code, or an errno. */
static int64_t take_function(struct walk *w, const struct abbrev *abbrev, uint64_t entry)
{
	struct scope scope = {.entry = (uint32_t)(entry - w->unit->offset),
		.inlined = abbrev->tag == DW_TAG_inlined_subroutine};
	struct debug_extent extent = {0};
	const struct debug_value *name;
	struct naming naming = {0};

	w->sibling = 0;
	if (scope.inlined && w->depth)
		scope.parent = w->enclosing[w->depth - 1];
	for (uint32_t i = 0; i < abbrev->n; i++) {
		const struct abbrev_attribute *a = &w->abbrevs->attributes.at[abbrev->first + i];
		struct debug_value value;

		if (a->skip) {
			if (!cursor_take(&w->reader.c, a->skip_bytes))
				return -EBADMSG;
			i += a->skip - 1U;
			continue;
		}
		if (!debug_value_take(w->unit, &w->reader, &a->form, a->implicit, &value))
			return -EBADMSG;
		scopes_set(w, &scope, &extent, a->name, &value);
		naming_take(&naming, a->name, &value);
	}
	name = naming_value(&naming);
	if (name && name->u <= UINT32_MAX) {
		scope.name = (uint32_t)name->u;
		scope.name_class = (uint8_t)name->class;
	}
	return add_scope(w, &scope, &extent);
}

/*
 * Entries without code. Most of a unit of C or C++ are members of types. Functions of a class of
 * C++ are declared there and defined outside; gcc may define functions of a class in a function
 * there.
 */
static bool has_no_code(const struct walk *w, const struct abbrev *abbrev)
{
	switch (abbrev->tag) {
	case DW_TAG_subprogram:
		return abbrev->declaration;
	case DW_TAG_array_type:
	case DW_TAG_call_site:
	case DW_TAG_enumeration_type:
	case DW_TAG_GNU_call_site:
	case DW_TAG_subroutine_type:
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return w->unit->is_c || (w->unit->is_cpp && !w->function);
	default:
		return false;
	}
}

/* Continues after the attributes of an entry. */
static bool skip_attributes(struct walk *w, const struct abbrev *abbrev)
{
	const struct abbrev_attribute *a = &w->abbrevs->attributes.at[abbrev->first];
	struct debug_value value;

	if (abbrev->size >= 0)
		return cursor_take(&w->reader.c, (uint64_t)abbrev->size);
	for (uint32_t i = 0; i < abbrev->n;) {
		bool run = a[i].run;

		if (!(run ? cursor_take(&w->reader.c, a[i].run_bytes) != NULL
			  : debug_value_take(w->unit, &w->reader, &a[i].form, 0, &value)))
			return false;
		i += run ? a[i].run : 1;
	}
	return true;
}

/* Continues after the children of an entry: its sibling is there. False: that is malformed. */
static bool go_to(struct walk *w, uint64_t sibling)
{
	if (sibling <= debug_reader_offset(&w->reader) || sibling > w->unit->end)
		return false;
	w->reader.c.at = w->reader.start + (sibling - w->reader.offset);
	return true;
}

/* Continues after the children of an entry, if it says where that is; else after its attributes. */
static bool skip_children(struct walk *w, const struct abbrev *abbrev, bool *ret_whole)
{
	struct debug_value value;

	if (abbrev->sibling >= 0) {
		struct cursor c = w->reader.c;

		cursor_take(&c, (uint64_t)abbrev->sibling);
		*ret_whole = go_to(w, w->unit->offset + cursor_number(&c, 4));
		if (*ret_whole)
			return true;
	}
	for (uint32_t i = 0; i < abbrev->n; i++) {
		const struct abbrev_attribute *a = &w->abbrevs->attributes.at[abbrev->first + i];

		if (!debug_value_take(w->unit, &w->reader, &a->form, a->implicit, &value))
			return false;
		if (a->name == DW_AT_sibling && value.class == DEBUG_REF && go_to(w, value.u)) {
			*ret_whole = true;
			return true;
		}
	}
	return true;
}

static bool is_function(const struct abbrev *abbrev)
{
	return abbrev->tag == DW_TAG_subprogram || abbrev->tag == DW_TAG_inlined_subroutine;
}

/* Takes one entry. Returns 1 if more follow, 0 at the end, or an errno. */
static int take_entry(struct walk *w)
{
	uint64_t entry = debug_reader_offset(&w->reader), code = cursor_uleb(&w->reader.c);
	const struct abbrev *abbrev;
	bool whole = false, ok = true;
	int64_t scope = w->depth ? w->enclosing[w->depth - 1] : 0;

	if (!code) {
		if (!w->depth)
			return 0;
		if (w->depth-- == w->function) {
			w->function = 0;
			w->outside = false;
		}
		return w->depth > 0;
	}
	abbrev = abbrevs_find(w->abbrevs, code);
	if (!abbrev)
		return -EBADMSG;
	if (has_no_code(w, abbrev))
		ok = abbrev->children ? skip_children(w, abbrev, &whole)
				      : skip_attributes(w, abbrev);
	else if (is_function(abbrev) && !w->outside)
		scope = take_function(w, abbrev, entry);
	else
		ok = skip_attributes(w, abbrev);
	if (!ok)
		return -EBADMSG;
	if (scope < 0)
		return (int)scope;
	if (w->outside && !w->function) {
		whole = abbrev->children && w->sibling && go_to(w, w->sibling);
		w->outside = abbrev->children && !whole;
	}
	if (!abbrev->children || whole)
		return w->depth > 0;
	if (w->depth == SCOPES_DEPTH_MAX)
		return -EBADMSG;
	w->enclosing[w->depth++] = (uint32_t)scope;
	if (!w->function && is_function(abbrev))
		w->function = w->depth;
	return 1;
}

/* Continues after entries that only have to be skipped: entries of parameters and variables. */
static void skip_plain(struct walk *w)
{
	const uint8_t *at = w->reader.c.at, *end = w->reader.c.end;
	const struct abbrev *abbrevs = w->abbrevs->list.at;
	size_t n = w->abbrevs->others.n ? 0 : MIN(w->abbrevs->list.n, (size_t)0x7f);

	while (at < end && *at - 1U < n) {
		const struct abbrev *abbrev = &abbrevs[*at - 1];

		if (!abbrev->plain || abbrev->size >= end - at)
			break;
		at += 1 + abbrev->size;
	}
	w->reader.c.at = at;
}

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->scope < y->scope ? -1 : x->scope > y->scope;
}

/* From an address on, a function is the innermost. */
static int scopes_put(struct scope_table *t, uint64_t address, uint32_t scope)
{
	uint64_t start = address - t->base;
	size_t n = t->starts.n;

	if (start > UINT32_MAX)
		return 0;
	if (n && t->starts.at[n - 1].start == start) {
		t->starts.at[n - 1].scope = scope;
		return 0;
	}
	return vec_push(&t->starts, (struct scope_start){.start = (uint32_t)start, .scope = scope});
}

struct open_pieces {
	VEC(const struct piece *) stack;
};

/* Ends the pieces that end up to an address: the enclosing ones continue. */
static int end_pieces(struct scope_table *t, struct open_pieces *open, uint64_t address)
{
	int r = 0;

	while (r >= 0 && open->stack.n && open->stack.at[open->stack.n - 1]->end <= address) {
		uint64_t end = open->stack.at[--open->stack.n]->end;

		while (open->stack.n && open->stack.at[open->stack.n - 1]->end <= end)
			open->stack.n--;
		r = scopes_put(
			t, end, open->stack.n ? open->stack.at[open->stack.n - 1]->scope : 0);
	}
	return r;
}

/* By start, then scope: they were added in the order of their scopes. */
static void sort_pieces(struct walk *w)
{
	struct piece *at = w->pieces.at;

	w->pieces.at = radix_sort(at, w->pieces.n, sizeof(*at), sizeof(at->start), by_start);
	w->pieces.size = w->pieces.n;
}

/* Makes disjoint ranges of nested ones. */
static int flatten(struct walk *w)
{
	struct open_pieces open = {0};
	int r = 0;

	if (!w->pieces.n)
		return 0;
	sort_pieces(w);
	w->table->base = w->pieces.at[0].start;
	vec_each (&w->pieces, piece) {
		r = end_pieces(w->table, &open, piece->start);
		if (r >= 0)
			r = scopes_put(w->table, piece->start, piece->scope);
		if (r >= 0)
			r = vec_push(&open.stack, piece);
		if (r < 0)
			break;
	}
	if (r >= 0)
		r = end_pieces(w->table, &open, UINT64_MAX);
	vec_done(&open.stack);
	return r;
}

static int walk_unit(struct walk *w)
{
	int r = 1;

	while (r > 0 && w->reader.c.at < w->reader.c.end) {
		r = take_entry(w);
		if (r > 0)
			skip_plain(w);
	}
	return r == -ENOMEM ? r : flatten(w);
}

int scope_table_read(const struct debug_unit *unit, const struct abbrevs *abbrevs,
	const uint64_t *only, struct scope_table *ret_table)
{
	struct walk *w _cleanup_free_ = malloc(sizeof(*w));
	const uint8_t *bytes;
	uint64_t n = unit->end - unit->root;
	int r;

	*ret_table = (struct scope_table){.to = UINT64_MAX};
	if (!w)
		return base_oom();
	if (n > SCOPES_UNIT_MAX)
		return 0;
	r = debug_file_borrow(unit->file, DEBUG_INFO, unit->root, n, &bytes);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	memset(w, 0, offsetof(struct walk, enclosing));
	w->unit = unit;
	w->abbrevs = abbrevs;
	w->only = only;
	w->table = ret_table;
	w->reader = (struct debug_reader){
		.c = {.at = bytes, .end = bytes + n}, .start = bytes, .offset = unit->root};
	r = vec_push(&ret_table->scopes, (struct scope){0});
	if (r >= 0)
		r = vec_reserve(&w->pieces, PIECES_SOME);
	if (r >= 0)
		r = walk_unit(w);
	vec_done(&w->pieces);
	vec_done(&w->ranges.list);
	if (r < 0)
		scope_table_done(ret_table);
	return r;
}

void scope_table_done(struct scope_table *table)
{
	vec_done(&table->scopes);
	vec_done(&table->starts);
	*table = (struct scope_table){0};
}

/* The range with a start; the one found last and those after it are tried first. */
static size_t range_of(const struct scope_table *table, uint32_t start)
{
	const struct scope_start *starts = table->starts.at;
	size_t low = table->last, n = table->starts.n;

	if (starts[low].start <= start)
		for (size_t end = MIN(n, low + NEAR_RANGES); low + 1 < end; low++)
			if (start < starts[low + 1].start)
				return low;
	low = 0;
	while (n > 1) { /* starts[low].start <= start */
		size_t half = n / 2;

		low = starts[low + half].start <= start ? low + half : low;
		n -= half;
	}
	return low;
}

uint32_t scope_table_find(struct scope_table *table, uint64_t address)
{
	uint64_t start = address - table->base;

	if (!table->starts.n || address < table->base || start > UINT32_MAX)
		return 0;
	table->last = range_of(table, (uint32_t)start);
	return table->starts.at[table->last].scope;
}

size_t scope_table_memory(const struct scope_table *table)
{
	return table->scopes.size * sizeof(*table->scopes.at) +
	       table->starts.size * sizeof(*table->starts.at);
}
