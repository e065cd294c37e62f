/* SPDX-License-Identifier: MIT */
/* The locations of the USDT probes of a file, for callers that list them. */
#include "attar/private/event.h"
#include "base/check_arg.h"
#include "elf/elf.h"
#include "event/probe.h"
#include "event/usdt_event.h"

/* Takes FILE, FILE:PROVIDER or FILE:PROVIDER:NAME; what is not named matches everything. */
static int read_request(const char *text, struct usdt_request *request)
{
	const char *end;
	int r = usdt_request_read(text, request, &end);

	if (r < 0)
		return r;
	if (!request->file) { /* a name without a slash */
		request->file = request->provider;
		request->provider = request->name;
		request->name = NULL;
	}
	if (!request->provider)
		request->provider = strdup("*");
	if (!request->name)
		request->name = strdup("*");
	if (*end || !request->file)
		return attar_fail(-EINVAL, "the syntax is usdt:FILE[:PROVIDER[:NAME]]");
	return request->provider && request->name ? 0 : base_oom();
}

int usdt_none_found(const char *path, const char *provider, const char *name)
{
	struct elf_file file;
	int r = elf_file_open(&file, path);

	if (r < 0)
		return r == -ENOEXEC ? -EINVAL : r;
	elf_file_close(&file);
	if (!strcmp(provider, "*") && !strcmp(name, "*"))
		return attar_fail(-ENOENT, "%s has no USDT probes", CLIP(path));
	return attar_fail(-ENOENT,
		"%s has no USDT probe '%s:%s'" ATTAR_FIX "see attar list usdt:FILE", CLIP(path),
		CLIP(provider), CLIP(name));
}

static int read_table(const struct usdt_request *request, struct usdt_table *table)
{
	char *path _cleanup_free_ = NULL;
	int r = probe_find_file(request->file, &path);

	if (r == 0)
		r = usdt_table_add(table, path, request->provider, request->name);
	if (r == 0 && !table->locations.n)
		r = usdt_none_found(path, request->provider, request->name);
	usdt_table_sort(table);
	return r;
}

static int give(
	const char *file, const struct usdt_location *at, attar_usdt_location_fn *fn, void *ctx)
{
	char *event _cleanup_free_ = usdt_event_name(file, at);
	const struct attar_usdt_location location = {.event = event,
		.offset = at->offset,
		.semaphore = at->ref,
		.arguments = at->arguments,
		.operands = at->operands};

	return event ? fn(ctx, &location) : base_oom();
}

int usdt_each_location(const char *text, attar_usdt_location_fn *fn, void *ctx)
{
	CHECK_ARG(text, "text");
	CHECK_ARG(fn, "fn");

	struct usdt_request request = {0};
	struct usdt_table table = {0};
	int r = read_request(text, &request);

	if (r == 0)
		r = read_table(&request, &table);
	for (size_t i = 0; i < table.locations.n && r == 0; i++)
		r = give(request.file, &table.locations.at[i], fn, ctx);
	usdt_table_done(&table);
	usdt_request_done(&request);
	return r;
}
