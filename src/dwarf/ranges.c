/* SPDX-License-Identifier: MIT */
#include "dwarf/ranges.h"

#include "dwarf/constants.h"

enum {
	ENTRY_MAX = 32,   /* bytes of an entry of a list */
	LIST_BYTES = 256, /* of most lists at most */
};

static uint64_t highest(const struct debug_unit *unit)
{
	return unit->address_size == 4 ? UINT32_MAX : UINT64_MAX;
}

static int ranges_add(
	struct debug_ranges *ranges, const struct debug_unit *unit, uint64_t start, uint64_t end)
{
	if (!start || start >= end || start >= highest(unit) - 1)
		return 0;
	return vec_push(&ranges->list, (struct debug_range){.start = start, .end = end});
}

/* A cursor on the next entry of .debug_ranges. False at the end of the section. */
static bool pair_at(struct debug_file *file, uint64_t offset, struct debug_reader *reader)
{
	uint64_t size = file->sections[DEBUG_RANGES].size;
	size_t n;

	if (offset >= size)
		return false;
	n = (size_t)MIN(size - offset, (uint64_t)ENTRY_MAX);
	*reader = (struct debug_reader){.offset = offset};
	reader->start = reader->c.at = debug_file_view(file, DEBUG_RANGES, offset, n);
	reader->c.end = reader->start ? reader->start + n : NULL;
	return reader->start;
}

/* DWARF 2 to 4: pairs of addresses; a first one of all ones selects the base of the next. */
static int read_pairs(const struct debug_unit *unit, uint64_t offset, struct debug_ranges *ranges)
{
	const struct debug_unit *owner = unit->skeleton ?: unit;
	uint64_t base = owner->low_pc;
	struct debug_reader reader;
	int r = 0;

	if (unit->skeleton)
		offset += owner->gnu_ranges_base;
	while (r >= 0 && ranges->steps++ < RANGES_STEPS_MAX) {
		uint64_t low, high;

		if (!pair_at(owner->file, offset, &reader))
			break;
		low = cursor_number(&reader.c, unit->address_size);
		high = cursor_number(&reader.c, unit->address_size);
		if (reader.c.failed || (!low && !high))
			break;
		if (low == highest(unit))
			base = high;
		else if (low < high)
			r = ranges_add(ranges, unit, base + low, base + high);
		offset = debug_reader_offset(&reader);
	}
	return r;
}

static uint64_t indexed(const struct debug_unit *unit, uint64_t index)
{
	uint64_t address = 0;

	debug_unit_address(
		unit, &(struct debug_value){.class = DEBUG_ADDRESS_INDEX, .u = index}, &address);
	return address;
}

struct list {
	const struct debug_unit *unit;
	struct debug_ranges *ranges;
	uint64_t base;
};

/* Takes an entry of .debug_rnglists. Returns 1 if more follow, 0 at the end, -ENOMEM. */
static int take_entry(struct list *list, struct debug_reader *reader)
{
	const struct debug_unit *unit = list->unit;
	struct cursor *c = &reader->c;
	uint64_t a = 0, b = 0;

	switch (cursor_u8(c)) {
	case DW_RLE_base_addressx:
		a = cursor_uleb(c);
		list->base = c->failed ? 0 : indexed(unit, a);
		return !c->failed;
	case DW_RLE_base_address:
		list->base = cursor_number(c, unit->address_size);
		return !c->failed;
	case DW_RLE_startx_endx:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		if (c->failed)
			return 0;
		a = indexed(unit, a);
		b = indexed(unit, b);
		break;
	case DW_RLE_startx_length:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		if (c->failed)
			return 0;
		a = indexed(unit, a);
		b += a;
		break;
	case DW_RLE_offset_pair:
		a = cursor_uleb(c);
		b = cursor_uleb(c);
		if (!list->base || list->base >= highest(unit) - 1) /* removed code */
			return !c->failed;
		a += list->base;
		b += list->base;
		break;
	case DW_RLE_start_end:
		a = cursor_number(c, unit->address_size);
		b = cursor_number(c, unit->address_size);
		break;
	case DW_RLE_start_length:
		a = cursor_number(c, unit->address_size);
		b = a + cursor_uleb(c);
		break;
	default:
		return 0;
	}
	if (c->failed)
		return 0;
	return ranges_add(list->ranges, unit, a, b) < 0 ? -ENOMEM : 1;
}

/* A cursor that has the next entry. False at the end of the section. */
static bool has_entry(struct debug_file *file, struct debug_reader *reader)
{
	uint64_t offset = debug_reader_offset(reader), size = file->sections[DEBUG_RNGLISTS].size;
	size_t in_block = DEBUG_BLOCK - offset % DEBUG_BLOCK, n = MAX(in_block, (size_t)ENTRY_MAX);

	if (reader->c.end - reader->c.at >= ENTRY_MAX)
		return true;
	if (offset >= size)
		return false;
	n = MIN(n, (size_t)LIST_BYTES);
	n = (size_t)MIN(size - offset, (uint64_t)n);
	*reader = (struct debug_reader){.offset = offset};
	reader->start = reader->c.at = debug_file_view(file, DEBUG_RNGLISTS, offset, n);
	reader->c.end = reader->start ? reader->start + n : NULL;
	return reader->start;
}

static int read_list(const struct debug_unit *unit, uint64_t offset, struct debug_ranges *ranges)
{
	struct list list = {.unit = unit,
		.ranges = ranges,
		.base = unit->skeleton ? unit->skeleton->low_pc : unit->low_pc};
	struct debug_reader reader = {.offset = offset};
	int r = 1;

	while (r > 0 && ranges->steps++ < RANGES_STEPS_MAX && has_entry(unit->file, &reader))
		r = take_entry(&list, &reader);
	return r < 0 ? r : 0;
}

int debug_ranges_read(const struct debug_unit *unit, const struct debug_extent *extent,
	struct debug_ranges *ranges)
{
	uint64_t low, high, offset = extent->ranges.u;

	if (extent->ranges.class == DEBUG_RANGE_INDEX) {
		if (extent->ranges.u > UINT32_MAX ||
			!debug_file_number(unit->file, DEBUG_RNGLISTS,
				unit->rnglists_base + extent->ranges.u * unit->offset_size,
				unit->offset_size, &offset))
			return 0;
		return read_list(unit, unit->rnglists_base + offset, ranges);
	}
	if (extent->ranges.class != DEBUG_NONE)
		return unit->version >= 5 ? read_list(unit, offset, ranges)
					  : read_pairs(unit, offset, ranges);
	if (!debug_unit_address(unit, &extent->low, &low))
		return 0;
	if (extent->high.class == DEBUG_CONSTANT)
		high = low + extent->high.u;
	else if (!debug_unit_address(unit, &extent->high, &high))
		return 0;
	return ranges_add(ranges, unit, low, high);
}
