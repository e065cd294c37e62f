/* SPDX-License-Identifier: MIT */
#include "dwarf/unit_index.h"

#include "base/radix.h"
#include "dwarf/constants.h"
#include "dwarf/ranges.h"
#include "dwarf/scopes.h"

enum {
	ARANGES_MAX = 1 << 30,
	PIECES_MAX = 1 << 26,
	SCANS_MAX = 4, /* sorting takes longer than these */
};

/* Code of a unit. */
struct piece {
	uint64_t start, end, unit;
};

/* The code around an address: what a table of all pieces would have. */
struct scan {
	uint64_t address;
	struct piece found; /* of those that start last before or at the address, the first unit */
	uint64_t end;       /* of the code up to there */
	uint64_t next;      /* where the next one starts; UINT64_MAX: there is none */
};

struct pieces {
	VEC(struct piece) list;
	struct scan *scan; /* NULL: all are put into the list */
};

/* ---- abbreviations ---- */

static bool is_table_of(const struct abbrevs *abbrevs, const struct debug_unit *unit)
{
	return abbrevs->file == unit->file && abbrevs->offset == unit->abbrev &&
	       abbrevs->address_size == unit->address_size &&
	       abbrevs->offset_size == unit->offset_size && abbrevs->version == unit->version;
}

const struct abbrevs *unit_index_abbrevs(struct unit_index *index, const struct debug_unit *unit)
{
	uint64_t hash = base_hash64(unit->abbrev ^ (uintptr_t)unit->file);
	struct abbrevs *known = &index->abbrevs[hash % ABBREVS_KEPT];

	if (is_table_of(known, unit))
		return known;
	known->file = unit->file;
	known->offset = unit->abbrev;
	known->address_size = unit->address_size;
	known->offset_size = unit->offset_size;
	known->version = unit->version;
	if (abbrevs_read(known) >= 0)
		return known;
	abbrevs_done(known);
	return NULL;
}

void unit_index_forget(struct unit_index *index, const struct debug_file *file)
{
	for (int i = 0; i < ABBREVS_KEPT; i++)
		if (index->abbrevs[i].file == file)
			abbrevs_done(&index->abbrevs[i]);
}

void unit_index_done(struct unit_index *index)
{
	for (int i = 0; i < ABBREVS_KEPT; i++)
		abbrevs_done(&index->abbrevs[i]);
	map_each (&index->units, slot)
		free((void *)(uintptr_t)slot->value);
	map_done(&index->units);
	vec_done(&index->sorted);
	vec_done(&index->aranges.list);
	vec_done(&index->ranges.list);
}

/* ---- units ---- */

/* Adds a unit whose header was read. */
static struct debug_unit *unit_index_keep(struct unit_index *index, const struct debug_unit *unit)
{
	struct debug_unit *kept;

	if (index->units.n >= UNITS_MAX)
		return NULL;
	kept = malloc(sizeof(*kept));
	if (!kept)
		return NULL;
	*kept = *unit;
	if (map_put(&index->units, unit->offset, (uintptr_t)kept) < 0) {
		free(kept);
		return NULL;
	}
	return kept;
}

/* The unit with its header at an offset. */
static struct debug_unit *unit_with_header(struct unit_index *index, uint64_t offset)
{
	const uint64_t *known = map_get(&index->units, offset);
	struct debug_unit unit;

	if (known)
		return (struct debug_unit *)(uintptr_t)*known;
	if (debug_unit_header(index->file, offset, &unit) < 0)
		return NULL;
	return unit_index_keep(index, &unit);
}

static bool read_root(struct unit_index *index, struct debug_unit *unit)
{
	const struct abbrevs *abbrevs;

	if (unit->root_read)
		return true;
	if (unit->version >= 5) /* after the header of the section, unless an attribute differs */
		unit->str_offsets_base = unit->offset_size == 8 ? 16 : 8;
	abbrevs = unit_index_abbrevs(index, unit);
	return abbrevs && debug_unit_root(unit, abbrevs) >= 0;
}

