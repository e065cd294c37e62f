/* SPDX-License-Identifier: MIT */
#include "stream/expr_names.h"

#include <string.h>

#include "stream/stream.h"

/* Copies a string of up to max bytes; NULL has none. */
static size_t expr_name_copy(const char *name, char *ret_text, size_t max)
{
	size_t n = name ? strnlen(name, max) : 0;

	memcpy(ret_text, name ? name : "", n);
	return n;
}

size_t expr_name_code(
	struct attar_symbols *symbols, attar_location location, char *ret_text, size_t max)
{
	struct attar_symbol symbol;

	if (attar_symbols_resolve(symbols, location, &symbol) < 0)
		return 0;
	return expr_name_copy(symbol.name, ret_text, max);
}

size_t expr_name_user(struct attar_symbols *symbols, const struct attar_stream *stream, pid_t tid,
	uint64_t address, char *ret_text, size_t max)
{
	struct attar_thread *thread = stream ? stream_thread(stream, tid) : NULL;

	return thread ? expr_name_code(symbols, attar_thread_locate(thread, address), ret_text, max)
		      : 0;
}

size_t expr_name_comm(const struct attar_stream *stream, pid_t tid, char *ret_text, size_t max)
{
	struct attar_thread *thread = stream ? stream_thread(stream, tid) : NULL;

	return expr_name_copy(thread ? thread->comm : NULL, ret_text, max);
}
