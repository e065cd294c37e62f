/* SPDX-License-Identifier: MIT */
/*
 * snoop: prints values of events as columns. With a second -e, a line is a pair of events with the
 * same key: the values of both and the time between them. With --owners, the thread is not the one
 * in which an event happens, but the owner of what it concerns.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/pairs.h"
#include "attar/builtin.h"
#include "lib/by_source.h"
#include "lib/line_summary.h"
#include "lib/list_options.h"
#include "lib/sample_fields.h"
#include "snoop/started.h"

enum {
	OPEN_MAX = 8192,
	OWNERS_MAX = 1 << 16,
	READ_MS = 50, /* how soon events are read, if it matters */
};

enum { FIRST, SECOND, OWNERS, STAGES };

struct snoop {
	struct attar_texts texts;
	const char *key, *name; /* name: patterns; NULL: all */
	const char *owner_events;
	const char *columns; /* of --summary */
	uint64_t than;
	bool failed, tasks, files;

	struct by_source stages[STAGES];
	struct attar_pairs *owners; /* key -> struct snoop_owner; NULL: without --owners */
	struct tcp_owners *tcp;
	uint64_t unowned;          /* events left out, since no selected owner is known */
	struct attar_pairs *pairs; /* NULL: one stage */
	size_t payload_size;
	struct snoop_started *copy; /* of a payload */
	bool has_givers;            /* events with role=2 */
	bool has_pending;           /* starts with columns that are to be computed */
	struct line_summary summary;
	size_t summed[LINE_SUMMARY_THINGS], n_summed; /* columns of the first event */
	uint64_t unknown;                             /* lines with UNKNOWN */
	uint64_t lost;                                /* lines with LOST */
	uint64_t doubtful;                            /* lines with DOUBT */
};

#define GIVES_COLUMNS "role=2"
#define NESTS         "role=5"

/* ---- events ---- */

static int add_column(struct attar_run *run, uint32_t source, struct snoop_event *e,
	const struct attar_event_option *option)
{
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .flags = ATTAR_EXPR_KEY, .what = "column"};
	struct snoop_column *column = &e->columns[e->n];
	int r;

	if (e->n == COLUMNS_MAX)
		return attar_fail(-E2BIG, "'%s' has more than %d column= attributes",
			attar_run_source_name(run, source), COLUMNS_MAX);
	r = attar_run_expr(run, source, keys_column(option, column->name), &opts, &column->value);
	if (r < 0)
		return r;
	e->n++;
	column->reads = keys_read_program(column->value);
	column->is_file = column->reads && strstr(option->value, "fd_name(");
	e->reads |= column->reads;
	if (attar_expr_columns(column->value) != 1)
		return attar_fail(
			-EINVAL, "column=%s: a column must be a single value", option->value);
	return 0;
}

static int find_main(const struct attar_event_spec *spec, struct snoop_event *e)
{
	const struct attar_event_option *main = spec ? attar_spec_get_option(spec, "main") : NULL;

	while (main && e->main < e->n && strcmp(e->columns[e->main].name, main->value) != 0)
		e->main++;
	if (main && e->main == e->n)
		return attar_fail(-EINVAL,
			"main=%s: the event has no column of this name" ATTAR_FIX
			"add column=%s:EXPRESSION, or name one of its columns",
			main->value, main->value);
	return 0;
}

static int snoop_learn(struct attar_run *run, void *self, uint32_t source, void *event)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, source);
	const struct attar_event_option *option;
	struct snoop *s = self;
	struct snoop_event *e = event;
	int r = 0;

	for (size_t i = 0; r == 0 && spec && i < spec->n_options; i++)
		if (!strcmp(spec->options[i].name, "column"))
			r = add_column(run, source, e, &spec->options[i]);
	if (r == 0)
		r = find_main(spec, e);
	if (r == 0)
		r = keys_compile(
			run, source, "key", s->key ? s->key : "_tid", ATTAR_EXPR_KEY, &e->key);
	if (r == 0)
		r = keys_compile(run, source, "role", NULL, ATTAR_EXPR_CONDITION, &e->role);
	option = spec ? attar_spec_get_option(spec, "role") : NULL;
	e->gives_columns = option && !strcmp(option->value, &GIVES_COLUMNS[strlen("role=")]);
	e->nests = option && !strcmp(option->value, &NESTS[strlen("role=")]);
	s->has_givers |= e->gives_columns;
	tcp_fields_find(spec, &e->connection);
	if (r == 0 && s->failed && attar_run_expr(run, source, "ret<0", NULL, &e->failed) < 0)
		attar_error_clear(); /* it has no such field */
	return r;
}