/* Zeros are units of an unknown version: a file can have gigabytes of them at no cost. */
static void list_units(struct unit_index *index)
{
	unsigned unknown = 0;
	uint64_t offset = 0;

	if (index->listed)
		return;
	index->listed = true;
	for (int i = 0; i < UNITS_MAX; i++) {
		const uint64_t *known = map_get(&index->units, offset);
		struct debug_unit header, *unit;
		int r = 0;

		if (known) {
			unit = (struct debug_unit *)(uintptr_t)*known;
		} else {
			r = debug_unit_header(index->file, offset, &header);
			unit = r < 0 ? NULL : unit_index_keep(index, &header);
		}
		unknown += r == -EOPNOTSUPP;
		if ((r < 0 && r != -EOPNOTSUPP) || unknown > UNKNOWN_UNITS_MAX)
			break;
		offset = unit ? unit->end : header.end;
		if (unit && vec_push(&index->sorted, unit) < 0)
			break;
		if (!unit && r >= 0)
			break;
	}
}

struct debug_unit *unit_index_at(struct unit_index *index, uint64_t offset)
{
	size_t low = 0, high;
	struct debug_unit *unit;

	list_units(index);
	high = index->sorted.n;
	while (low < high) { /* the first that ends after offset */
		size_t middle = low + (high - low) / 2;

		if (index->sorted.at[middle]->end <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == index->sorted.n || index->sorted.at[low]->root > offset)
		return NULL;
	unit = index->sorted.at[low];
	return read_root(index, unit) ? unit : NULL;
}

/* ---- addresses ---- */

static int by_start(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static int unit_index_put(struct unit_starts *starts, uint64_t start, uint64_t unit)
{
	size_t n = starts->list.n;

	if (n && starts->list.at[n - 1].unit == unit)
		return 0;
	return vec_push(&starts->list, (struct unit_start){.start = start, .unit = unit});
}

/* Of code that several units have, the linker keeps the code of the first one. */
static bool is_copy(const struct pieces *pieces, const struct piece *piece)
{
	return piece > pieces->list.at && piece->start == piece[-1].start;
}

/* By start, then unit. Units are mostly added in their order, which radix_sort() keeps. */
static void sort_list(struct pieces *pieces)
{
	struct piece *at = pieces->list.at;
	size_t n = pieces->list.n, ascending = 1;

	while (ascending < n && at[ascending - 1].unit <= at[ascending].unit)
		ascending++;
	if (ascending < n)
		qsort(at, n, sizeof(*at), by_start);
	else
		pieces->list.at = radix_sort(at, n, sizeof(*at), sizeof(at->start), by_start);
}

static void sort_pieces(struct pieces *pieces, struct unit_starts *starts)
{
	uint64_t end = 0;
	int r = 0;

	sort_list(pieces);
	vec_each (&pieces->list, piece) {
		if (piece->start > end && starts->list.n)
			r = unit_index_put(starts, end, NO_UNIT);
		if (r >= 0 && !is_copy(pieces, piece))
			r = unit_index_put(starts, piece->start, piece->unit);
		if (r < 0)
			break;
		end = MAX(end, piece->end);
	}
	if (r >= 0 && starts->list.n)
		r = unit_index_put(starts, end, NO_UNIT);
	if (r < 0)
		vec_done(&starts->list);
	vec_done(&pieces->list);
}

static void scan_piece(struct scan *scan, const struct piece *piece)
{
	if (piece->start > scan->address) {
		scan->next = MIN(scan->next, piece->start);
		return;
	}
	if (scan->found.unit == NO_UNIT || piece->start > scan->found.start ||
		(piece->start == scan->found.start && piece->unit < scan->found.unit))
		scan->found = *piece;
	scan->end = MAX(scan->end, piece->end);
}

static int add_piece(struct pieces *pieces, uint64_t start, uint64_t end, uint64_t unit)
{
	const struct piece piece = {.start = start, .end = end, .unit = unit};

	if (pieces->scan) {
		scan_piece(pieces->scan, &piece);
		return 0;
	}
	if (pieces->list.n >= PIECES_MAX)
		return 0;
	return vec_push(&pieces->list, piece);
}

static inline uint64_t take_address(struct cursor *c, uint8_t size)
{
	return size == 8 ? cursor_number(c, 8) : cursor_number(c, 4);
}

/* Takes the addresses of one unit of .debug_aranges. */
static int take_set(struct pieces *pieces, struct debug_reader *reader, uint8_t offset_size,
	uint64_t set_offset)
{
	struct cursor *c = &reader->c;
	uint64_t unit, used, pad;
	uint8_t size;
	int r = 0;

	if (cursor_number(c, 2) != 2)
		return 0;
	unit = cursor_number(c, offset_size);
	size = cursor_u8(c);
	if (cursor_u8(c) || (size != 4 && size != 8)) /* segments */
		return 0;
	used = debug_reader_offset(reader) - set_offset;
	pad = ROUND_UP(used, 2u * size) - used;
	cursor_take(c, pad);
	while (r >= 0 && !c->failed) {
		uint64_t start = take_address(c, size), n = take_address(c, size);

		if (c->failed || (!start && !n))
			break;
		if (start && n && start + n > start)
			r = add_piece(pieces, start, start + n, unit);
	}
	return r;
}

/* The sets of a section: each has its length, then the addresses of one unit. */
static int take_sets(struct pieces *pieces, struct debug_reader *reader)
{
	struct cursor *c = &reader->c;
	int r = 0;

	while (r >= 0 && c->at < c->end) {
		struct debug_reader set = {.offset = debug_reader_offset(reader)};
		uint64_t length = cursor_number(c, 4), start = set.offset;
		uint8_t offset_size = 4;

		if (length == UINT32_MAX) {
			length = cursor_number(c, 8);
			offset_size = 8;
		}
		set.offset = debug_reader_offset(reader);
		set.start = set.c.at = cursor_take(c, length);
		if (!set.start)
			break;
		set.c.end = set.start + length;
		r = take_set(pieces, &set, offset_size, start);
	}
	return r;
}

static int read_sets(struct debug_file *file, struct pieces *pieces)
{
	uint64_t n = file->sections[DEBUG_ARANGES].size;
	const uint8_t *bytes;
	struct debug_reader reader = {0};
	int r;

	if (!n || n > ARANGES_MAX)
		return 0;
	r = debug_file_borrow(file, DEBUG_ARANGES, 0, n, &bytes);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	reader.start = reader.c.at = bytes;
	reader.c.end = bytes + n;
	return take_sets(pieces, &reader);
}

/* Looks for the unit of an address without a table. Sets `end`. */
static uint64_t scan_aranges(struct unit_index *index, uint64_t address)
{
	struct scan scan = {.address = address, .found.unit = NO_UNIT, .next = UINT64_MAX};
	struct pieces pieces = {.scan = &scan};

	index->scans++;
	if (read_sets(index->file, &pieces) < 0 || scan.end <= address)
		return NO_UNIT;
	index->end = MIN(scan.end, scan.next);
	return scan.found.unit;
}

static void read_aranges(struct unit_index *index)
{
	struct pieces pieces = {0};

	index->aranges.read = true;
	if (read_sets(index->file, &pieces) < 0)
		vec_done(&pieces.list);
	sort_pieces(&pieces, &index->aranges);
}

/* A unit without ranges: the ranges of its functions. */
static int add_functions(
	struct unit_index *index, const struct debug_unit *unit, struct pieces *pieces)
{
	const struct abbrevs *abbrevs = unit_index_abbrevs(index, unit);
	struct scope_table table;
	int r = abbrevs ? scope_table_read(unit, abbrevs, NULL, &table) : -EBADMSG;

	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i + 1 < table.starts.n; i++)
		if (table.starts.at[i].scope)
			r = add_piece(pieces, table.base + table.starts.at[i].start,
				table.base + table.starts.at[i + 1].start, unit->offset);
	scope_table_done(&table);
	return r;
}

static int add_unit(struct unit_index *index, struct debug_unit *unit, struct pieces *pieces,
	struct debug_ranges *ranges)
{
	struct debug_extent extent;
	int r;

