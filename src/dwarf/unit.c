/* SPDX-License-Identifier: MIT */
#include "dwarf/unit.h"

#include "dwarf/constants.h"

enum { HEADER_MAX = 40, ROOT_BYTES = 4 << 10 };

static uint64_t take_offset(const struct debug_unit *unit, struct debug_reader *reader)
{
	return cursor_number(&reader->c, unit->offset_size);
}

static bool take_header(struct debug_unit *unit, struct debug_reader *reader)
{
	struct cursor *c = &reader->c;

	if (unit->version >= 5) {
		unit->type = cursor_u8(c);
		unit->address_size = cursor_u8(c);
		unit->abbrev = take_offset(unit, reader);
		if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
			unit->dwo_id = cursor_number(c, 8);
		else if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
			cursor_take(c, 8 + unit->offset_size);
	} else {
		unit->type = DW_UT_compile;
		unit->abbrev = take_offset(unit, reader);
		unit->address_size = cursor_u8(c);
	}
	return !c->failed && (unit->address_size == 4 || unit->address_size == 8);
}

int debug_unit_header(struct debug_file *file, uint64_t offset, struct debug_unit *ret_unit)
{
	struct debug_unit unit = {.file = file, .offset = offset, .offset_size = 4};
	uint64_t size = file->sections[DEBUG_INFO].size, length;
	uint8_t bytes[HEADER_MAX];
	struct debug_reader reader = {.offset = offset, .start = bytes, .c.at = bytes};
	size_t n;

	if (offset >= size)
		return -ENODATA;
	n = (size_t)MIN(size - offset, (uint64_t)HEADER_MAX);
	if (!debug_file_read(file, DEBUG_INFO, offset, bytes, n))
		return -EBADMSG;
	reader.c.end = bytes + n;
	length = cursor_number(&reader.c, 4);
	if (length == UINT32_MAX) {
		length = cursor_number(&reader.c, 8);
		unit.offset_size = 8;
	}
	unit.end = debug_reader_offset(&reader);
	if (reader.c.failed || length > size - unit.end)
		return -EBADMSG;
	unit.end += length;
	unit.version = (uint8_t)MIN(cursor_number(&reader.c, 2), 255UL);
	*ret_unit = unit;
	if (reader.c.failed || unit.version < 2 || unit.version > 5 ||
		!take_header(&unit, &reader) || debug_reader_offset(&reader) > unit.end)
		return -EOPNOTSUPP;
	unit.root = debug_reader_offset(&reader);
	*ret_unit = unit;
	return 0;
}

static uint64_t take3(struct cursor *c)
{
	uint64_t low = cursor_number(c, 2);

	return low | (uint64_t)cursor_u8(c) << 16;
}

static void skip_string(struct cursor *c)
{
	const uint8_t *nul = memchr(c->at, 0, (size_t)(c->end - c->at));

	cursor_take(c, nul ? (uint64_t)(nul + 1 - c->at) : UINT64_MAX);
}

#define VALUE(of, value) ((struct debug_value){.class = (of), .u = (value)})

