/* SPDX-License-Identifier: MIT */
#include "dwarf/package.h"

#include "dwarf/constants.h"

enum { HEADER = 16, COLUMNS_MAX = 16 };

struct index {
	struct debug_file *package;
	uint64_t version, columns, units, slots;
};

static bool number(const struct index *index, uint64_t offset, size_t size, uint64_t *ret_value)
{
	return debug_file_number(index->package, DEBUG_CU_INDEX, offset, size, ret_value);
}

static bool read_header(struct index *index)
{
	/* Version 5 is a number of 16 bits followed by 16 bits of padding. */
	return number(index, 0, 2, &index->version) && number(index, 4, 4, &index->columns) &&
	       number(index, 8, 4, &index->units) && number(index, 12, 4, &index->slots) &&
	       (index->version == 2 || index->version == 5) && index->columns &&
	       index->columns <= COLUMNS_MAX && index->slots &&
	       !(index->slots & (index->slots - 1));
}

/* The row of a unit, from 1; 0: none. */
static uint64_t row_of(const struct index *index, uint64_t id)
{
	uint64_t mask = index->slots - 1, slot = id & mask, step = (id >> 32 & mask) | 1;

	for (uint64_t i = 0; i < index->slots; i++, slot = (slot + step) & mask) {
		uint64_t found, row;

		if (!number(index, HEADER + slot * 8, 8, &found) ||
			!number(index, HEADER + index->slots * 8 + slot * 4, 4, &row) || !row)
			return 0;
		if (found == id)
			return row <= index->units ? row : 0;
	}
	return 0;
}

bool package_find(struct debug_file *package, uint64_t dwo_id, struct package_unit *ret_unit)
{
	struct index index = {.package = package};
	uint64_t row, table, section, offset;
	struct package_unit unit = {0};

	if (!read_header(&index))
		return false;
	row = row_of(&index, dwo_id);
	if (!row)
		return false;
	table = HEADER + index.slots * 12;
	for (uint64_t i = 0; i < index.columns; i++) {
		if (!number(&index, table + i * 4, 4, &section) ||
			!number(&index, table + (row * index.columns + i) * 4, 4, &offset))
			return false;
		switch (section) {
		case DW_SECT_INFO:
			unit.info = offset;
			break;
		case DW_SECT_ABBREV:
			unit.abbrev = offset;
			break;
		case DW_SECT_STR_OFFSETS:
			unit.str_offsets = offset;
			break;
		case DW_SECT_RNGLISTS: /* in version 2 macro information */
			unit.rnglists = index.version == 5 ? offset : 0;
			break;
		}
	}
	*ret_unit = unit;
	return true;
}