static void forget(void *event)
{
	struct snoop_event *e = event;

	for (size_t i = 0; i < e->n; i++)
		attar_expr_free(e->columns[i].value);
	attar_expr_free(e->key);
	attar_expr_free(e->failed);
	attar_expr_free(e->role);
}

/* ---- lines ---- */

static void no_columns(struct attar_section *lines)
{
	(void)lines; /* add_columns() adds them, which has the events */
}

static void add_event_columns(
	struct attar_section *lines, const struct snoop_event *e, bool has_main)
{
	for (size_t i = 0; i < e->n; i++) {
		const struct attar_expr_column *column =
			attar_expr_get_column(e->columns[i].value, 0);

		attar_section_column(lines, e->columns[i].name,
			column->kind != ATTAR_EXPR_NUMBER ? ATTAR_UNIT_TEXT
			: column->is_address              ? ATTAR_UNIT_HEX
							  : ATTAR_UNIT_ID);
		if (has_main && i == e->main)
			attar_section_main(lines);
	}
}

static void add_columns(const struct snoop *s, struct attar_section *lines)
{
	const struct snoop_event *first = by_source_at(&s->stages[0], 0);

	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	add_event_columns(lines, first, true);
	if (!s->pairs)
		return;
	add_event_columns(lines, by_source_at(&s->stages[1], 0), !first->n);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_main(lines);
}

static bool is_named(const struct snoop *s, const char *comm)
{
	return !s->name || names_match(s->name, comm);
}

/* A line with its first cells; NULL: out of memory, or no output for lines. */
static struct attar_section *new_line(const struct snoop *s, struct attar_run *run,
	const struct attar_event *ev, const char *comm, int64_t tid)
{
	struct attar_section *lines = attar_run_wants(run, ATTAR_WANT_LINES)
					      ? attar_run_lines(run, "events", no_columns)
					      : NULL;

	if (!lines)
		return NULL;
	if (!attar_section_get_columns(lines))
		add_columns(s, lines);
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, comm);
	sample_tid_cell(lines, tid);
	return lines;
}

/* The values of an event that is complete. */
static void add_values(struct attar_section *lines, const struct snoop_event *e,
	const struct attar_expr_record *record)
{
	char bytes[VALUE_BYTES];

	for (size_t i = 0; i < e->n; i++) {
		size_t n = attar_expr_key(e->columns[i].value, record, bytes, sizeof(bytes));

		keys_add_cells(lines, e->columns[i].value, bytes, n);
	}
}

/* ---- summary ---- */

/* Adds the value of a column to the summary, n bytes of a key. */
static int count_value(struct snoop *s, size_t i, const struct attar_expr *column,
	const char *bytes, size_t n, uint64_t duration)
{
	struct attar_expr_value value = {0};
	char number[24];

	if (!n || !attar_expr_key_value(column, bytes, n, 0, &value))
		return 0;
	if (!value.bytes) {
		value.len =
			(size_t)snprintf(number, sizeof(number), "%lld", (long long)value.number);
		value.bytes = number;
	}
	return line_summary_add_thing(&s->summary, i, value.bytes, value.len, duration);
}

static int count_pair(
	struct snoop *s, const struct snoop_started *started, bool unknown, uint64_t duration)
{
	const struct snoop_event *e = started->event;
	int r = line_summary_add(&s->summary, started->owner.comm, started->owner.pid, duration);

	for (size_t i = 0; r == 0 && i < s->n_summed && s->summed[i] < e->n; i++) {
		const struct snoop_column *column = &e->columns[s->summed[i]];
		const char *bytes = started->bytes;

		for (size_t before = 0; before < s->summed[i]; before++)
			bytes += started->len[before];
		if (!unknown || !column->reads)
			r = count_value(
				s, i, column->value, bytes, started->len[s->summed[i]], duration);
	}
	return r;
}