bool debug_value_take(const struct debug_unit *unit, struct debug_reader *reader, uint64_t form,
	int64_t implicit, struct debug_value *v)
{
	struct cursor *c = &reader->c;

	*v = (struct debug_value){0};
	switch (form) {
	case DW_FORM_addr:
		*v = VALUE(DEBUG_ADDRESS, cursor_number(c, unit->address_size));
		break;
	case DW_FORM_addrx:
	case DW_FORM_GNU_addr_index:
		*v = VALUE(DEBUG_ADDRESS_INDEX, cursor_uleb(c));
		break;
	case DW_FORM_addrx1:
		*v = VALUE(DEBUG_ADDRESS_INDEX, cursor_u8(c));
		break;
	case DW_FORM_addrx2:
		*v = VALUE(DEBUG_ADDRESS_INDEX, cursor_number(c, 2));
		break;
	case DW_FORM_addrx3:
		*v = VALUE(DEBUG_ADDRESS_INDEX, take3(c));
		break;
	case DW_FORM_addrx4:
		*v = VALUE(DEBUG_ADDRESS_INDEX, cursor_number(c, 4));
		break;
	case DW_FORM_data1:
	case DW_FORM_flag:
		*v = VALUE(DEBUG_CONSTANT, cursor_u8(c));
		break;
	case DW_FORM_data2:
		*v = VALUE(DEBUG_CONSTANT, cursor_number(c, 2));
		break;
	case DW_FORM_data4: /* also an offset, in DWARF 2 and 3 */
		*v = VALUE(DEBUG_CONSTANT, cursor_number(c, 4));
		break;
	case DW_FORM_data8:
		*v = VALUE(DEBUG_CONSTANT, cursor_number(c, 8));
		break;
	case DW_FORM_data16:
		cursor_take(c, 16);
		break;
	case DW_FORM_sdata:
		*v = VALUE(DEBUG_CONSTANT, (uint64_t)cursor_sleb(c));
		break;
	case DW_FORM_udata:
		*v = VALUE(DEBUG_CONSTANT, cursor_uleb(c));
		break;
	case DW_FORM_implicit_const:
		*v = VALUE(DEBUG_CONSTANT, (uint64_t)implicit);
		break;
	case DW_FORM_flag_present:
		*v = VALUE(DEBUG_CONSTANT, 1);
		break;
	case DW_FORM_sec_offset:
		*v = VALUE(DEBUG_OFFSET, take_offset(unit, reader));
		break;
	case DW_FORM_rnglistx:
		*v = VALUE(DEBUG_RANGE_INDEX, cursor_uleb(c));
		break;
	case DW_FORM_loclistx:
		cursor_uleb(c);
		break;
	case DW_FORM_string:
		*v = VALUE(DEBUG_INLINE, debug_reader_offset(reader));
		skip_string(c);
		break;
	case DW_FORM_strp:
		*v = VALUE(DEBUG_STRING, take_offset(unit, reader));
		break;
	case DW_FORM_line_strp:
		*v = VALUE(DEBUG_LINE_STRING, take_offset(unit, reader));
		break;
	case DW_FORM_strx:
	case DW_FORM_GNU_str_index:
		*v = VALUE(DEBUG_STRING_INDEX, cursor_uleb(c));
		break;
	case DW_FORM_strx1:
		*v = VALUE(DEBUG_STRING_INDEX, cursor_u8(c));
		break;
	case DW_FORM_strx2:
		*v = VALUE(DEBUG_STRING_INDEX, cursor_number(c, 2));
		break;
	case DW_FORM_strx3:
		*v = VALUE(DEBUG_STRING_INDEX, take3(c));
		break;
	case DW_FORM_strx4:
		*v = VALUE(DEBUG_STRING_INDEX, cursor_number(c, 4));
		break;
	case DW_FORM_strp_sup:
	case DW_FORM_GNU_strp_alt:
		*v = VALUE(DEBUG_ALT_STRING, take_offset(unit, reader));
		break;
	case DW_FORM_ref1:
		*v = VALUE(DEBUG_REF, unit->offset + cursor_u8(c));
		break;
	case DW_FORM_ref2:
		*v = VALUE(DEBUG_REF, unit->offset + cursor_number(c, 2));
		break;
	case DW_FORM_ref4:
		*v = VALUE(DEBUG_REF, unit->offset + cursor_number(c, 4));
		break;
	case DW_FORM_ref8:
		*v = VALUE(DEBUG_REF, unit->offset + cursor_number(c, 8));
		break;
	case DW_FORM_ref_udata:
		*v = VALUE(DEBUG_REF, unit->offset + cursor_uleb(c));
		break;
	case DW_FORM_ref_addr:
		*v = VALUE(DEBUG_REF, cursor_number(c, unit->version <= 2 ? unit->address_size
									  : unit->offset_size));
		break;
	case DW_FORM_ref_sup4:
		*v = VALUE(DEBUG_ALT_REF, cursor_number(c, 4));
		break;
	case DW_FORM_ref_sup8:
		*v = VALUE(DEBUG_ALT_REF, cursor_number(c, 8));
		break;
	case DW_FORM_GNU_ref_alt:
		*v = VALUE(DEBUG_ALT_REF, take_offset(unit, reader));
		break;
	case DW_FORM_ref_sig8:
		cursor_take(c, 8);
		break;
	case DW_FORM_block1:
		cursor_take(c, cursor_u8(c));
		break;
	case DW_FORM_block2:
		cursor_take(c, cursor_number(c, 2));
		break;
	case DW_FORM_block4:
		cursor_take(c, cursor_number(c, 4));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		cursor_take(c, cursor_uleb(c));
		break;
	case DW_FORM_indirect:
		form = cursor_uleb(c);
		/* one level only: a chain of them would be endless */
		return form != DW_FORM_indirect && form != DW_FORM_implicit_const &&
		       debug_value_take(unit, reader, form, 0, v);
	default:
		return false;
	}
	return !c->failed;
}

