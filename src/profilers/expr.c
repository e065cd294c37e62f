/* SPDX-License-Identifier: MIT */
/* expr: compiles an expression, shows its compiled form, and evaluates it for some events. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "attar/private/expr.h"
#include "attar/run.h"
#include "lib/by_source.h"
#include "lib/keys.h"

enum { TEXT_BYTES = 512 };

struct event {
	const char *name;
	struct attar_expr *expr;
};

struct expr_profiler {
	struct attar_texts texts;
	const char *text;
	struct by_source events;
};

static int expr_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	const struct attar_expr_opts opts = {.size = sizeof(opts), .what = "expression"};
	struct expr_profiler *x = self;
	struct event *e = event;

	e->name = attar_run_source_name(run, source);
	return attar_run_expr(run, source, x->text, &opts, &e->expr);
}

static void forget(void *event)
{
	attar_expr_free(((struct event *)event)->expr);
}

/* ---- events ---- */

static void columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "event", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "value", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "printed", ATTAR_UNIT_TEXT);
}

/* A number as in the expression's type, an array in hexadecimal. */
static void add_value(struct attar_section *lines, const struct attar_expr_column *column,
	const struct attar_expr_value *value)
{
	char text[TEXT_BYTES] = "";
	size_t n = 0;

	if (column->kind == ATTAR_EXPR_TEXT) {
		keys_add_text(lines, value->bytes ? value->bytes : "", value->len);
		return;
	}
	if (column->kind == ATTAR_EXPR_NUMBER && column->is_signed)
		snprintf(text, sizeof(text), "%" PRId64, (int64_t)value->number);
	else if (column->kind == ATTAR_EXPR_NUMBER)
		snprintf(text, sizeof(text), column->is_address ? "0x%" PRIx64 : "%" PRIu64,
			value->number);
	for (size_t i = 0; column->kind == ATTAR_EXPR_BYTES && i < value->len && n + 3 < TEXT_BYTES;
		i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x", i ? " " : "",
			(unsigned char)value->bytes[i]);
	attar_cell_text(lines, text);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct expr_profiler *x = self;
	struct attar_expr_record record;
	struct attar_expr_value value;
	struct attar_section *lines;
	const char *printed;
	struct event *e;
	size_t n;
	int r = by_source_get(&x->events, run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	attar_expr_eval(e->expr, &record, &value);
	lines = attar_run_lines(run, "events", columns);
	if (!lines)
		return -ENOMEM;
	attar_run_event_row(run, lines, ev, ev->time);
	attar_cell_text(lines, e->name);
	add_value(lines, attar_expr_get_column(e->expr, 0), &value);
	printed = attar_run_printed(run, &n);
	n -= n && printed[n - 1] == '\n'; /* the row ends the line */
	keys_add_text(lines, printed, n);
	return 0;
}

/* ---- reports ---- */

static void add_compiled(struct attar_section *table, const struct event *e)
{
	char text[TEXT_BYTES];

	for (size_t i = 0; expr_part(e->expr, i, text, sizeof(text)); i++) {
		attar_section_row(table);
		attar_cell_text(table, e->name);
		attar_cell_text(table, text);
	}
}

static int expr_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "compiled");
	struct expr_profiler *x = self;
	struct attar_expr_faults faults;
	const struct event *e;

	attar_section_column(table, "event", ATTAR_UNIT_TEXT);
	attar_section_column(table, "part", ATTAR_UNIT_TEXT);
	for (uint32_t i = 0; (e = by_source_at(&x->events, i)); i++) {
		add_compiled(table, e);
		attar_expr_get_faults(e->expr, &faults);
		if (faults.absent || faults.by_zero || faults.unresolved || faults.cut)
			attar_report_remark(report,
				"%s: %" PRIu64 " absent field%s, %" PRIu64
				" division%s by zero, %" PRIu64
				" without a name (addresses and threads), %" PRIu64
				" text%s cut off",
				e->name, faults.absent, faults.absent == 1 ? "" : "s",
				faults.by_zero, faults.by_zero == 1 ? "" : "s", faults.unresolved,
				faults.cut, faults.cut == 1 ? "" : "s");
	}
	return 0;
}

static int expr_open(struct attar_run *run, void *self)
{
	struct expr_profiler *x = self;
	int r = 0;

	if (!x->texts.n || !x->text)
		return attar_fail(-EINVAL, "expr needs an event and an expression" ATTAR_FIX
					   "attar expr -e sched:sched_wakeup 'prio < 10'");
	x->events = (struct by_source){
		.size = sizeof(struct event), .learn = expr_learn, .forget = forget};
	for (size_t i = 0; r == 0 && i < x->texts.n; i++)
		r = attar_run_events(run, x->texts.at[i], false, on_event);
	return r < 0 ? r : by_source_learn(&x->events, run, self, 0);
}

static void expr_close(void *self)
{
	by_source_done(&((struct expr_profiler *)self)->events);
}

#define T struct expr_profiler

static const struct attar_option options[] = {
	ATTAR_LIST(T, texts, 'e', "event", "EVENTS", "events with the fields of the expression",
		.complete = "event"),
	ATTAR_TEXT(T, text, 0, "expression", "EXPRESSION",
		"the expression; can also be given as an argument"),
	{0}};

static const struct attar_example examples[] = {
	{"expr -e sched:sched_wakeup 'prio < 10 && comm ~ \"k*\"'",
		"the value for the next five events, and the compiled form"},
	{"expr -e sched:sched_switch -N 100 'printf(\"%s>%s\", prev_comm, next_comm)'",
		"the output of an expression for 100 events"},
	{0}};

static const char *const preset[] = {"-N", "5", NULL};

const struct attar_profiler profiler_expr = {
	.name = "expr",
	.group = "Events",
	.summary = "test an expression on the fields of events, and show its compiled form",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct expr_profiler),
	.options = options,
	.examples = examples,
	.open = expr_open,
	.report = expr_report,
	.close = expr_close,
	.preset = preset,
	.operand = "expression",
};
