/* SPDX-License-Identifier: MIT */
/*
 * Pairs that a program in the kernel counts: the events, keys and roles are compared with what the
 * program does, whatever preset or options they come from.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/expr.h"
#include "lib/counted_event.h"
#include "multi_trace/multi_trace.h"

enum { KNOWN_EVENTS = 4 };

/* An event that the program handles. */
struct known_event {
	const char *name;
	uint32_t stage;
	const char *key, *role; /* role NULL: none */
	const char *key2;       /* the second column of the key; NULL: it has one */
};

struct known_pairs {
	enum counting_kind kind;
	struct known_event events[KNOWN_EVENTS]; /* starts in the order of rows, then the end */
	bool is_by_name;                         /* rows are names of comm=, of the field below */
	bool is_of_names; /* the field is a text, which is the name; otherwise the row's number */
	const char *field;
};

static const struct known_pairs known[] = {
	{COUNTING_READY,
		{{"sched:sched_wakeup", 0, "pid", NULL}, {"sched:sched_wakeup_new", 0, "pid", NULL},
			{"sched:sched_switch", 0, "prev_pid", "(prev_state&0xff)==0&&prev_pid"},
			{"sched:sched_switch", 1, "next_pid", "next_pid?2:0"}}},
	{COUNTING_RUNNING, {{"sched:sched_switch", 0, "next_pid", "next_pid!=0"},
				   {"sched:sched_switch", 1, "prev_pid", "prev_pid?2:0"}}},
	{COUNTING_SOFTIRQS,
		{{"irq:softirq_entry", 0, "_cpu", NULL}, {"irq:softirq_exit", 1, "_cpu", NULL}},
		.is_by_name = true, .field = "vec"},
	{COUNTING_HARDIRQS,
		{{"irq:irq_handler_entry", 0, "_cpu", NULL, "irq"},
			{"irq:irq_handler_exit", 1, "_cpu", NULL, "irq"}},
		.is_by_name = true, .is_of_names = true, .field = "name"},
};

static bool texts_equal(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool key_is(const struct attar_expr *key, const struct known_event *event)
{
	return attar_expr_columns(key) == (event->key2 ? 2 : 1) &&
	       !strcmp(attar_expr_get_column(key, 0)->name, event->key) &&
	       (!event->key2 || !strcmp(attar_expr_get_column(key, 1)->name, event->key2));
}

static bool event_is(const struct trace_event *e, const struct known_event *event, bool is_by_name)
{
	return counted_event_is(e->spec, event->name) && e->stage == event->stage &&
	       e->key_kind == KEY_EXPR && key_is(e->key, event) &&
	       texts_equal(e->role_text, event->role) &&
	       (e->comm != NULL) == (is_by_name && event->stage == 0);
}

/* Whether an expression uses no field but this one, and no function. */
static bool uses_only(const char *text, const char *field)
{
	size_t n;

	for (; *text; text += n) {
		n = 1;
		if (*text == '"') {
			n = strcspn(text + 1, "\"") + 1;
			n += text[n] == '"';
		} else if (isalpha((unsigned char)*text) || *text == '_') {
			while (isalnum((unsigned char)text[n]) || text[n] == '_')
				n++;
			if (n != strlen(field) || memcmp(text, field, n) != 0)
				return false;
		}
	}
	return true;
}

/* Whether the names of the starts are rows, or can be computed from their numbers. */
static bool names_are_of_rows(const struct multi_trace *m, const struct known_pairs *pairs)
{
	const struct attar_event_option *comm = attar_spec_get_option(m->events[0].spec, "comm");

	if (comm && pairs->is_of_names)
		return !strcmp(comm->value, pairs->field);
	return comm && uses_only(comm->value, pairs->field);
}

static bool pairs_are(const struct multi_trace *m, const struct known_pairs *pairs)
{
	uint32_t n = 0;

	while (n < KNOWN_EVENTS && pairs->events[n].name)
		n++;
	if (m->n_events != n || m->n_stages != 2 || m->tasks == pairs->is_by_name ||
		(pairs->is_by_name && !m->perins))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!event_is(&m->events[i], &pairs->events[i], pairs->is_by_name))
			return false;
	return !pairs->is_by_name || names_are_of_rows(m, pairs);
}