static int count_event(struct snoop *s, const struct snoop_owner *owner,
	const struct snoop_event *e, const struct attar_expr_record *record)
{
	int r = line_summary_add(&s->summary, owner->comm, owner->pid, 0);
	char bytes[VALUE_BYTES];

	for (size_t i = 0; r == 0 && i < s->n_summed && s->summed[i] < e->n; i++) {
		struct attar_expr *value = e->columns[s->summed[i]].value;

		r = count_value(
			s, i, value, bytes, attar_expr_key(value, record, bytes, sizeof(bytes)), 0);
	}
	return r;
}

static int summed_column(struct snoop *s, const struct snoop_event *e, const char *name, size_t len)
{
	for (size_t i = 0; i < e->n; i++) {
		if (strlen(e->columns[i].name) != len ||
			strncmp(e->columns[i].name, name, len) != 0)
			continue;
		if (s->n_summed == LINE_SUMMARY_THINGS)
			return attar_fail(
				-E2BIG, "--summary has more than %d columns", LINE_SUMMARY_THINGS);
		s->summed[s->n_summed++] = i;
		return 0;
	}
	return attar_fail(-EINVAL,
		"--summary: the first event has no column '%.*s'" ATTAR_FIX
		"name one of its attributes column=NAME:EXPRESSION",
		(int)len, name);
}

/* The columns of --summary, or else the main column. */
static int open_summary(struct snoop *s)
{
	const struct snoop_event *first = by_source_at(&s->stages[0], 0);
	int r = line_summary_init(&s->summary, s->texts.n == 2);

	s->summary.is_wanted = s->columns != NULL;
	for (const char *p = s->columns; r == 0 && p && *p; p += strspn(p, ",")) {
		size_t n = strcspn(p, ",");

		r = summed_column(s, first, p, n);
		p += n;
	}
	if (!s->columns && first->n)
		s->summed[s->n_summed++] = first->main;
	return r;
}

static int report_summary(
	struct snoop *s, struct attar_run *run, struct attar_report *report, enum attar_scope scope)
{
	const struct snoop_event *first = by_source_at(&s->stages[0], 0);
	const char *names[LINE_SUMMARY_THINGS];

	for (size_t i = 0; i < s->n_summed; i++)
		names[i] = first->columns[s->summed[i]].name;
	return line_summary_report(&s->summary, run, report, scope, "process", names, s->n_summed);
}

/* ---- pairs ---- */

static struct snoop_owner thread_of(const struct attar_run *run, const struct attar_event *ev)
{
	struct snoop_owner owner = {.is_selected = attar_run_is_selected(run, ev->thread),
		.tid = (int32_t)run_event_tid(run, ev),
		.pid = ev->thread && ev->thread->process ? ev->thread->process->pid : -1};

	snprintf(owner.comm, COMM_BYTES, "%s", ev->thread ? ev->thread->comm : "");
	return owner;
}

/* All events up to now were delivered: the calls that have not ended still have their texts. */
static int snoop_turn(struct attar_run *run, void *self)
{
	struct snoop *s = self;
	const struct attar_start *open = NULL;

	if (!s->has_pending)
		return 0;
	s->has_pending = false;
	while ((open = attar_pairs_next_open(s->pairs, open)))
		started_compute(run, open->payload, true, 0);
	return 0;
}

/* What the event gives to the open pair of its key. */
static void snoop_take(struct attar_run *run, struct snoop_started *started,
	const struct snoop_event *e, const struct attar_event *ev,
	const struct attar_expr_record *record)
{
	if (!e->gives_columns) {
		started->owner = thread_of(run, ev);
	} else if (e->n < started->event->n) {
		started_replace(started, e, record);
	} else if (started->event->reads) {
		started_change(run, started, e, record);
	}
}

static size_t key_of(const struct snoop_event *e, const struct attar_expr_record *record,
	char key[ATTAR_EXPR_KEY_MAX])
{
	size_t n = attar_expr_key(e->key, record, key, ATTAR_EXPR_KEY_MAX);

	return n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX;
}

/* Opens a pair again that has just ended, with its start. What it began with may be changed. */
static struct snoop_started *snoop_continue(
	struct snoop *s, const void *key, size_t n, const struct attar_start *begun)
{
	const struct attar_stamp since = {
		.time = begun->time, .task = begun->task, .cpu = begun->cpu};
	struct attar_start *again;

	memcpy(s->copy, begun->payload, s->payload_size);
	again = attar_pairs_start(s->pairs, key, n, &since);
	return again ? memcpy(again->payload, s->copy, s->payload_size) : NULL;
}

