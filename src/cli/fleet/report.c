/* SPDX-License-Identifier: MIT */
/* The reports of all hosts as one, with a table of the hosts. */
#include "attar/private/merge.h"

#include "cli/fleet/fleet.h"

static const char *const state_names[] = {[FLEET_CONNECTS] = "connecting",
	[FLEET_COPIES] = "copying",
	[FLEET_READY] = "ready",
	[FLEET_RUNS] = "running",
	[FLEET_ENDED] = "ended",
	[FLEET_FAILED] = "failed",
	[FLEET_TIMED_OUT] = "timed out"};

/* ---- the table of hosts ---- */

static void add_host(struct attar_section *table, const struct fleet_host *h)
{
	attar_section_row(table);
	attar_cell_text(table, h->name);
	attar_cell_text(table, state_names[h->state]);
	attar_cell_u64(table, h->n_reports);
	attar_cell_u64(table, h->seen);
	attar_cell_u64(table, h->lost);
	if (h->error_ns == UINT64_MAX || h->is_pulled) {
		attar_cell_none(table);
		attar_cell_none(table);
	} else {
		attar_cell_i64(table, h->offset);
		attar_cell_u64(table, h->error_ns);
	}
	if (h->has_started)
		attar_cell_i64(table, h->late);
	else
		attar_cell_none(table);
	attar_cell_text(table, fleet_host_is_live(h) ? "" : h->reason);
}

static void add_hosts(const struct fleet *f, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, FLEET_TABLE);

	attar_section_column(table, "host", ATTAR_UNIT_TEXT);
	attar_section_column(table, "state", ATTAR_UNIT_TEXT);
	attar_section_column(table, "reports", ATTAR_UNIT_COUNT);
	attar_section_column(table, "seen", ATTAR_UNIT_COUNT);
	attar_section_column(table, "lost", ATTAR_UNIT_COUNT);
	attar_section_column(table, "clock offset", ATTAR_UNIT_NS);
	attar_section_column(table, "clock error", ATTAR_UNIT_NS);
	attar_section_column(table, "start delay", ATTAR_UNIT_NS);
	attar_section_column(table, "reason", ATTAR_UNIT_TEXT);
	vec_each (&f->hosts, h) {
		add_host(table, h);
		if (h->skipped)
			attar_report_remark(report, "%s: %llu report%s too late and left out",
				h->name, (unsigned long long)h->skipped,
				h->skipped == 1 ? " was" : "s were");
	}
}

static unsigned count_failures(const struct fleet *f)
{
	unsigned n = 0;

	vec_each (&f->hosts, h)
		n += h->state > FLEET_ENDED;
	return n;
}

/* ---- reports ---- */

typedef VEC(struct attar_merge_part) part_list;

static bool is_lines(const struct attar_report *report)
{
	const struct attar_section *first = attar_report_get_section(report, 0);

	return first && attar_section_get_kind(first) == ATTAR_SECTION_EVENTS;
}

/* Moves the first report of a host. */
static int take_part(struct fleet_host *h, part_list *ret_parts)
{
	struct attar_merge_part part = {h->name, h->reports.at[0], h->offset};

	if (vec_push(ret_parts, part) < 0)
		return -ENOMEM;
	h->reports.n--;
	memmove(h->reports.at, h->reports.at + 1, h->reports.n * sizeof(*h->reports.at));
	h->waiting_since = base_now();
	return 0;
}

/* The first report of each host that has one. */
static int take_parts(struct fleet *f, part_list *ret_parts)
{
	int r = 0;

	vec_each (&f->hosts, h) {
		if (h->reports.n && r == 0)
			r = take_part(h, ret_parts);
		else
			h->behind += fleet_host_is_live(h);
	}
	return r;
}

/* Event lines, which do not wait for other hosts. */
static int take_lines(struct fleet *f, part_list *ret_parts)
{
	int r = 0;

	vec_each (&f->hosts, h)
		if (h->reports.n && is_lines(h->reports.at[0]) && r == 0)
			r = take_part(h, ret_parts);
	return r;
}

/*
 * The end of the latest report by the clock of this host, and the longest interval. A whole run
 * begins with the earliest report: time lines show nothing before.
 */
static void set_span(const part_list *parts, bool is_whole, struct attar_report *report)
{
	uint64_t begin = UINT64_MAX, time = 0, interval = 0;

	vec_each (parts, part) {
		uint64_t start, end, one_interval;

		attar_report_get_interval(part->report, &end, &one_interval);
		end -= (uint64_t)part->offset;
		start = end - MIN(one_interval, end);
		begin = MIN(begin, start);
		time = MAX(time, end);
		interval = MAX(interval, one_interval);
	}
	if (!parts->n)
		time = base_realtime();
	else if (is_whole)
		interval = time - begin;
	attar_report_interval(report, time, interval);
}

static int report_draw(struct fleet *f, const part_list *parts, bool lines)
{
	struct attar_report *report = attar_report_new(attar_run_profiler(f->run)->name);
	bool intervals = attar_run_interval(f->run) != 0;
	int r;

	if (!report)
		return base_oom();
	set_span(parts, !intervals && !lines, report);
	r = merge_reports(parts->at, parts->n, f->by_host, report);
	if (!lines) {
		add_hosts(f, report);
		f->failures_shown = count_failures(f);
	}
	if (r == 0)
		r = outputs_draw(&f->outputs, report,
			intervals || lines ? ATTAR_SCOPE_INTERVAL : ATTAR_SCOPE_WHOLE, intervals);
	attar_report_free(report);
	return r;
}

/* *ret_drawn (may be NULL) is whether there were reports. */
static int draw_next(struct fleet *f, bool lines, bool *ret_drawn)
{
	part_list all = {0};
	int r = lines ? take_lines(f, &all) : take_parts(f, &all);

	if (r == 0 && (all.n || !lines))
		r = report_draw(f, &all, lines);
	if (ret_drawn)
		*ret_drawn = all.n > 0;
	vec_each (&all, part)
		attar_report_free((struct attar_report *)(uintptr_t)part->report);
	vec_done(&all);
	return r;
}

static int draw_lines(struct fleet *f)
{
	bool drawn = true;
	int r = 0;

	while (r == 0 && drawn)
		r = draw_next(f, true, &drawn);
	return r;
}

/* Whether all hosts that can have sent their next report, or some have waited too long for them. */
static bool is_complete(const struct fleet *f)
{
	bool any = false, all = true, late = false;

	vec_each (&f->hosts, h) {
		any |= h->reports.n > 0;
		all &= h->reports.n > 0 || !fleet_host_is_live(h);
		late |= h->reports.n > 0 && base_now() - h->waiting_since > f->timeout;
	}
	return any && (all || late);
}

/* Without intervals, a host has one report, and hosts may take a different time. */
int fleet_report_turn(struct fleet *f, bool end)
{
	bool intervals = attar_run_interval(f->run) != 0, drawn = false;
	int r = draw_lines(f);

	if (!end && !intervals)
		return r;
	while (r == 0 && is_complete(f) && !(drawn && !intervals)) {
		r = draw_next(f, false, NULL);
		drawn = true;
	}
	if (r == 0 && end && (intervals ? f->failures_shown != count_failures(f) : !drawn))
		r = draw_next(f, false, NULL);
	return r;
}