/* What of the options needs single pairs; NULL: nothing. */
static const char *single_option(const struct multi_trace *m)
{
	return m->detail_text     ? "--detail"
	       : m->print_beyond  ? "--print-beyond"
	       : m->heatmap_path  ? "--heatmap"
	       : m->than          ? "--than"
	       : m->only_than     ? "--only-than"
	       : m->lower         ? "--lower"
	       : m->by_text       ? "--by"
	       : m->filter        ? "--filter"
	       : m->cycle         ? "--cycle"
	       : m->kernel_filter ? "--kernel-filter"
				  : NULL;
}

/* The pairs that the events make, if they are known. NULL: they are not. */
static const struct known_pairs *find_known(const struct multi_trace *m)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (pairs_are(m, &known[i]))
			return &known[i];
	return NULL;
}

static bool are_calls(const struct attar_run *run)
{
	return attar_run_sources(run) == 2 &&
	       counted_event_is(attar_run_source_spec(run, 0), "raw_syscalls:sys_enter") &&
	       counted_event_is(attar_run_source_spec(run, 1), "raw_syscalls:sys_exit");
}

int in_kernel_open(struct attar_run *run, struct multi_trace *m)
{
	static const struct known_pairs calls = {.kind = COUNTING_SYSCALLS};
	const struct known_pairs *pairs = NULL;
	const char *single = single_option(m);
	int r;

	if (m->impl == &trace_impl_syscalls && are_calls(run))
		pairs = &calls;
	else if (m->impl == &trace_impl_delay)
		pairs = find_known(m);
	if (!pairs)
		return 0;
	/* of threads, whose names are not known; soft interrupts have names of their own */
	if (!single && m->perins && !pairs->is_by_name)
		single = "--perins";
	r = run_count_in_kernel(run, &(struct counting_what){.kind = pairs->kind}, single);
	m->in_kernel = r > 0 ? pairs : NULL;
	return r < 0 ? r : 0;
}

/* ---- reading ---- */

/* The name that comm= gives an event whose only field is the number of the row. */
static size_t name_row(const struct multi_trace *m, uint32_t row, char name[NAME_BYTES])
{
	const struct trace_event *e = &m->events[0];
	const struct attar_field *field = attar_format_field(e->spec->format, m->in_kernel->field);
	char raw[256] = {0};
	const struct attar_expr_record record = {.raw = raw, .raw_size = sizeof(raw)};
	struct attar_expr_value value;
	size_t n;

	if (!field || field->size != sizeof(row) || field->offset + sizeof(row) > sizeof(raw))
		return 0;
	memcpy(raw + field->offset, &row, sizeof(row));
	attar_expr_eval(e->comm, &record, &value);
	if (!value.bytes)
		return (size_t)snprintf(name, NAME_BYTES, "%lld", (long long)value.number);
	n = value.len < NAME_BYTES ? value.len : NAME_BYTES;
	memcpy(name, value.bytes, n);
	return n;
}

/* The row of the table in which a row of the sums is shown. NULL: out of memory. */
static struct attar_keyrow *find_row(const struct multi_trace *m, const struct counting_row *row)
{
	uint32_t number = (uint32_t)row->number;
	char name[NAME_BYTES];
	uint32_t start = m->in_kernel->kind == COUNTING_READY ? number : 0;
	size_t n = 0;

	if (m->in_kernel->kind == COUNTING_SYSCALLS)
		return attar_keytable_at_u64(m->table, row->number);
	if (row->name)
		n = (size_t)snprintf(name, sizeof(name), "%s", row->name);
	else if (m->in_kernel->is_by_name)
		n = name_row(m, number, name);
	return pairs_row_of(m, start, m->n_events - 1, name, n);
}

static int add_row(void *ctx, const struct counting_row *row)
{
	struct multi_trace *m = ctx;
	struct attar_keyrow *to = find_row(m, row);

	if (!to)
		return -ENOMEM;
	to->interval.sums[SUM_TOTAL] += row->times->sum;
	to->interval.sums[SUM_ERRORS] += row->errors;
	return attar_hist_merge(&to->interval.hists[0], row->times);
}

int in_kernel_read(struct attar_run *run, struct multi_trace *m)
{
	return run_read_counting(run, add_row, m);
}