/* Neither a start nor an end: the open pair of the key takes what this event gives. */
static int amend(struct snoop *s, struct attar_run *run, const struct snoop_event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	const struct attar_start *begun = attar_pairs_end(s->pairs, key, n, &at);
	struct snoop_started *started = begun ? snoop_continue(s, key, n, begun) : NULL;

	if (started)
		snoop_take(run, started, e, ev, record);
	return 0;
}

/* A call within another one, such as of a function that it uses, is a part of it. */
static bool nest(struct snoop *s, const struct snoop_event *e, const void *key, size_t n,
	const struct attar_stamp *at)
{
	const struct attar_start *begun = attar_pairs_end(s->pairs, key, n, at);
	struct snoop_started *started = begun ? snoop_continue(s, key, n, begun) : NULL;

	if (!started || started->begun_by == e) /* the end of that one was not delivered */
		return false;
	started->nested++;
	return true;
}

static int snoop_start(struct snoop *s, struct attar_run *run, const struct snoop_event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	struct attar_start *begun;
	struct snoop_started *started;

	if (e->nests && nest(s, e, key, n, &at))
		return 0;
	begun = attar_pairs_start(s->pairs, key, n, &at);
	if (!begun)
		return 0;
	started = begun->payload;
	started->begun_by = e;
	started->nested = 0;
	started->owner = thread_of(run, ev);
	s->has_pending |= started_begin(run, started, e, record);
	return 0;
}

static int snoop_end(struct snoop *s, struct attar_run *run, struct snoop_event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	const struct attar_start *begun = attar_pairs_end(s->pairs, key, n, &at);
	struct snoop_started *started = begun ? begun->payload : NULL;
	struct attar_section *lines;
	bool unknown;
	int r;

	if (started && started->nested) {
		started = snoop_continue(s, key, n, begun);
		if (started)
			started->nested--;
		return 0;
	}
	if (!started || at.time - begun->time < s->than || !attar_run_is_cpu_selected(run, at.cpu))
		return 0;
	if ((s->tasks && !started->owner.is_selected) || !is_named(s, started->owner.comm))
		return 0;
	if (s->failed && !(e->failed && attar_expr_number(e->failed, record)))
		return 0;
	started_compute(run, started, false, at.time);
	if (s->files && started_has_no_file(run, started, at.time))
		return 0;
	unknown = started_is_unknown(run, started, at.time);
	r = count_pair(s, started, unknown, at.time - begun->time);
	lines = r == 0 ? new_line(s, run, ev, started->owner.comm, started->owner.tid) : NULL;
	if (!lines)
		return r;
	s->unknown += unknown && !started->is_lost;
	s->lost += unknown && started->is_lost;
	s->doubtful += !unknown && started->is_doubtful;
	started_add_cells(lines, started, unknown);
	add_values(lines, e, record);
	attar_cell_u64(lines, at.time - begun->time);
	return 0;
}

/* ---- owners ---- */

static void keep_owner(struct snoop *s, const void *key, size_t n, const struct attar_stamp *at,
	const struct snoop_owner *owner)
{
	struct attar_start *kept = attar_pairs_start(s->owners, key, n, at);

	if (kept)
		memcpy(kept->payload, owner, sizeof(*owner));
}

