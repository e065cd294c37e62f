/* SPDX-License-Identifier: MIT */
#include "report/model/fields.h"

#include "attar/private/report.h"
#include "base/check_arg.h"

/* The words of a cell in attar_section.records: a pointer, the size of the record, its bytes. */
enum { WORD_FORMAT, WORD_SIZE, WORD_RAW };

#define HAS_VALUES (1ULL << 63)

void cell_fields(struct attar_section *section, const struct attar_format *format, const void *raw,
	size_t size, bool values)
{
	CHECK_ARG_OR(section, "section", );
	CHECK_ARG_OR(format, "format", );
	CHECK_ARG_OR(raw || !size, "raw", );

	struct cell cell = {CELL_FIELDS, .bits = section->records.n};
	size_t words = WORD_RAW + (size + 7) / 8;
	uint64_t *to;

	if (section->report->fault)
		return;
	if (vec_reserve(&section->records, words) < 0) {
		report_set_out_of_memory(section->report);
		return;
	}
	to = section->records.at + section->records.n;
	to[WORD_FORMAT] = (uint64_t)(uintptr_t)format;
	to[WORD_SIZE] = size | (values ? HAS_VALUES : 0);
	if (size)
		memcpy(to + WORD_RAW, raw, size);
	section->records.n += words;
	section->has_record_values |= values;
	section_fill(section, cell);
}

struct fields section_fields(const struct attar_section *section, struct cell cell)
{
	const uint64_t *at = section->records.at + cell.bits;

	return (struct fields){.format = (const struct attar_format *)(uintptr_t)at[WORD_FORMAT],
		.raw = (const uint8_t *)(at + WORD_RAW),
		.size = at[WORD_SIZE] & ~HAS_VALUES,
		.has_values = at[WORD_SIZE] & HAS_VALUES};
}

size_t fields_text(const struct fields *fields, char text[FIELDS_TEXT_MAX])
{
	size_t n = attar_format_print(
		fields->format, fields->raw, fields->size, text, FIELDS_TEXT_MAX);

	return MIN(n, (size_t)FIELDS_TEXT_MAX - 1);
}

/* ---- cells of text and named values ---- */

static void add_number(
	struct attar_section *section, const struct attar_number_type *type, const char *at)
{
	if (type->is_float)
		attar_row_value_double(section, attar_number_double(type, at));
	else if (type->is_signed)
		attar_row_value_i64(section, attar_number_i64(type, at));
	else
		attar_row_value_u64(section, attar_number_u64(type, at));
}

/* In hexadecimal. */
static void add_bytes(struct attar_section *section, const uint8_t *at, size_t len)
{
	struct buf hex _cleanup_(buf_done) = {0};

	for (size_t i = 0; i < len; i++) {
		buf_char(&hex, "0123456789abcdef"[at[i] >> 4]);
		buf_char(&hex, "0123456789abcdef"[at[i] & 15]);
	}
	if (buf_failed(&hex))
		report_set_out_of_memory(section->report);
	attar_row_value_text(section, buf_text(&hex), hex.len);
}

static void add_value(
	struct attar_section *section, const struct attar_field *field, const struct fields *fields)
{
	struct attar_number_type type = {0};
	bool has_numbers = attar_field_number_type(field, &type);
	size_t len;
	const char *at = attar_field_bytes(field, fields->raw, fields->size, &len);

	attar_row_value(section, field->name, type.is_array);
	if (!at)
		return;
	if (has_numbers)
		for (size_t i = 0; type.size && i + type.size <= len; i += type.size)
			add_number(section, &type, at + i);
	else if (field->kind == ATTAR_FIELD_STRING)
		attar_row_value_text(section, at, strnlen(at, len));
	else
		add_bytes(section, (const uint8_t *)at, len);
}

static void expand_cell(struct attar_section *section, size_t at)
{
	struct fields fields =
		section_fields(section, (struct cell){CELL_FIELDS, .bits = section->values.at[at]});
	char text[FIELDS_TEXT_MAX];

	fields_text(&fields, text);
	section->kinds.at[at] = CELL_TEXT;
	section->values.at[at] = report_keep(section->report, text);
	for (size_t i = 0; fields.has_values && i < fields.format->n_fields; i++)
		if (!fields.format->fields[i].is_common)
			add_value(section, &fields.format->fields[i], &fields);
}

/* Adds the other values of the row, which follow the values of its fields. */
static size_t copy_values(
	struct attar_section *section, const struct attar_section *before, uint32_t row, size_t at)
{
	for (; at < before->named.n && before->named.at[at].row == row; at++) {
		struct named value = before->named.at[at];
		const struct cell *parts = before->parts.at + value.first;

		value.first = section->parts.n;
		if (vec_push(&section->named, value) < 0)
			report_set_out_of_memory(section->report);
		for (size_t i = 0; i < value.parts; i++)
			if (vec_push(&section->parts, parts[i]) < 0)
				report_set_out_of_memory(section->report);
	}
	return at;
}

void section_expand_fields(struct attar_section *section)
{
	struct attar_section before = *section;
	size_t columns = section->columns.n, named = 0;

	if (!section->records.n)
		return;
	section->named = (__typeof__(section->named)){0};
	section->parts = (__typeof__(section->parts)){0};
	for (uint32_t row = 0; row < before.rows && !section->report->fault; row++) {
		section->rows = row + 1; /* values are added to the newest row */
		for (size_t at = row * columns; at < (row + 1) * columns; at++)
			if (section->kinds.at[at] == CELL_FIELDS)
				expand_cell(section, at);
		named = copy_values(section, &before, row, named);
	}
	section->rows = before.rows;
	section->records.n = 0;
	section->has_record_values = false;
	vec_done(&before.named);
	vec_done(&before.parts);
}