static void set_root(struct debug_unit *unit, unsigned name, const struct debug_value *v,
	struct debug_value *low)
{
	switch (name) {
	case DW_AT_low_pc:
		*low = *v;
		break;
	case DW_AT_high_pc:
		unit->high_pc = *v;
		break;
	case DW_AT_ranges:
		unit->ranges = *v;
		break;
	case DW_AT_stmt_list:
		unit->lines = *v;
		break;
	case DW_AT_name:
		unit->name = *v;
		break;
	case DW_AT_comp_dir:
		unit->directory = *v;
		break;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		unit->dwo_name = *v;
		break;
	case DW_AT_GNU_dwo_id:
		unit->dwo_id = v->u;
		break;
	case DW_AT_str_offsets_base:
		unit->str_offsets_base = v->u;
		break;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		unit->addr_base = v->u;
		break;
	case DW_AT_rnglists_base:
		unit->rnglists_base = v->u;
		break;
	case DW_AT_GNU_ranges_base:
		unit->gnu_ranges_base = v->u;
		break;
	}
}

int debug_unit_root(struct debug_unit *unit, const struct abbrevs *abbrevs)
{
	size_t n = (size_t)MIN(unit->end - unit->root, (uint64_t)ROOT_BYTES);
	struct debug_reader reader = {.offset = unit->root};
	const struct abbrev *abbrev;
	struct debug_value low = {0};

	if (unit->root_read)
		return 0;
	unit->root_read = true;
	reader.start = reader.c.at = debug_file_view(unit->file, DEBUG_INFO, unit->root, n);
	if (!reader.start)
		return -EBADMSG;
	reader.c.end = reader.start + n;
	abbrev = abbrevs_find(abbrevs, cursor_uleb(&reader.c));
	if (!abbrev)
		return -EBADMSG;
	unit->tag = abbrev->tag;
	for (uint32_t i = 0; i < abbrev->n; i++) {
		const struct abbrev_attribute *a = &abbrevs->attributes.at[abbrev->first + i];
		struct debug_value value;

		if (!debug_value_take(unit, &reader, a->form, a->implicit, &value))
			return -EBADMSG;
		set_root(unit, a->name, &value, &low);
	}
	/* The address may be an index: its base may follow it. */
	if (!debug_unit_address(unit, &low, &unit->low_pc))
		unit->low_pc = unit->skeleton ? unit->skeleton->low_pc : 0;
	return 0;
}

bool debug_unit_address(
	const struct debug_unit *unit, const struct debug_value *value, uint64_t *ret_address)
{
	const struct debug_unit *owner = unit->skeleton ?: unit;

	if (value->class == DEBUG_ADDRESS) {
		*ret_address = value->u;
		return true;
	}
	if (value->class != DEBUG_ADDRESS_INDEX || value->u > UINT32_MAX)
		return false;
	return debug_file_number(owner->file, DEBUG_ADDR,
		owner->addr_base + value->u * unit->address_size, unit->address_size, ret_address);
}

bool debug_unit_string(const struct debug_unit *unit, const struct debug_value *value,
	struct debug_file *alt, enum debug_section_id section, struct buf *text)
{
	uint64_t offset;

	switch (value->class) {
	case DEBUG_INLINE:
		return debug_file_string(unit->file, section, value->u, text);
	case DEBUG_STRING:
		return debug_file_string(unit->file, DEBUG_STR, value->u, text);
	case DEBUG_LINE_STRING:
		return debug_file_string(unit->file, DEBUG_LINE_STR, value->u, text);
	case DEBUG_ALT_STRING:
		return alt && debug_file_string(alt, DEBUG_STR, value->u, text);
	case DEBUG_STRING_INDEX:
		return value->u <= UINT32_MAX &&
		       debug_file_number(unit->file, DEBUG_STR_OFFSETS,
			       unit->str_offsets_base + value->u * unit->offset_size,
			       unit->offset_size, &offset) &&
		       debug_file_string(unit->file, DEBUG_STR, offset, text);
	default:
		return false;
	}
}
