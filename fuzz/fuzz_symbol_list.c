/* SPDX-License-Identifier: MIT */
/*
 * The kernel's names that a sender gives to receivers: as the packed bytes, and as the text that
 * they contain. Addresses are looked up in them.
 */
#include <stdlib.h>
#include <zlib.h>

#include "base/base.h"
#include "peer/symbol_list.h"
#include "symbol/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const void *packed, size_t n)
{
	static const uint64_t addresses[] = {
		0, 1, 0xffffffff81000000, 0xffffffff81000010, 0xffffffffc0000000, UINT64_MAX};
	const struct attar_symbols_opts opts = {.size = sizeof(opts), .no_kernel = true};
	struct buf text _cleanup_(buf_done) = {0};
	struct attar_symbols *symbols;
	struct attar_symbol symbol;
	int r = symbol_list_unpack(packed, n, &text);

	if (attar_symbols_new(&opts, &symbols) < 0 || (r < 0 && !*attar_error()))
		abort();
	if (r == 0 && symbols_set_kernel(symbols, buf_text(&text), text.len) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
			attar_symbols_resolve(
				symbols, attar_location_kernel(addresses[i]), &symbol);
	attar_symbols_free(symbols);
	attar_error_clear();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uLongf n = compressBound(size);
	Bytef *packed = malloc(n);

	take(data, size);
	if (packed && compress2(packed, &n, data, size, 1) == Z_OK)
		take(packed, n);
	free(packed);
	return 0;
}
