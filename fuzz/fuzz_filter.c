/* SPDX-License-Identifier: MIT */
/*
 * A filter, a NUL, and the bytes of a record: parses the filter and applies it to the record and to
 * its first half. Nothing may be read outside the record; the sanitizer detects reads beyond its
 * end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attar/base.h"
#include "expr/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] = "name: all\nID: 1\nformat:\n"
			   "\tfield:u8 byte;\toffset:0;\tsize:1;\tsigned:0;\n"
			   "\tfield:s16 half;\toffset:2;\tsize:2;\tsigned:1;\n"
			   "\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
			   "\tfield:u64 big;\toffset:8;\tsize:8;\tsigned:0;\n"
			   "\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
			   "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc char[] rel;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:__rel_loc u32 loc;\toffset:28;\tsize:4;\tsigned:0;\n"
			   "\tfield:struct f64 real;\toffset:32;\tsize:8;\tsigned:0;\n"
			   "\tfield:struct f32 small;\toffset:40;\tsize:4;\tsigned:0;\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct attar_format *format;
	const uint8_t *nul = memchr(data, 0, size);
	size_t raw_size = nul ? size - (size_t)(nul - data) - 1 : 0;
	struct filter *filter;
	uint8_t *raw;

	if (!nul || (!format && attar_format_parse("sys", text, strlen(text), &format) < 0))
		return 0;
	if (filter_parse((const char *)data, format, &filter) < 0) {
		if (!*attar_error())
			abort();
		return 0;
	}
	raw = malloc(raw_size ? raw_size : 1);
	if (raw) {
		if (raw_size)
			memcpy(raw, nul + 1, raw_size);
		filter_keeps(filter, &(struct attar_expr_record){.raw = raw, .raw_size = raw_size});
		filter_keeps(
			filter, &(struct attar_expr_record){.raw = raw + raw_size - raw_size / 2,
					.raw_size = raw_size / 2});
	}
	free(raw);
	filter_free(filter);
	return 0;
}