/* The thread is the owner from now on, or, with role=0, nobody is. */
static int on_owner(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct snoop *s = self;
	struct attar_expr_record record;
	char key[ATTAR_EXPR_KEY_MAX];
	struct snoop_owner owner;
	struct snoop_event *e;
	size_t n;
	int r = by_source_get(&s->stages[OWNERS], run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	n = key_of(e, &record, key);
	owner = thread_of(run, ev);
	if (e->role && !attar_expr_is_true(e->role, &record))
		attar_pairs_end(s->owners, key, n, &at);
	else
		keep_owner(s, key, n, &at, &owner);
	return 0;
}

static const struct snoop_owner no_owner = {.tid = -1, .pid = -1, .comm = UNKNOWN};

/* From /proc, of a connection that began before the measurement, or was accepted. */
static bool find_process(struct snoop *s, struct attar_run *run, const struct snoop_event *e,
	const struct attar_expr_record *record, struct snoop_owner *ret_owner)
{
	const struct attar_thread *thread;
	struct tcp_connection connection;
	pid_t pid = tcp_fields_read(&e->connection, record, &connection)
			    ? tcp_owners_find(s->tcp, run, &connection)
			    : -1;

	*ret_owner = no_owner;
	if (pid <= 0)
		return pid == 0;
	thread = attar_run_thread(run, pid);
	ret_owner->tid = ret_owner->pid = pid;
	ret_owner->is_selected = attar_run_is_selected(run, thread);
	if (thread)
		snprintf(ret_owner->comm, COMM_BYTES, "%s", thread->comm);
	else
		tcp_owners_name(pid, ret_owner->comm, COMM_BYTES);
	return true;
}

/* It is kept, also that it is another process: a connection can be closed before its next event. */
static void find_owner(struct snoop *s, struct attar_run *run, const struct snoop_event *e,
	const struct attar_event *ev, const struct attar_expr_record *record,
	struct snoop_owner *ret_owner)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	char key[ATTAR_EXPR_KEY_MAX];
	size_t n = key_of(e, record, key);
	const struct attar_start *kept = attar_pairs_end(s->owners, key, n, &at);

	if (kept)
		memcpy(ret_owner, kept->payload, sizeof(*ret_owner));
	if (kept || find_process(s, run, e, record, ret_owner))
		keep_owner(s, key, n, &at, ret_owner);
}

/* Whose line it is. False: the options do not select it. */
static bool choose_owner(struct snoop *s, struct attar_run *run, const struct snoop_event *e,
	const struct attar_event *ev, const struct attar_expr_record *record,
	struct snoop_owner *ret_owner)
{
	if (!s->owners) {
		*ret_owner = thread_of(run, ev);
		return true;
	}
	find_owner(s, run, e, ev, record, ret_owner);
	if (!s->tasks || ret_owner->is_selected || attar_run_is_selected(run, NULL))
		return true;
	s->unowned += ret_owner->tid < 0;
	return false;
}

/* ---- events ---- */

