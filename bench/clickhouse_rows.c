/* SPDX-License-Identifier: MIT */
/*
 * clickhouse_rows ADDRESS ROWS: draws reports of 1024 event lines, as `attar trace` does, on the
 * sink for ClickHouse, and waits until all rows are stored.
 */
#include <stdio.h>
#include <stdlib.h>

#include "attar/attar-run.h"
#include "attar/private/report.h"

enum { LINES = 1024, TASKS = 64 };

#define START_NS 1700000000000000000ULL /* the rows are of one day */

static void add_line(struct attar_section *s, uint64_t n)
{
	char text[64];

	attar_section_row(s);
	attar_cell_u64(s, START_NS + n * 1000);
	snprintf(text, sizeof(text), "worker/%u", (unsigned)(n * 7 % TASKS));
	attar_cell_text(s, text);
	attar_cell_u64(s, 1000 + n * 7 % TASKS);
	attar_cell_u64(s, n % 8);
	attar_cell_text(s, "sched:sched_wakeup");
	snprintf(text, sizeof(text), "comm=worker pid=%u prio=120 target_cpu=%03u",
		(unsigned)(n % 32768), (unsigned)(n % 8));
	attar_cell_text(s, text);
}

static int draw(struct attar_renderer *renderer, uint64_t from, uint64_t to)
{
	struct attar_report *report = attar_report_new("bench");
	struct attar_section *s = attar_report_events(report, "events");
	int e;

	attar_section_column(s, "time", ATTAR_UNIT_TIME);
	attar_section_column(s, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(s, "tid", ATTAR_UNIT_ID);
	attar_section_column(s, "cpu", ATTAR_UNIT_ID);
	attar_section_column(s, "event", ATTAR_UNIT_TEXT);
	attar_section_column(s, "fields", ATTAR_UNIT_TEXT);
	for (uint64_t n = from; n < to; n++)
		add_line(s, n);
	e = attar_renderer_draw(renderer, report);
	attar_report_free(report);
	return e;
}

int main(int argc, char **argv)
{
	struct attar_render_opts opts = {.size = sizeof(opts)};
	struct attar_renderer *renderer;
	struct attar_delivery delivery = {0};
	uint64_t rows = argc == 3 ? strtoull(argv[2], NULL, 10) : 0;
	int e;

	opts.address = argc == 3 ? argv[1] : NULL;
	e = attar_renderer_new("clickhouse", NULL, &opts, &renderer);
	for (uint64_t n = 0; n < rows && e == 0; n += LINES)
		e = draw(renderer, n, n + LINES < rows ? n + LINES : rows);
	if (e == 0)
		renderer_get_delivery(renderer, true, &delivery);
	if (e < 0 || delivery.stored != rows) {
		fprintf(stderr, "clickhouse_rows: %llu of %llu rows were stored: %s\n",
			(unsigned long long)delivery.stored, (unsigned long long)rows,
			attar_error());
		return 1;
	}
	attar_renderer_free(renderer);
	return 0;
}
