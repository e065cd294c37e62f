/* SPDX-License-Identifier: MIT */
/*
 * Types of a kernel (BTF) and what a probe fetches by them: "FUNCTION\0EXPRESSION\0" and the types.
 * What tracefs reads must be one word.
 */
#include "event/fetch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compile(const struct btf *btf, const char *function, const char *text)
{
	const struct fetch_names names = {.btf = btf, .function = function};
	struct buf fetch _cleanup_(buf_done) = {0};
	const char *wrong;

	if (fetch_is_c(text, strlen(text)) &&
		fetch_compile(&names, text, strlen(text), &fetch, &wrong) == 0 &&
		memchr(fetch.data, '\0', fetch.len))
		abort();
	attar_error_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *function = (const char *)data, *end = function + size;
	const char *text = function + strnlen(function, size) + 1;
	const char *types = text < end ? text + strnlen(text, (size_t)(end - text)) + 1 : end;
	struct buf bytes = {0};
	struct btf btf;

	if (text >= end || types >= end)
		return 0;
	buf_add(&bytes, types, (size_t)(end - types));
	if (btf_take(&btf, bytes, NULL) == 0)
		compile(&btf, function, text);
	attar_error_clear();
	btf_done(&btf);
	return 0;
}
