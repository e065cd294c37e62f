/* SPDX-License-Identifier: MIT */
/*
 * Time lines as Chrome trace events, in the JSON object format ("Trace Event Format", Google), for
 * Perfetto, chrome://tracing and the Firefox Profiler. Times are microseconds since the report
 * began, with three decimals: a double has no nanoseconds of times since 1970.
 *
 * Spans of a thread are complete events ("X"), which must be within each other or apart. Those that
 * overlap otherwise, such as pairs that another thread ends, are asynchronous ones ("b", "e").
 */
#include "report/sinks/render.h"

#include "base/escape.h"
#include "report/model/spans.h"

/* Tracks without a thread are threads of this process, whose number is above all pids. */
enum { TRACKS_PID = 4194305, DEPTH_MAX = 64 };

struct chrome {
	struct attar_renderer *r;
	const struct attar_report *report;
	const struct attar_section *trees; /* of the nodes; NULL: none */
	uint64_t began;                    /* ns: the time 0 of the trace */
	bool any;                          /* an event was written */
	uint64_t async;                    /* number of the last asynchronous event */
	struct span_row open[DEPTH_MAX];   /* spans of the present track around the next one */
	size_t depth;
};

/* Microseconds. A span may have begun before the report. */
static void add_us(struct buf *b, const char *key, int64_t ns)
{
	uint64_t n = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	buf_printf(b, ",\"%s\":%s%llu.%03u", key, ns < 0 ? "-" : "", (unsigned long long)(n / 1000),
		(unsigned)(n % 1000));
}

static void begin_event(struct chrome *c, const char *phase, const struct span_row *row)
{
	struct buf *b = &c->r->out;

	render_spill(c->r);
	buf_str(b, c->any ? ",\n{\"ph\":\"" : "{\"ph\":\"");
	c->any = true;
	buf_str(b, phase);
	if (row->has_thread)
		buf_printf(b, "\",\"pid\":%u,\"tid\":%u", row->pid, row->tid);
	else
		buf_printf(b, "\",\"pid\":%d,\"tid\":%u", TRACKS_PID, row->track);
}

/* ---- names ---- */

static void add_name(
	struct chrome *c, const char *what, const struct span_row *row, const char *name)
{
	begin_event(c, "M", row);
	buf_printf(&c->r->out, ",\"name\":\"%s\",\"args\":{\"name\":", what);
	escape_json_text(&c->r->out, name);
	buf_str(&c->r->out, "}}");
}

/* The process is named after the thread with its number, or else the first one seen of it. */
static void add_names(struct chrome *c, const struct span_row *row, bool is_new_process)
{
	if (is_new_process)
		add_name(c, "process_name", row, row->has_thread ? row->thread : "attar");
	add_name(c, "thread_name", row, row->thread);
}

/* ---- events ---- */

/* "inner < middle < outer", at most 64 frames. */
static void add_stack(struct chrome *c, uint32_t node)
{
	const char *separator = "";
	struct buf *b = &c->r->out;

	buf_str(b, ",\"stack\":\"");
	for (int i = 0; i < DEPTH_MAX && node < c->trees->nodes.n; i++) {
		const struct tree_node *n = &c->trees->nodes.at[node];
		const char *name = section_text(c->trees, n->name);

		if (n->parent == ATTAR_TREE_ROOT) /* the thread, or its host */
			break;
		buf_str(b, separator);
		escape_json(b, name, strlen(name));
		separator = " < ";
		node = n->parent;
	}
	buf_char(b, '"');
}

static void add_waker(struct buf *b, const struct span_row *row)
{
	buf_str(b, ",\"waker\":");
	escape_json_text(b, row->waker);
	if (row->waker_tid)
		buf_printf(b, ",\"waker_tid\":%u", row->waker_tid);
	if (*row->waker_stack) {
		buf_str(b, ",\"waker_stack\":");
		escape_json_text(b, row->waker_stack);
	}
}

static void add_args(struct chrome *c, const struct span_row *row)
{
	struct buf *b = &c->r->out;

	buf_printf(b, ",\"args\":{\"cpu\":%lld", (long long)row->cpu);
	if (*row->detail) {
		buf_str(b, ",\"detail\":");
		escape_json_text(b, row->detail);
	}
	if (row->has_node && c->trees)
		add_stack(c, row->node);
	if (*row->waker)
		add_waker(b, row);
	buf_char(b, '}');
}

static void add_identity(struct chrome *c, const struct span_row *row)
{
	buf_str(&c->r->out, ",\"name\":");
	escape_json_text(&c->r->out, row->name);
	buf_str(&c->r->out, ",\"cat\":");
	escape_json_text(&c->r->out, row->category);
}