	if (unit->type == DW_UT_type || unit->type == DW_UT_partial || !read_root(index, unit) ||
		(unit->tag != DW_TAG_compile_unit && unit->tag != DW_TAG_skeleton_unit))
		return 0;
	extent = (struct debug_extent){.high = unit->high_pc, .ranges = unit->ranges};
	if (unit->high_pc.class)
		extent.low = (struct debug_value){.class = DEBUG_ADDRESS, .u = unit->low_pc};
	ranges->list.n = 0;
	r = debug_ranges_read(unit, &extent, ranges);
	vec_each (&ranges->list, range)
		if (r >= 0)
			r = add_piece(pieces, range->start, range->end, unit->offset);
	if (r >= 0 && !unit->high_pc.class && !unit->ranges.class && unit->lines.class)
		r = add_functions(index, unit, pieces);
	return r == -ENOMEM ? r : 0;
}

/* The units that .debug_aranges does not name: clang, for one, does not write it. */
static void read_ranges(struct unit_index *index)
{
	struct debug_ranges ranges = {0};
	struct pieces pieces = {0};
	struct map named = {0};
	int r = 0;

	index->ranges.read = true;
	vec_each (&index->aranges.list, start)
		if (r >= 0 && start->unit != NO_UNIT)
			r = map_put(&named, start->unit, 0);
	list_units(index);
	vec_each (&index->sorted, unit)
		if (r >= 0 && !map_get(&named, (*unit)->offset))
			r = add_unit(index, *unit, &pieces, &ranges);
	map_done(&named);
	vec_done(&ranges.list);
	if (r < 0)
		vec_done(&pieces.list);
	sort_pieces(&pieces, &index->ranges);
}

/* Addresses are mostly looked up in their order: the range of the last one is tried first. */
static uint64_t unit_of(struct unit_starts *starts, uint64_t address)
{
	const struct unit_start *low = starts->list.at, *last;
	size_t n = starts->list.n;

	if (!n || address < low->start)
		return NO_UNIT;
	last = low + starts->last;
	if (address >= last->start && starts->last + 1 < n && address < last[1].start)
		return last->unit;
	while (n > 1) { /* low->start <= address */
		size_t half = n / 2;

		low = low[half].start <= address ? low + half : low;
		n -= half;
	}
	starts->last = (size_t)(low - starts->list.at);
	return low->unit;
}

/* The start that follows an address for which unit_of() was called; UINT64_MAX: there is none. */
static uint64_t end_of(const struct unit_starts *starts, uint64_t address)
{
	size_t n = starts->list.n, next = starts->last + 1;

	if (n && address < starts->list.at[0].start)
		return starts->list.at[0].start;
	return next < n ? starts->list.at[next].start : UINT64_MAX;
}

uint64_t unit_index_offset(struct unit_index *index, uint64_t address)
{
	uint64_t offset = NO_UNIT;

	if (!index->aranges.read && index->scans < SCANS_MAX)
		offset = scan_aranges(index, address);
	if (offset == NO_UNIT) {
		if (!index->aranges.read)
			read_aranges(index);
		offset = unit_of(&index->aranges, address);
		index->end = end_of(&index->aranges, address);
	}
	if (offset == NO_UNIT) {
		if (!index->ranges.read)
			read_ranges(index);
		offset = unit_of(&index->ranges, address);
		index->end = MIN(index->end, end_of(&index->ranges, address));
	}
	return offset;
}

/* All of a unit is read next: then its root entry is in memory. */
static void read_ahead(const struct debug_unit *unit)
{
	uint64_t n = unit->end - unit->root;
	const uint8_t *bytes;

	if (!unit->root_read && n <= SCOPES_UNIT_MAX)
		debug_file_borrow(unit->file, DEBUG_INFO, unit->root, n, &bytes);
}

struct debug_unit *unit_index_find(struct unit_index *index, uint64_t address)
{
	uint64_t offset = unit_index_offset(index, address);
	struct debug_unit *unit = offset == NO_UNIT ? NULL : unit_with_header(index, offset);

	if (!unit)
		return NULL;
	read_ahead(unit);
	return read_root(index, unit) ? unit : NULL;
}
