/* SPDX-License-Identifier: MIT */
/*
 * The name and fields of an event as a program registers them ("order_placed u64 id; f64 price"):
 * the collector makes a format of tracefs of them, which attar parses as one of the kernel.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "attar/format.h"
#include "collector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MAX = 512 }; /* of an event in shared memory */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[TEXT_MAX] = "", *fields, *out;
	struct attar_format *format;
	int n;

	memcpy(text, data, size < sizeof(text) - 1 ? size : sizeof(text) - 1);
	fields = strchr(text, ' ');
	if (fields)
		*fields++ = '\0';
	n = perfume_collector_format(text, fields ? fields : "", 1, NULL, 0);
	if (n < 0)
		return 0;
	out = malloc((size_t)n + 1); /* exactly */
	if (!out ||
		perfume_collector_format(text, fields ? fields : "", 1, out, (size_t)n + 1) != n ||
		strlen(out) != (size_t)n)
		abort();
	if (attar_format_parse("perfume", out, (size_t)n, &format) == 0)
		attar_format_free(format);
	attar_error_clear();
	free(out);
	return 0;
}
