/* SPDX-License-Identifier: MIT */
/*
 * Metrics for Prometheus, as its text format (version 0.0.4) and as OpenMetrics 1.0. Each report
 * replaces the previous one: cells of tables are gauges of the newest interval; histograms and the
 * numbers of the notes are summed over all reports, as counters have to be.
 *
 * The number of series is bounded: rows of a table beyond a limit are summed in a row "other",
 * pids and tids are left out, and rows that are equal without them are one.
 */
#include "report/sinks/prometheus/prometheus.h"

#include <math.h>

static void draw_counter(struct attar_renderer *r, const char *name, const char *help, uint64_t n)
{
	struct buf total _cleanup_(buf_done) = {0};

	buf_printf(&total, "%s_total", name);
	metrics_add_head(r, r->format == &render_openmetrics ? name : buf_text(&total), "counter",
		help, ATTAR_UNIT_COUNT);
	metrics_add_sample(&r->out, buf_text(&total), NULL, (double)n);
}

static void draw_gauge(struct attar_renderer *r, const char *name, const char *help, double value,
	enum attar_unit unit)
{
	metrics_add_head(r, name, "gauge", help, unit);
	metrics_add_sample(&r->out, name, NULL, value);
}

static void add_notes(struct metrics *m, const struct attar_notes *notes)
{
	m->totals.seen += notes->seen;
	m->totals.lost += notes->lost;
	m->totals.lost_side_band += notes->lost_side_band;
	m->totals.missing += notes->missing;
	m->totals.throttled += notes->throttled;
}

static void draw_notes(struct attar_renderer *r, const struct attar_report *report)
{
	const struct counters *t = &((struct metrics *)r->state)->totals;

	draw_counter(r, "attar_reports", "Reports since the start.", t->reports);
	draw_gauge(r, "attar_report_time_seconds", "End of the newest report, since 1970.",
		metrics_scaled(ATTAR_UNIT_NS, (double)report->time), ATTAR_UNIT_NS);
	draw_gauge(r, "attar_interval_seconds", "Duration of the newest report.",
		metrics_scaled(ATTAR_UNIT_NS, (double)report->interval_ns), ATTAR_UNIT_NS);
	if (!report->has_notes)
		return;
	draw_counter(r, "attar_events_seen", "Events that reached the profiler.", t->seen);
	draw_counter(r, "attar_events_lost", "Events that the kernel dropped.", t->lost);
	draw_counter(r, "attar_events_missing",
		"Events that the kernel counted but did not deliver.", t->missing);
	draw_counter(r, "attar_side_band_lost", "Lost records of names and mappings.",
		t->lost_side_band);
	draw_counter(
		r, "attar_throttled", "Times that the kernel throttled an event.", t->throttled);
	if (isfinite(report->notes.self_cpu))
		draw_gauge(r, "attar_self_cpu_ratio", "CPU time of attar, as a share of one CPU.",
			report->notes.self_cpu, ATTAR_UNIT_PERCENT);
	draw_gauge(r, "attar_self_memory_bytes", "Peak resident memory of attar.",
		(double)report->notes.self_rss, ATTAR_UNIT_BYTES);
}

static void draw_info(struct attar_renderer *r, const struct attar_report *report)
{
	struct buf labels _cleanup_(buf_done) = {0};
	bool open = r->format == &render_openmetrics;

	metrics_add_label(&labels, "profiler", report_text(report, report->profiler));
	metrics_add_label(&labels, "version", ATTAR_VERSION);
	metrics_add_head(r, open ? "attar" : "attar_info", open ? "info" : "gauge",
		"The profiler and its version.", ATTAR_UNIT_COUNT);
	metrics_add_sample(&r->out, "attar_info", &labels, 1);
}

static void close_metrics(struct attar_renderer *r)
{
	struct metrics *m = r->state;

	if (!m)
		return;
	vec_each (&m->histograms, it)
		free(it->name);
	vec_done(&m->histograms);
	map_done(&m->names);
	free(m);
	r->state = NULL;
}

static int add_report(struct metrics *m, const struct attar_report *report)
{
	int e = 0;

	m->totals.reports++;
	if (report->has_notes)
		add_notes(m, &report->notes);
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_HISTOGRAM && e == 0)
			e = metrics_add_histogram(m, *it);
	return e;
}

static int prometheus_draw(struct attar_renderer *r, const struct attar_report *report)
{
	int e;

	if (!r->state && !(r->state = calloc(1, sizeof(struct metrics))))
		return base_oom();
	map_reset(&((struct metrics *)r->state)->names);
	e = add_report(r->state, report);
	draw_info(r, report);
	draw_notes(r, report);
	report_each_section (report, it) {
		if ((*it)->kind == ATTAR_SECTION_TABLE && e == 0)
			e = metrics_table(r, *it);
		else if ((*it)->kind == ATTAR_SECTION_TIME_SERIES)
			metrics_time_series(r, *it);
	}
	for (enum attar_unit unit = 0; unit <= ATTAR_UNIT_CLOCK; unit++)
		metrics_histograms(r, report, unit);
	if (r->format == &render_openmetrics)
		buf_str(&r->out, "# EOF\n");
	return e;
}

enum {
	SECTIONS = 1 << ATTAR_SECTION_TABLE | 1 << ATTAR_SECTION_HISTOGRAM |
		   1 << ATTAR_SECTION_TIME_SERIES,
};

const struct render_format render_prometheus = {
	.sink = {.name = "prometheus",
		.extension = "prom",
		.media_type = "text/plain; version=0.0.4; charset=utf-8",
		.sections = SECTIONS,
		.has_notes = true,
		.replaces = true},
	.draw = prometheus_draw,
	.close = close_metrics,
};

const struct render_format render_openmetrics = {
	.sink = {.name = "openmetrics",
		.extension = "om",
		.media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8",
		.sections = SECTIONS,
		.has_notes = true,
		.replaces = true},
	.draw = prometheus_draw,
	.close = close_metrics,
};