static int on_start(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct snoop *s = self;
	struct attar_expr_record record;
	struct attar_section *lines;
	struct snoop_owner owner;
	struct snoop_event *e;
	int r = by_source_get(&s->stages[FIRST], run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	if (s->pairs && e->role && (e->gives_columns || !attar_expr_is_true(e->role, &record)))
		return amend(s, run, e, ev, &record);
	if (s->pairs)
		return snoop_start(s, run, e, ev, &record);
	if (s->failed && !(e->failed && attar_expr_number(e->failed, &record)))
		return 0;
	if (!choose_owner(s, run, e, ev, &record, &owner) || !is_named(s, owner.comm))
		return 0;
	r = count_event(s, &owner, e, &record);
	lines = r == 0 ? new_line(s, run, ev, owner.comm, owner.tid) : NULL;
	if (lines)
		add_values(lines, e, &record);
	return r;
}

static int on_end(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct snoop *s = self;
	struct attar_expr_record record;
	struct snoop_event *e;
	int r = by_source_get(&s->stages[SECOND], run, self, ev->counter, &e);

	if (r < 0)
		return r;
	attar_event_get_expr_record(ev, &record);
	if (e->role && !attar_expr_is_true(e->role, &record))
		return 0;
	return snoop_end(s, run, e, ev, &record);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct snoop *s = self;

	(void)run;
	if (s->pairs)
		attar_pairs_lost(s->pairs, -1, ev->lost_from, ev->lost_to);
	if (s->owners)
		attar_pairs_lost(s->owners, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static void unknown_remark(const struct snoop *s, struct attar_report *report)
{
	bool needs_kprobe = strstr(s->texts.at[0], GIVES_COLUMNS) && !s->has_givers;

	if (s->unknown)
		attar_report_remark(report,
			"%llu line%s '" UNKNOWN "': the call had returned before attar could read "
			"the program's memory or descriptor, which may be in use for a later "
			"call%s",
			(unsigned long long)s->unknown, s->unknown == 1 ? " has" : "s have",
			needs_kprobe ? "; attar copies the strings in the kernel if it runs as "
				       "root, with libbpf and the kernel's types (BTF) or with "
				       "kprobes (CONFIG_KPROBE_EVENTS), and Linux 6.19 does"
				     : "");
}

static void doubtful_remark(const struct snoop *s, struct attar_report *report)
{
	if (s->doubtful)
		attar_report_remark(report,
			"%llu line%s a text with '" DOUBT "' at its end: attar read it from the "
			"program during the call, when another thread may have changed it",
			(unsigned long long)s->doubtful, s->doubtful == 1 ? " has" : "s have");
}

static void unowned_remark(const struct snoop *s, struct attar_report *report)
{
	if (s->unowned)
		attar_report_remark(report,
			"%llu event%s left out: no selected process was found that has the "
			"connection, which can belong to another process, or had been closed",
			(unsigned long long)s->unowned, s->unowned == 1 ? " was" : "s were");
}

static int snoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct snoop *s = self;
	struct attar_pairs_stats stats;
	int r;

	snoop_turn(run, s);
	r = report_summary(s, run, report, scope);
	if (r < 0)
		return r;
	unknown_remark(s, report);
	run_remark_lost_texts(report, s->lost);
	doubtful_remark(s, report);
	unowned_remark(s, report);
	if (!s->pairs)
		return 0;
	attar_pairs_get_stats(s->pairs, &stats);
	stats.unpaired[ATTAR_UNPAIRED_END] = 0; /* began before the measurement */
	attar_report_unpaired(report, &stats, "events");
	return 0;
}

/* ---- life ---- */

/* Lines have the columns of the first event of a stage. */
static int check_columns(struct by_source *stage, const char *events)
{
	struct snoop_event *first = by_source_at(stage, 0), *e;

	for (uint32_t i = 1; (e = by_source_at(stage, i)); i++) {
		bool same = e->n == first->n && keys_are_alike(e->key, first->key);

		for (size_t c = 0; same && c < e->n; c++)
			same = keys_are_alike(e->columns[c].value, first->columns[c].value);
		if (e->gives_columns && e->n < first->n)
			same = keys_are_alike(e->key, first->key) && started_can_replace(e, first);
		if (!same)
			return attar_fail(-EINVAL,
				"the events of one -e option differ in the number or types of "
				"column= and key=" ATTAR_FIX
				"give all events the same columns and key");
	}
	if (!first)
		return attar_fail(
			-ENOENT, "none of the events of -e '%s' exists on this system", events);
	return 0;
}

static int open_stage(struct snoop *s, struct attar_run *run, size_t i, const char *events)
{
	static attar_event_fn *const on_events[STAGES] = {on_start, on_end, on_owner};
	uint32_t first = attar_run_sources(run);
	int r = attar_run_events(run, events, false, on_events[i]);

	s->stages[i].size = sizeof(struct snoop_event);
	s->stages[i].learn = snoop_learn;
	s->stages[i].forget = forget;
	if (r == 0)
		r = by_source_learn(&s->stages[i], run, s, first);
	if (i == OWNERS && !by_source_at(&s->stages[i], 0)) /* a recording without these events */
		return r;
	return r == 0 ? check_columns(&s->stages[i], events) : r;
}

static int open_owners(struct snoop *s, struct attar_run *run)
{
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.key_max = ATTAR_KEY_MAX,
		.open_max = OWNERS_MAX,
		.payload_size = sizeof(struct snoop_owner)};
	int r;

	if (!s->owner_events)
		return 0;
	if (s->texts.n > 1)
		return attar_fail(-EINVAL, "--owners conflicts with pairs of events" ATTAR_FIX
					   "leave out the second -e option");
	s->tcp = tcp_owners_new();
	r = s->tcp ? attar_pairs_new(&opts, &s->owners) : -ENOMEM;
	return r == 0 ? open_stage(s, run, OWNERS, s->owner_events) : r;
}

/*
 * Timers and received packets cause events of TCP in whatever thread they interrupt, which can be
 * one of attar. Events of attar's own connections are few.
 */
static bool happens_in_any_thread(const struct snoop *s)
{
	static const char tcp[] = "tcp:";

	for (size_t i = 0; i < s->texts.n; i++)
		if (strncmp(s->texts.at[i], tcp, strlen(tcp)) != 0)
			return false;
	return true;
}

/*
 * A call that takes as long as --than is read before it ends; with --files and --than 0, as soon as
 * possible, since there is no other way to know the file.
 */
static unsigned read_within_ms(const struct snoop *s)
{
	const uint64_t ms = s->than / 2 / 1000000;

	if (!s->than && !s->files)
		return READ_MS;
	return ms < 1 ? 1 : ms < READ_MS ? (unsigned)ms : READ_MS;
}

static int snoop_open(struct attar_run *run, void *self)
{
	struct snoop *s = self;
	struct attar_pairs_opts opts = {
		.size = sizeof(opts), .key_max = ATTAR_KEY_MAX, .open_max = OPEN_MAX};
	int r = 0;

	if (!s->texts.n || s->texts.n > 2)
		return attar_fail(-EINVAL,
			"snoop requires events" ATTAR_FIX
			"give one -e option, or two for the start and the end of pairs");
	if (s->tasks && s->texts.n == 1 && !s->owner_events)
		return attar_fail(-EINVAL, "--tasks requires pairs of events" ATTAR_FIX
					   "give a second -e option for the ends of the pairs");
	if (s->tasks)
		r = attar_run_select_tasks(run);
	if (r == 0 && happens_in_any_thread(s))
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, s->texts.n == 2);
	/* The ends first: an event that is in both stages ends a pair before it starts the next. */
	for (size_t i = s->texts.n; r == 0 && i-- > 0;)
		r = open_stage(s, run, i, s->texts.at[i]);
	if (r == 0)
		r = open_owners(s, run);
	if (r == 0)
		r = open_summary(s);
	if (r == 0 && s->texts.n == 2 &&
		((struct snoop_event *)by_source_at(&s->stages[0], 0))->reads)
		r = run_read_within(run, read_within_ms(s));
	if (r < 0 || s->texts.n == 1)
		return r;
	s->payload_size =
		sizeof(struct snoop_started) +
		(((struct snoop_event *)by_source_at(&s->stages[0], 0))->n + 1) * VALUE_BYTES;
	s->copy = malloc(s->payload_size);
	opts.payload_size = s->payload_size;
	return s->copy ? attar_pairs_new(&opts, &s->pairs) : -ENOMEM;
}

