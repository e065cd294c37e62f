/* SPDX-License-Identifier: MIT */
/* Format a tracepoint's record as text: with its print format, or field by field. */
#include "expr/print.h"

#include <math.h>
#include <stdio.h>

#include "tracefs/format.h"

/*
 * Prints addresses in hexadecimal, including addresses of probes, which the kernel declares as
 * plain longs.
 */
static bool is_address(const struct attar_field *field)
{
	return field->is_pointer || !strncmp(field->name, "__probe_", 8);
}

static void put_number(struct print_run *run, const struct attar_field *field, uint64_t value)
{
	if (is_address(field))
		print_form(run, "0x%llx", (unsigned long long)value);
	else if (field->is_signed)
		print_form(run, "%lld", (long long)value);
	else
		print_form(run, "%llu", (unsigned long long)value);
}

static void put_array(
	struct print_run *run, const struct attar_field *field, const uint8_t *at, size_t len)
{
	struct attar_field element = {.size = field->element, .is_signed = field->is_signed};

	print_text(run, "{", 1);
	for (size_t i = 0; i + element.size <= len; i += element.size) {
		print_text(run, ",", i > 0);
		put_number(run, field, attar_field_u64(&element, at + i, element.size));
	}
	print_text(run, "}", 1);
}

static void put_double(struct print_run *run, double value)
{
	char text[32];

	/* the shortest text that parses to the same number */
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value || isnan(value))
			break;
	}
	print_text(run, text, strlen(text));
}

static void put_described(
	struct print_run *run, const struct attar_number_type *d, const uint8_t *at, size_t len)
{
	struct attar_field element = {.size = d->size, .is_signed = d->is_signed, .name = ""};
	size_t n = len / d->size;

	print_text(run, "{", d->is_array);
	for (size_t i = 0; i < n; i++, at += d->size) {
		print_text(run, ",", i > 0);
		if (d->is_float)
			put_double(run, attar_number_double(d, at));
		else
			put_number(run, &element, attar_field_u64(&element, at, d->size));
	}
	print_text(run, "}", d->is_array);
}

void print_field(struct print_run *run, const struct attar_field *field)
{
	struct attar_number_type d;
	size_t len;
	const uint8_t *at = attar_field_bytes(field, run->record.raw, run->record.size, &len);

	print_form(run, "%s%s=", run->len ? " " : "", field->name);
	if (!at) {
		print_text(run, "?", 1); /* outside the record */
		return;
	}
	if (perfume_type_of(field, &d)) {
		put_described(run, &d, at, len);
		return;
	}
	switch ((enum attar_field_kind)field->kind) {
	case ATTAR_FIELD_NUMBER:
		put_number(run, field, attar_field_u64(field, run->record.raw, run->record.size));
		break;
	case ATTAR_FIELD_STRING:
		print_text(run, (const char *)at, strnlen((const char *)at, len));
		break;
	case ATTAR_FIELD_ARRAY:
		put_array(run, field, at, len);
		break;
	case ATTAR_FIELD_BYTES:
		for (size_t i = 0; i < len; i++)
			print_form(run, "%02x", at[i]);
		break;
	}
}