/* Whether it is within the spans that are open, or begins after their end. */
static bool is_nested(struct chrome *c, const struct span_row *row)
{
	uint64_t end = row->time + row->duration;
	const struct span_row *around;

	while (c->depth && c->open[c->depth - 1].time + c->open[c->depth - 1].duration <= row->time)
		c->depth--;
	around = c->depth ? &c->open[c->depth - 1] : NULL;
	return c->depth < DEPTH_MAX && (!around || end <= around->time + around->duration);
}

static void add_async(struct chrome *c, const struct span_row *row)
{
	c->async++;
	for (int is_end = 0; is_end <= 1; is_end++) {
		begin_event(c, is_end ? "e" : "b", row);
		add_identity(c, row);
		buf_printf(&c->r->out, ",\"id\":%llu", (unsigned long long)c->async);
		add_us(&c->r->out, "ts",
			(int64_t)(row->time - c->began + (is_end ? row->duration : 0)));
		if (!is_end)
			add_args(c, row);
		buf_char(&c->r->out, '}');
	}
}

static void add_event(struct chrome *c, const struct span_row *row)
{
	bool is_instant = !row->duration && strcmp(row->category, "event") == 0;

	if (!is_instant && !is_nested(c, row)) {
		add_async(c, row);
		return;
	}
	begin_event(c, is_instant ? "i" : "X", row);
	add_identity(c, row);
	add_us(&c->r->out, "ts", (int64_t)(row->time - c->began));
	if (is_instant) {
		buf_str(&c->r->out, ",\"s\":\"t\"");
	} else {
		add_us(&c->r->out, "dur", (int64_t)row->duration);
		c->open[c->depth++] = *row;
	}
	add_args(c, row);
	buf_char(&c->r->out, '}');
}

/* ---- the trace ---- */

static int add_section(struct chrome *c, struct attar_section *section)
{
	struct span_rows rows _cleanup_(span_rows_done) = {0};
	int e = span_rows_init(&rows, section);

	if (e == 0)
		span_rows_join(&rows);
	for (size_t i = 0; i < rows.n && e == 0; i++) {
		const struct span_row *row = &rows.at[i], *before = i ? row - 1 : NULL;
		bool is_new_process =
			!before || before->pid != row->pid || before->has_thread != row->has_thread;

		if (is_new_process || before->track != row->track) {
			c->depth = 0;
			add_names(c, row, is_new_process);
		}
		add_event(c, row);
	}
	return e;
}

/* What the trace is of, and what is not in it. */
static void add_tail(struct chrome *c)
{
	const struct attar_report *report = c->report;
	struct buf *b = &c->r->out, notes _cleanup_(buf_done) = {0};

	buf_str(b,
		"\n],\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"attar " ATTAR_VERSION
		"\",\"command\":");
	escape_json_text(b, c->r->command ? c->r->command : report_text(report, report->profiler));
	buf_printf(b, ",\"startTime\":\"%llu\",\"remarks\":\"", (unsigned long long)c->began);
	for (size_t i = 0; i < report->remarks.n; i++) {
		const char *text = report_text(report, report->remarks.at[i]);

		escape_json(b, text, strlen(text));
		buf_str(b, "\\n");
	}
	if (report->has_notes)
		render_notes(&notes, &report->notes);
	escape_json(b, buf_text(&notes), notes.len);
	buf_str(b, "\"}}\n");
	b->failed |= notes.failed;
}

static int chrome_draw(struct attar_renderer *r, const struct attar_report *report)
{
	struct chrome c = {.r = r,
		.report = report,
		.began = report->time - MIN(report->interval_ns, report->time)};
	bool any = false;
	int e = 0;

	report_each_section (report, it) {
		any |= (*it)->kind == ATTAR_SECTION_SPANS;
		if ((*it)->kind == ATTAR_SECTION_TREE && !c.trees)
			c.trees = *it;
	}
	if (!any)
		return attar_fail(-EINVAL,
			"chrome output needs time lines, but '%s' recorded none" ATTAR_FIX
			"use a profiler that records them, such as multi-trace or trace",
			CLIP(report_text(report, report->profiler)));
	buf_str(&r->out, "{\"traceEvents\":[\n");
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_SPANS && e == 0)
			e = add_section(&c, *it);
	add_tail(&c);
	render_log_notes(r, report);
	return e < 0 ? base_oom() : 0;
}

const struct render_format render_chrome = {
	.sink = {.name = "chrome",
		.extension = "trace.json",
		.media_type = "application/json",
		.sections = RENDER_SPANS,
		.whole_run = true,
		.wants_spans = true},
	.draw = chrome_draw,
};