static void snoop_close(void *self)
{
	struct snoop *s = self;

	for (size_t i = 0; i < STAGES; i++)
		by_source_done(&s->stages[i]);
	attar_pairs_free(s->pairs);
	attar_pairs_free(s->owners);
	tcp_owners_free(s->tcp);
	line_summary_done(&s->summary);
	free(s->copy);
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct snoop, texts, 'e', "event", "EVENTS",
		"print the attributes column=NAME:EXPR of these events; the second -e ends pairs",
		.complete = "event"),
	ATTAR_TEXT(struct snoop, key, 'k', "key", "EXPR",
		"match the events of a pair by this expression (default: by thread)"),
	ATTAR_FLAG(struct snoop, failed, 'x', "failed",
		"only failed system calls: events, or ends of pairs, with a negative field 'ret'"),
	ATTAR_JOINED(struct snoop, name, 'n', "name", "NAMES",
		"only threads with these names, separated by commas; * and ? match"),
	ATTAR_TIME(struct snoop, than, 0, "than", "TIME",
		"only pairs that take at least this time: nanoseconds, or with a unit: 4ms",
		.bare = 1),
	ATTAR_FLAG(struct snoop, files, 0, "files",
		"only pairs whose file, fd_name() in a column of the start, is not a pipe, socket "
		"or terminal"),
	ATTAR_JOINED(struct snoop, columns, 0, "summary", "COLUMNS",
		"end with a summary by these columns of the first event (default: after more than "
		"20 lines, by its first column, or main=)"),
	ATTAR_FLAG(struct snoop, tasks, 0, "tasks",
		"-p, -t and a command select pairs by their thread, or events by their owner, and "
		"events are those of the whole system"),
	ATTAR_TEXT(struct snoop, owner_events, 0, "owners", "EVENTS",
		"the thread of a line is the one with the last of these events with the same key, "
		"or the process of the TCP connection",
		.complete = "event"),
	{0}};

static const struct attar_example examples[] = {
	{"snoop -e 'sched:sched_process_exec//column=FILE:filename/'",
		"programs that are executed"},
	{"snoop -e 'syscalls:sys_enter_read//column=FD:fd/' -e "
	 "'syscalls:sys_exit_read//column=BYTES:ret/' --than 10ms",
		"slow reads"},
	{0}};

const struct attar_profiler profiler_snoop = {
	.name = "snoop",
	.group = "Events",
	.summary = "print chosen values of events or pairs of events as columns",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct snoop),
	.options = options,
	.examples = examples,
	.open = snoop_open,
	.lost = on_lost,
	.turn = snoop_turn,
	.report = snoop_report,
	.close = snoop_close,
};
