/* SPDX-License-Identifier: MIT */
/* A tracepoint's record as text: by its print format, or field by field. */
#include "expr/print.h"

#include <math.h>
#include <stdio.h>

#include "base/check.h"
#include "eventheader/eventheader.h"
#include "tracefs/format.h"

/* Addresses as hexadecimal; so are those of probes, which the kernel declares as plain longs. */
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

	/* the shortest text that reads back as the same number */
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value || isnan(value))
			break;
	}
	print_text(run, text, strlen(text));
}

static void put_described(
	struct print_run *run, const struct perfume_type *d, const uint8_t *at, size_t len)
{
	struct attar_field element = {.size = d->size, .is_signed = d->is_signed, .name = ""};
	size_t n = len / d->size;

	print_text(run, "{", d->is_array);
	for (size_t i = 0; i < n; i++, at += d->size) {
		print_text(run, ",", i > 0);
		if (d->is_float)
			put_double(run, perfume_type_double(d, at));
		else
			put_number(run, &element, attar_field_u64(&element, at, d->size));
	}
	print_text(run, "}", d->is_array);
}

static void put_field(struct print_run *run, const struct attar_field *field)
{
	struct perfume_type d;
	size_t len;
	const uint8_t *at = attar_field_bytes(field, run->raw, run->size, &len);

	print_form(run, "%s%s=", run->len ? " " : "", field->name);
	if (!at) {
		print_text(run, "?", 1); /* not inside the record */
		return;
	}
	if (perfume_type_of(field, &d)) {
		put_described(run, &d, at, len);
		return;
	}
	switch ((enum attar_field_kind)field->kind) {
	case ATTAR_FIELD_NUMBER:
		put_number(run, field, attar_field_u64(field, run->raw, run->size));
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

/* The print format is parsed when the first record comes. */
static const struct print_program *program_of(struct format *f)
{
	if (!f->print_parsed) {
		f->print_parsed = true;
		f->is_eventheader = attar_eventheader_format(&f->pub);
		if (!strncmp(f->pub.system, "user_events", strlen("user_events")))
			return NULL; /* made of its fields, and knows neither arrays nor fractions */
		f->program = print_parse(&f->pub, f->catalog);
		if (!f->program)
			log_debug("%s:%s is printed field by field: its print format is beyond us",
				f->pub.system, f->pub.name);
	}
	return f->program;
}

size_t attar_format_print(
	const struct attar_format *format, const void *raw, size_t size, char *ret_text, size_t max)
{
	CHECK_ARG_OR(format, "format", 0);
	CHECK_ARG_OR(raw || !size, "raw", 0);
	CHECK_ARG_OR(ret_text || !max, "ret_text", 0);

	struct format *f = format_of(format);
	struct print_run run = {.program = program_of(f),
		.catalog = f->catalog,
		.raw = raw,
		.size = size,
		.at = ret_text,
		.max = max};

	if (max)
		ret_text[0] = '\0';
	if (f->is_eventheader) {
		eventheader_print(&run, format->name);
		return run.len;
	}
	/* Cut off records are listed, so that one sees what is missing. */
	if (run.program && size >= format->size) {
		print_program(&run);
	} else {
		for (size_t i = 0; i < format->n_fields; i++)
			if (!format->fields[i].is_common)
				put_field(&run, &format->fields[i]);
	}
	/* Some formats end in a newline, which the caller writes. */
	while (run.len && run.len < max && strchr("\n ", ret_text[run.len - 1]))
		ret_text[--run.len] = '\0';
	return run.len;
}
