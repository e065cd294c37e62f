/* SPDX-License-Identifier: MIT */
#include "cli/commands/list_usdt.h"

#include <stdio.h>

#include "attar/event.h"
#include "attar/private/event.h"
#include "base/base.h"
#include "base/vec.h"
#include "cli/cli.h"

static const char prefix[] = "usdt:";

/* A copy of a struct attar_usdt_location. */
struct location {
	char *event, *arguments, *operands;
	uint64_t offset, semaphore;
};

struct listing {
	VEC(struct location) locations;
	struct attar_report *report;
	bool names, verbose;
};

bool list_usdt_is(const char *pattern)
{
	return !strncmp(pattern, prefix, strlen(prefix));
}

static int list_usdt_keep(void *ctx, const struct attar_usdt_location *location)
{
	struct listing *l = ctx;
	struct location *copy = vec_add(&l->locations);

	if (!copy)
		return base_oom();
	*copy = (struct location){.event = strdup(location->event),
		.arguments = strdup(location->arguments),
		.operands = strdup(location->operands),
		.offset = location->offset,
		.semaphore = location->semaphore};
	return copy->event && copy->arguments && copy->operands ? 0 : base_oom();
}

static void list_usdt_done(struct listing *l)
{
	vec_each (&l->locations, it) {
		free(it->event);
		free(it->arguments);
		free(it->operands);
	}
	vec_done(&l->locations);
	attar_report_free(l->report);
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
	const struct listing *l, struct attar_section *s, const struct location *at, size_t n)
{
	if (l->names) {
		puts(at->event);
		return;
	}
	attar_section_row(s);
	attar_cell_text(s, at->event);
	attar_cell_u64(s, l->verbose ? at->offset : n);
	if (!l->verbose)
		attar_cell_text(s, at->semaphore ? "yes" : "no");
	else if (at->semaphore)
		attar_cell_u64(s, at->semaphore);
	else
		attar_cell_none(s);
	attar_cell_text(s, at->arguments);
	if (l->verbose)
		attar_cell_text(s, at->operands);
}

/* Whether both are in one row. */
static bool is_same(const struct listing *l, const struct location *a, const struct location *b)
{
	return !strcmp(a->event, b->event) &&
	       (l->names || (!l->verbose && !strcmp(a->arguments, b->arguments)));
}

static void list_usdt_fill(const struct listing *l)
{
	struct attar_section *s = l->names ? NULL : attar_report_table(l->report, "USDT");
	const struct location *at = l->locations.at;
	size_t n;

	if (s)
		add_columns(l, s);
	for (size_t i = 0; i < l->locations.n; i += n) {
		for (n = 1; i + n < l->locations.n && is_same(l, &at[i], &at[i + n]);)
			n++;
		add_row(l, s, &at[i], n);
	}
}

int list_usdt(const char *pattern, bool json, bool names, bool verbose)
{
	struct listing l = {.names = names, .verbose = verbose};
	int r = usdt_each_location(pattern + strlen(prefix), list_usdt_keep, &l), status;

	l.report = attar_report_new("list");
	if (r == 0 && !l.report)
		r = base_oom();
	if (r == 0)
		list_usdt_fill(&l);
	status = r < 0   ? report_error(status_of(r))
		 : names ? print_end()
			 : print_report(l.report, json, true);
	list_usdt_done(&l);
	return status;
}
