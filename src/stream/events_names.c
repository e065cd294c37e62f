/* SPDX-License-Identifier: MIT */
/* Names of addresses and threads, for filters and print formats. */
#include "stream/events_internal.h"
#include "stream/expr_names.h"

static size_t ksymbol(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct stream_events *e = ctx;

	return expr_name_code(e->symbols, attar_location_kernel(number), ret_text, max);
}

static size_t usymbol(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct stream_events *e = ctx;

	return expr_name_user(e->symbols, e->stream, record->tid, number, ret_text, max);
}

static size_t comm_get(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	struct stream_events *e = ctx;

	return expr_name_comm(e->stream, (pid_t)number, ret_text, max);
}

static const char *resolved_module(const char *dso, char *ret_name, size_t max)
{
	size_t n = strlen(dso);

	if (n < 2 || n - 2 >= max || dso[0] != '[' || !strcmp(dso, "[kernel.kallsyms]"))
		return NULL;
	memcpy(ret_name, dso + 1, n - 2);
	ret_name[n - 2] = '\0';
	return ret_name;
}

/* For attar_format_print() with formats of the catalog. */
bool events_name_function(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	static __thread char module[64];
	struct stream_events *e = ctx;
	struct attar_symbol symbol;

	if ((int64_t)address >= 0 ||
		attar_symbols_resolve(e->symbols, attar_location_kernel(address), &symbol) < 0)
		return false;
	*ret_name = (struct attar_kernel_name){.name = symbol.mangled,
		.module = resolved_module(symbol.dso, module, sizeof(module)),
		.start = address - symbol.offset};
	return true;
}

void events_set_expr(struct stream_events *e)
{
	e->expr = (struct attar_expr_opts){.size = sizeof(e->expr),
		.ctx = e,
		.ksymbol = ksymbol,
		.usymbol = usymbol,
		.comm_get = comm_get};
}
