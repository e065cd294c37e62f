/* SPDX-License-Identifier: MIT */
#include "cli/list_usdt.h"

#include <stdio.h>

#include "base/base.h"
#include "cli/cli.h"
#include "event/probe.h"
#include "event/usdt_event.h"

static const char prefix[] = "usdt:";

struct listing {
	struct usdt_request request;
	struct usdt_table table;
	struct attar_report *report;
	bool names, verbose;
};

bool list_usdt_is(const char *pattern)
{
	return !strncmp(pattern, prefix, strlen(prefix));
}

/* Takes FILE, FILE:PROVIDER or FILE:PROVIDER:NAME; what is not named matches everything. */
static int read_request(const char *pattern, struct usdt_request *request)
{
	const char *text = pattern + strlen(prefix), *end;
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
		return attar_fail(-EINVAL, "the syntax is attar list usdt:FILE[:PROVIDER[:NAME]]");
	return request->provider && request->name ? 0 : base_oom();
}

static int read_table(struct listing *l)
{
	char *path _cleanup_free_ = NULL;
	int r = probe_find_file(l->request.file, &path);

	if (r == 0)
		r = usdt_table_add(&l->table, path, l->request.provider, l->request.name);
	if (r == 0 && !l->table.locations.n)
		r = attar_fail(-ENOENT, "%s has no USDT probe '%s:%s'", CLIP(path),
			CLIP(l->request.provider), CLIP(l->request.name));
	usdt_table_sort(&l->table);
	return r;
}

static void add_columns(const struct listing *l, struct attar_section *s)
{
	attar_section_column(s, "name", ATTAR_UNIT_TEXT);
	attar_section_column(s, l->verbose ? "offset" : "locations",
		l->verbose ? ATTAR_UNIT_HEX : ATTAR_UNIT_COUNT);
	attar_section_column(s, "semaphore", l->verbose ? ATTAR_UNIT_HEX : ATTAR_UNIT_TEXT);
	attar_section_column(s, "arguments", ATTAR_UNIT_TEXT);
	if (l->verbose)
		attar_section_column(s, "operands", ATTAR_UNIT_TEXT);
}

static void add_row(
	const struct listing *l, struct attar_section *s, const struct usdt_location *at, size_t n)
{
	char *name _cleanup_free_ = usdt_event_name(l->request.file, at);

	if (l->names) {
		puts(name ? name : "");
		return;
	}
	attar_section_row(s);
	attar_cell_text(s, name);
	attar_cell_u64(s, l->verbose ? at->offset : n);
	if (!l->verbose)
		attar_cell_text(s, at->ref ? "yes" : "no");
	else if (at->ref)
		attar_cell_u64(s, at->ref);
	else
		attar_cell_none(s);
	attar_cell_text(s, at->arguments);
	if (l->verbose)
		attar_cell_text(s, at->operands);
}

static bool is_same_probe(const struct usdt_location *a, const struct usdt_location *b)
{
	return a->provider == b->provider && a->name == b->name;
}

static void fill(const struct listing *l)
{
	struct attar_section *s = l->names ? NULL : attar_report_table(l->report, "USDT");
	const struct usdt_location *at = l->table.locations.at;
	size_t n;

	if (s)
		add_columns(l, s);
	for (size_t i = 0; i < l->table.locations.n; i += n) {
		for (n = 1; i + n < l->table.locations.n && is_same_probe(&at[i], &at[i + n]) &&
			    (l->names || (!l->verbose && at[i].arguments == at[i + n].arguments));)
			n++;
		add_row(l, s, &at[i], n);
	}
}

int list_usdt(const char *pattern, bool json, bool names, bool verbose)
{
	struct listing l = {.names = names, .verbose = verbose};
	int r = read_request(pattern, &l.request), status;

	if (r == 0)
		r = read_table(&l);
	l.report = attar_report_new("list");
	if (r == 0 && !l.report)
		r = base_oom();
	if (r == 0)
		fill(&l);
	status = r < 0   ? report_error(status_of(r))
		 : names ? print_end()
			 : print_report(l.report, json, true);
	attar_report_free(l.report);
	usdt_table_done(&l.table);
	usdt_request_done(&l.request);
	return status;
}
