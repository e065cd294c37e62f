/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint's format text, a NUL, and the bytes of a record: parses the format, reads every
 * field and prints the record. Nothing may be read outside the record; the sanitizer detects reads
 * beyond its end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attar/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum;

/* One more than there are. */
static void read_numbers(const struct attar_field *f, const uint8_t *raw, size_t size)
{
	size_t n = attar_field_count(f, raw, size);

	if (n > size)
		abort();
	for (size_t i = 0; i <= n; i++) {
		double value = attar_field_double_at(f, raw, size, i);

		sum += attar_field_u64_at(f, raw, size, i) + (value > 0);
	}
	if (attar_field_u64_at(f, raw, size, n) || attar_field_double_at(f, raw, size, n) != 0)
		abort();
	sum += attar_field_double(f, raw, size) > 0;
}

static void read_field(const struct attar_field *f, const uint8_t *raw, size_t size)
{
	size_t len;
	const uint8_t *bytes = attar_field_bytes(f, raw, size, &len);

	if (bytes && (bytes < raw || len > size || bytes > raw + size - len))
		abort();
	for (size_t i = 0; i < len; i++)
		sum += bytes[i];
	sum += attar_field_u64(f, raw, size) + strlen(f->name) + strlen(f->type);
	bytes = (const uint8_t *)attar_field_string(f, raw, size, &len);
	if (bytes && (bytes < raw || bytes + len > raw + size))
		abort();
	read_numbers(f, raw, size);
}

static void print(const struct attar_format *f, const uint8_t *raw, size_t size)
{
	char line[256], cut[16];
	size_t n = attar_format_print(f, raw, size, line, sizeof(line));

	if (strlen(line) >= sizeof(line) || (n < sizeof(line) && strlen(line) > n))
		abort();
	attar_format_print(f, raw, size, cut, sizeof(cut));
	attar_format_print(f, raw, size, NULL, 0);
	if (strncmp(cut, line, 8) && strlen(line) >= sizeof(cut))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, 0, size);
	size_t text_len = nul ? (size_t)(nul - data) : size,
	       raw_size = nul ? size - text_len - 1 : 0;
	struct attar_format *f = NULL;
	uint8_t *raw = malloc(raw_size ? raw_size : 1);
	const struct attar_field *found;

	if (raw && attar_format_parse("sys", (const char *)data, text_len, &f) == 0) {
		if (raw_size)
			memcpy(raw, nul + 1, raw_size);
		for (size_t i = 0; i < f->n_fields; i++) {
			if (attar_format_need(f, f->fields[i].name, &found) < 0)
				abort();
			read_field(&f->fields[i], raw, raw_size);
		}
		print(f, raw, raw_size);
	}
	attar_format_free(f);
	free(raw);
	return 0;
}
