/* SPDX-License-Identifier: MIT */
#include "dwarf/unit.h"

#include "dwarf/constants.h"

enum { HEADER_MAX = 40, ROOT_BYTES = 4 << 10 };

static uint64_t take_offset(const struct debug_unit *unit, struct debug_reader *reader)
{
	return unit->offset_size == 4 ? cursor_number(&reader->c, 4) : cursor_number(&reader->c, 8);
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

static uint64_t skip_block(struct cursor *c, uint64_t n)
{
	cursor_take(c, n);
	return 0;
}

static uint64_t take_text(struct debug_reader *reader)
{
	uint64_t offset = debug_reader_offset(reader);

	skip_string(&reader->c);
	return offset;
}

static inline uint64_t take_bytes(const struct debug_unit *unit, struct debug_reader *reader,
	enum form_encoding encoding, int64_t implicit)
{
	struct cursor *c = &reader->c;

	switch (encoding) {
	case BYTES_1:
		return cursor_u8(c);
	case BYTES_2:
		return cursor_number(c, 2);
	case BYTES_3:
		return take3(c);
	case BYTES_4:
		return cursor_number(c, 4);
	case BYTES_8:
		return cursor_number(c, 8);
	case BYTES_16:
		return skip_block(c, 16);
	case OF_ADDRESS:
		return cursor_number(c, unit->address_size);
	case OF_OFFSET:
		return take_offset(unit, reader);
	case OF_REF:
		return cursor_number(
			c, unit->version <= 2 ? unit->address_size : unit->offset_size);
	case ULEB:
		return cursor_uleb(c);
	case SLEB:
		return (uint64_t)cursor_sleb(c);
	case TEXT:
		return take_text(reader);
	case BLOCK_1:
		return skip_block(c, cursor_u8(c));
	case BLOCK_2:
		return skip_block(c, cursor_number(c, 2));
	case BLOCK_4:
		return skip_block(c, cursor_number(c, 4));
	case BLOCK_ULEB:
		return skip_block(c, cursor_uleb(c));
	case IMPLICIT:
		return (uint64_t)implicit;
	case PRESENT:
		return 1;
	default:
		c->failed = true;
		return 0;
	}
}

bool debug_value_take(const struct debug_unit *unit, struct debug_reader *reader,
	const struct form *form, int64_t implicit, struct debug_value *v)
{
	struct form real;

	if (unlikely(form->encoding == INDIRECT)) {
		real = form_find(cursor_uleb(&reader->c));
		/* one level only: a chain of them would be endless */
		if (real.encoding == INDIRECT || real.encoding == IMPLICIT)
			real.encoding = FORM_UNKNOWN;
		form = &real;
	}
	v->u = take_bytes(unit, reader, form->encoding, implicit);
	v->u += unit->offset & -(uint64_t)form->in_unit;
	v->class = form->class;
	return !reader->c.failed;
}

static bool is_c(uint64_t language)
{
	return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
	       language == DW_LANG_C11 || language == DW_LANG_C17;
}

static bool is_cpp(uint64_t language)
{
	return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
	       language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
	       language == DW_LANG_C_plus_plus_17 || language == DW_LANG_C_plus_plus_20;
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
	case DW_AT_language:
		unit->is_c = is_c(v->u);
		unit->is_cpp = is_cpp(v->u);
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

		if (!debug_value_take(unit, &reader, &a->form, a->implicit, &value))
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
