/* SPDX-License-Identifier: MIT */
/*
 * An expression, a NUL, and the bytes of a record: compiles the expression as a value, a key and a
 * condition, and evaluates it for the record and for its first half. Nothing may be read outside
 * the record; the sanitizer detects reads beyond its end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attar/expr.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] = "name: all\nID: 1\nformat:\n"
			   "\tfield:u8 byte;\toffset:0;\tsize:1;\tsigned:0;\n"
			   "\tfield:s16 half;\toffset:2;\tsize:2;\tsigned:1;\n"
			   "\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
			   "\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
			   "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc char[] rel;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc u32[] list;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:struct f64 real;\toffset:32;\tsize:8;\tsigned:0;\n"
			   "\tfield:struct f32 small;\toffset:40;\tsize:4;\tsigned:0;\n"
			   "\tfield:u32 args[4];\toffset:44;\tsize:16;\tsigned:0;\n"
			   "\tfield:struct x thing;\toffset:60;\tsize:3;\tsigned:0;\n";

static const struct attar_expr_variable variables[] = {
	{.name = "key", .is_signed = true}, {.name = "label", .is_text = true}};
static const struct attar_expr_value values[] = {{.number = 7}, {.bytes = "abc", .len = 3}};

static size_t name_of(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	size_t n = number % (max + 1);

	memset(ret_text, 'x', n);
	return n;
}

static void output(void *ctx, const char *bytes, size_t n)
{
	static volatile char last;

	for (size_t i = 0; i < n; i++)
		last = bytes[i];
	(void)last;
}

static void evaluate(struct attar_expr *e, const uint8_t *raw, size_t size)
{
	struct attar_expr_record record = {
		.raw = raw, .raw_size = size, .time = 5, .cpu = -1, .variables = values};
	char key[ATTAR_EXPR_KEY_MAX], line[64];
	struct attar_expr_value value;
	size_t n;

	attar_expr_eval(e, &record, &value);
	output(NULL, value.bytes, value.len);
	attar_expr_is_true(e, &record);
	attar_expr_number(e, &record);
	n = attar_expr_key(e, &record, key, attar_expr_key_size(e));
	if (n > attar_expr_key_size(e) || attar_expr_key_size(e) > sizeof(key))
		abort();
	for (size_t i = 0; n && i < attar_expr_columns(e); i++)
		if (!attar_expr_key_value(e, key, n, i, &value))
			abort();
	attar_expr_key_format(e, key, n, line, sizeof(line));
	attar_expr_key_format(e, raw, size, line, sizeof(line));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const unsigned flags[] = {0, ATTAR_EXPR_KEY, ATTAR_EXPR_CONDITION};
	static struct attar_format *format;
	const uint8_t *nul = memchr(data, 0, size);
	size_t raw_size = nul ? size - (size_t)(nul - data) - 1 : 0;
	uint8_t *raw;

	if (!nul || (!format && attar_format_parse("sys", text, strlen(text), &format) < 0))
		return 0;
	raw = malloc(raw_size ? raw_size : 1);
	for (size_t i = 0; raw && i < 3; i++) {
		struct attar_expr_opts opts = {.size = sizeof(opts),
			.flags = flags[i],
			.n_variables = 2,
			.variables = variables,
			.ksymbol = name_of,
			.usymbol = name_of,
			.comm_get = name_of,
			.output = output};
		struct attar_expr *e;

		if (attar_expr_new((const char *)data, format, &opts, &e) < 0) {
			if (!*attar_error())
				abort();
			continue;
		}
		if (raw_size)
			memcpy(raw, nul + 1, raw_size);
		if (flags[i] == ATTAR_EXPR_KEY ||
			attar_expr_get_column(e, 0)->kind != ATTAR_EXPR_BYTES) {
			evaluate(e, raw, raw_size);
			evaluate(e, raw + raw_size - raw_size / 2, raw_size / 2);
		}
		attar_expr_free(e);
	}
	free(raw);
	return 0;
}
