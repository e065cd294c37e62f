/* SPDX-License-Identifier: MIT */
/* Matching of starts and ends for multi-trace, and the reports of --impl delay and pair. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "lib/keys.h"
#include "lib/list_options.h"
#include "multi_trace/multi_trace.h"

enum { STEP_BYTES = 256 };

/* ---- matching ---- */

/* The key of a row: its start and end event; with --perins what follows, as far as it fits. */
struct row_key {
	uint32_t relation[2];
	char bytes[ATTAR_KEY_MAX - 2 * sizeof(uint32_t)];
	size_t size; /* of bytes */
};

static void append(struct row_key *key, const char *bytes, size_t n)
{
	size_t room = sizeof(key->bytes) - key->size;

	n = n < room ? n : room;
	memcpy(key->bytes + key->size, bytes, n);
	key->size += n;
}

void pairs_label(struct attar_keyrow *row, const struct attar_thread *thread)
{
	struct row_label *label = row->value;

	if (*label->comm)
		return;
	label->tid = thread->tid;
	snprintf(label->comm, sizeof(label->comm), "%s", thread->comm);
}

/* The thread of a virtual CPU is the thread of this machine, by which the key is known. */
static void label_thread(struct attar_run *run, const struct trace_event *e,
	const struct attar_event *ev, struct row_label *label)
{
	const struct attar_thread *thread = ev->thread;
	struct attar_vcpu vcpu;

	if (e->is_guest && run_vcpu(run, ev, &vcpu)) {
		thread = attar_run_thread(run, vcpu.tid);
		label->tid = vcpu.tid;
	}
	if (!thread)
		return;
	label->tid = thread->tid;
	snprintf(label->comm, sizeof(label->comm), "%s", thread->comm);
}

/* The name of the thread whose ID the key is: that in the event, else of the process table. */
static void label_task(struct attar_run *run, const struct trace_event *e,
	const struct attar_event *ev, const struct key_bytes *key, struct row_label *label)
{
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_thread *thread;
	const char *name = NULL;
	uint64_t tid;
	size_t n = 0;

	memcpy(&tid, key->bytes, sizeof(tid));
	label->tid = (pid_t)tid;
	if (e->owner)
		name = attar_field_string(e->owner, s->raw, s->raw_size, &n);
	if (!n && (thread = attar_run_thread(run, (pid_t)tid))) {
		name = thread->comm;
		n = strlen(name);
	}
	n = n < NAME_BYTES ? n : NAME_BYTES - 1;
	memcpy(label->comm, name ? name : "", n);
}

/* Whether rows are rows of threads, whose IDs are the keys. */
static bool is_of_tasks(const struct multi_trace *m)
{
	const struct trace_event *e = trace_first(m);

	return m->tasks && !e->comm && e->key_kind == KEY_EXPR && attar_expr_columns(e->key) == 1 &&
	       attar_expr_get_column(e->key, 0)->kind == ATTAR_EXPR_NUMBER;
}

int pairs_check_by(const struct multi_trace *m)
{
	const struct trace_event *e = trace_first(m);

	if (!e || is_of_tasks(m) || (!e->comm && e->key_kind == KEY_THREAD && !e->is_guest))
		return 0;
	return attar_fail(-EINVAL,
		"--by requires keys that are threads" ATTAR_FIX
		"use -p, -t or a command without key= and -k, or multi-trace --tasks");
}

uint64_t pairs_number(const struct attar_run *run, const struct multi_trace *m,
	const struct attar_thread *thread, struct row_label *label)
{
	const struct attar_process *process = thread ? thread->process : NULL;

	if (m->by == BY_PROCESS && process && process->comm)
		strncpy(label->comm, process->comm, sizeof(label->comm) - 1);
	return task_by_number(run, m->by, thread);
}

void pairs_add_task_columns(const struct multi_trace *m, struct attar_section *table)
{
	task_by_columns(m->by, table, "");
}

void pairs_add_task(const struct attar_run *run, const struct multi_trace *m,
	struct attar_section *table, uint64_t number, const struct row_label *label)
{
	struct task_key_of key = {.id = m->by == BY_THREAD ? label->tid : (int64_t)number};

	snprintf(key.name, sizeof(key.name), "%.*s", TASK_NAME_BYTES - 1, label->comm);
	task_by_cells(run, m->by, table, &key);
}

/* Whose the key is. NULL: unknown. */
static const struct attar_thread *thread_of(struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *ev, const struct key_bytes *key)
{
	uint64_t tid;

	if (!is_of_tasks(m))
		return ev->thread;
	memcpy(&tid, key->bytes, sizeof(tid));
	return attar_run_thread(run, (pid_t)tid);
}

/* The row of a pair: with --perins, of its key, of a thread under its present name. */
static struct attar_keyrow *find_row(struct attar_run *run, const struct multi_trace *m,
	const struct trace_event *e, const struct attar_event *ev, const struct key_bytes *key,
	const struct start_data *data)
{
	struct row_key row_key = {.relation = {data->event, (uint32_t)(e - m->events)}};
	struct row_label label = {0};
	struct attar_keyrow *row;

	if (m->by != BY_THREAD) {
		const uint64_t number = pairs_number(run, m, thread_of(run, m, ev, key), &label);

		append(&row_key, (const char *)&number, sizeof(number));
	} else if (m->perins && m->events[data->event].comm)
		append(&row_key, data->name, data->name_size);
	else if (m->perins)
		append(&row_key, key->bytes, key->size);
	if (m->perins && m->by == BY_THREAD && e->key_kind == KEY_THREAD)
		label_thread(run, e, ev, &label);
	else if (m->perins && m->by == BY_THREAD && is_of_tasks(m)) {
		const uint64_t life = task_by_life(thread_of(run, m, ev, key));

		label_task(run, e, ev, key, &label);
		append(&row_key, (const char *)&life, sizeof(life));
	}
	if (m->by == BY_THREAD)
		append(&row_key, label.comm, strlen(label.comm));
	row = attar_keytable_at(m->table, &row_key, sizeof(row_key.relation) + row_key.size);
	if (row)
		memcpy(row->value, &label, sizeof(label));
	return row;
}

struct attar_keyrow *pairs_row_of(const struct multi_trace *m, uint32_t start, uint32_t end,
	const char *name, size_t name_size)
{
	struct row_key row_key = {.relation = {start, end}};

	append(&row_key, name, name_size);
	return attar_keytable_at(m->table, &row_key, sizeof(row_key.relation) + row_key.size);
}

/* On the time line the pair is on the track of its key. */
static int add_span(struct attar_run *run, const struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev, const struct key_bytes *key,
	const struct attar_start *started)
{
	const struct start_data *data = started->payload;
	char name[2 * NAME_BYTES], track[2 * NAME_BYTES];
	struct attar_span span = {.begin = started->time,
		.end = ev->time,
		.thread = e->key_kind == KEY_THREAD ? ev->thread : NULL,
		.cpu = (int32_t)ev->cpu,
		.category = "pair",
		.name = name};

	snprintf(name, sizeof(name), "%s > %s", m->events[data->event].name, e->name);
	if (e->key_kind == KEY_EXPR) {
		keys_text(e->key, key->bytes, key->size, track, sizeof(track));
		span.track = track;
	}
	return attar_run_add_span(run, &span);
}

static int end_pair(struct attar_run *run, struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev, const struct key_bytes *key,
	const struct attar_start *started, uint64_t sequence)
{
	const struct start_data *data = started->payload;
	uint64_t latency = ev->time - started->time;
	struct attar_keyrow *row;
	int r = 0;

	if (!pairs_wants(run, m, ev, !e->host && !e->is_guest, latency))
		return 0;
	if (attar_run_wants(run, ATTAR_WANT_SPANS))
		r = add_span(run, m, e, ev, key, started);
	row = find_row(run, m, e, ev, key, data);
	if (!row)
		return -ENOMEM;
	if (r == 0 && m->detail)
		r = detail_pair(run, m, started, sequence, ev->time);
	if (r == 0 && m->heatmap)
		r = heatmap_add(
			m->heatmap, m->events[data->event].name, e->name, ev->time, latency);
	return r < 0 ? r : pairs_add(m, row, latency);
}

/* The name of comm=, as text. */
static void name_start(
	struct start_data *data, const struct trace_event *e, const struct attar_event *ev)
{
	struct attar_expr_record record;
	struct attar_expr_value name;

	attar_event_get_expr_record(ev, &record);
	attar_expr_eval(e->comm, &record, &name);
	if (!name.bytes) {
		data->name_size =
			(uint32_t)snprintf(data->name, NAME_BYTES, "%lld", (long long)name.number);
		return;
	}
	data->name_size = (uint32_t)(name.len < NAME_BYTES ? name.len : NAME_BYTES);
	memcpy(data->name, name.bytes, data->name_size);
}

static void start_pair(struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev, const struct key_bytes *key, const struct attar_stamp *at,
	uint64_t sequence)
{
	struct attar_start *start =
		attar_pairs_start(m->steps[e->stage], key->bytes, key->size, at);
	struct start_data *data;

	if (!start)
		return;
	data = start->payload;
	data->event = (uint32_t)(e - m->events);
	data->tid = (uint32_t)ev->thread->tid;
	data->sequence = sequence;
	if (e->comm && m->perins)
		name_start(data, e, ev);
}

/* Of all tasks, or the key, one number, is a selected one. */
static bool is_selected(
	struct attar_run *run, const struct multi_trace *m, const struct key_bytes *key)
{
	const struct attar_thread *thread;
	uint64_t tid;

	if (!m->selects && !m->filter)
		return true;
	memcpy(&tid, key->bytes, sizeof(tid));
	thread = attar_run_thread(run, (pid_t)tid);
	if (!thread || (m->filter && !names_match(m->filter, thread->comm)))
		return false;
	return !m->selects || attar_run_is_selected(run, thread);
}

/* Those that the stage allows and role= selects. */
static unsigned selected_roles(const struct trace_event *e, const struct attar_event *ev)
{
	struct attar_expr_record record;

	if (!e->role)
		return e->roles;
	attar_event_get_expr_record(ev, &record);
	return e->roles & (unsigned)attar_expr_number(e->role, &record);
}

/* Pairs of the command that end before its exec are left out. */
static bool is_held(struct attar_run *run, struct multi_trace *m, const struct key_bytes *key)
{
	uint64_t tid;

	if (!m->tasks || m->held.is_over)
		return false;
	memcpy(&tid, key->bytes, sizeof(tid));
	return held_command_is(&m->held, run, (pid_t)tid);
}

void pairs_exec(struct multi_trace *m, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const size_t size = m->impl->start_size + (m->perins ? m->impl->name_size : 0);
	const uint64_t key = ev->record->comm.tid;
	char payload[sizeof(struct start_data)];

	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++) {
		const struct attar_start *open =
			held_command_end_pair(m->steps[i], &key, sizeof(key), &at);
		struct attar_start *start;

		if (!open || size > sizeof(payload))
			continue;
		memcpy(payload, open->payload, size);
		start = attar_pairs_start(m->steps[i], &key, sizeof(key), &at);
		if (start)
			memcpy(start->payload, payload, size);
	}
}

/* An end under a name that --filter leaves out: no later end belongs to the open start. */
static void drop_renamed(const struct multi_trace *m, const struct trace_event *e, unsigned roles,
	const struct key_bytes *key)
{
	uint32_t before = (e->stage + m->n_stages - 1) % m->n_stages;

	if (m->filter && roles & ROLE_END)
		attar_pairs_drop(m->steps[before], key->bytes, key->size);
}

/* An event first ends a pair with the stage before, then starts one. */
int pairs_event(struct attar_run *run, struct multi_trace *m, const struct trace_event *e,
	const struct attar_event *ev, uint64_t sequence)
{
	struct attar_stamp at = attar_event_get_stamp(ev);
	unsigned roles = selected_roles(e, ev);
	const struct attar_start *started;
	struct key_bytes key;
	int r = 0;

	if (!roles) {
		if (m->selects || m->filter)
			attar_run_pass_over(run);
		return 0;
	}
	if (!trace_key(run, e, ev, &key)) {
		e->is_guest ? m->unknown_vcpus++ : m->unknown_threads++;
		return 0;
	}
	if (!is_selected(run, m, &key)) {
		drop_renamed(m, e, roles, &key);
		attar_run_pass_over(run);
		return 0;
	}
	if (m->detail && detail_is_of_pairs(m))
		sequence = detail_keep(run, m, e, ev);
	if (roles & ROLE_END) {
		uint32_t before = (e->stage + m->n_stages - 1) % m->n_stages;

		if (is_held(run, m, &key))
			held_command_end_pair(m->steps[before], key.bytes, key.size, &at);
		else if ((started = attar_pairs_end(m->steps[before], key.bytes, key.size, &at)))
			r = end_pair(run, m, e, ev, &key, started, sequence);
	}
	if (roles & ROLE_START)
		start_pair(m, e, ev, &key, &at, sequence);
	return r;
}

/* ---- life ---- */

/* Whether all events of a key are of one CPU: the losses of others do not matter. */
static bool is_of_cpu(const struct multi_trace *m)
{
	const struct trace_event *first = trace_first(m);

	return first && first->key_kind == KEY_CPU;
}

/* At least 8 bytes: the bytes of a number. */
static size_t longest_key(const struct multi_trace *m)
{
	size_t longest = sizeof(uint64_t);

	for (uint32_t i = 0; i < m->n_events; i++) {
		size_t size = m->events[i].key ? attar_expr_key_size(m->events[i].key) : 0;

		longest = size > longest ? size : longest;
	}
	return longest < ATTAR_KEY_MAX ? longest : ATTAR_KEY_MAX;
}

int pairs_open(struct multi_trace *m)
{
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.flags = is_of_cpu(m) ? ATTAR_PAIRS_ONE_CPU : 0,
		.payload_size = m->impl->start_size + (m->perins ? m->impl->name_size : 0),
		.key_max = longest_key(m)};
	const struct attar_keytable_opts table = {.size = sizeof(table),
		.sums = SUMS,
		.hists = 1,
		.value_size = sizeof(struct row_label),
		.key_max = ATTAR_KEY_MAX,
		.keys_max = KEYS_MAX,
		.rank = SUM_TOTAL};
	uint32_t n = m->cycle ? m->n_stages : m->n_stages - 1;
	int r = attar_keytable_new(&table, &m->table);

	for (uint32_t i = 0; r == 0 && i < n; i++)
		r = attar_pairs_new(&opts, &m->steps[i]);
	return r;
}

void pairs_close(struct multi_trace *m)
{
	for (uint32_t i = 0; i < STAGES_MAX; i++)
		attar_pairs_free(m->steps[i]);
	attar_keytable_free(m->table);
}

/* ---- reports ---- */

void pairs_add_columns(const struct multi_trace *m, struct attar_section *table)
{
	static const char *const times[] = {"total", "min", "p50", "p95", "p99", "max"};

	attar_section_column(table, "calls", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		attar_section_column(table, times[i], ATTAR_UNIT_NS);
	if (m->avg)
		attar_section_column(table, "avg", ATTAR_UNIT_NS);
	if (m->than)
		attar_section_column(table, "than", ATTAR_UNIT_COUNT);
	if (m->lower)
		attar_section_column(table, "lower", ATTAR_UNIT_COUNT);
}

void pairs_add_cells(const struct multi_trace *m, struct attar_section *table,
	const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);

	attar_cell_hist(table, &sums->hists[0]);
	if (m->avg && sums->hists[0].count)
		attar_cell_double(table, attar_hist_mean(&sums->hists[0]));
	else if (m->avg)
		attar_cell_none(table);
	if (m->than)
		attar_cell_u64(table, sums->sums[SUM_THAN]);
	if (m->lower)
		attar_cell_u64(table, sums->sums[SUM_LOWER]);
}

static void add_key_columns(const struct multi_trace *m, struct attar_section *table)
{
	const struct trace_event *e = trace_first(m);

	if (m->by != BY_THREAD)
		pairs_add_task_columns(m, table);
	else if (e->comm)
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	else if (m->printkey)
		keys_add_printed_column(table, m->printkey_of);
	else if (e->key_kind == KEY_EXPR)
		keys_add_columns(table, e->key);
	else
		attar_section_column(table, e->key_kind == KEY_CPU ? "cpu" : "tid", ATTAR_UNIT_ID);
	if (m->by == BY_THREAD && (is_of_tasks(m) || (!e->comm && e->key_kind == KEY_THREAD)))
		attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
}

/* A key of one number, as printkey= shows it. */
static void add_printed(struct attar_run *run, const struct multi_trace *m,
	struct attar_section *table, const struct trace_event *e, const char *bytes, size_t size)
{
	struct attar_expr_value value;

	attar_expr_key_value(e->key, bytes, size, 0, &value);
	keys_add_printed(run, table, m->printkey_of, m->printkey, value.number);
}

static void add_key_cells(struct attar_run *run, const struct multi_trace *m,
	struct attar_section *table, const struct trace_event *start, const struct trace_event *e,
	const struct attar_keyrow *row)
{
	const struct row_label *label = row->value;
	const size_t skip = sizeof(((struct row_key *)0)->relation);
	const char *bytes = (const char *)row->key + skip;
	uint64_t cpu, number;

	if (m->by != BY_THREAD) {
		memcpy(&number, bytes, sizeof(number));
		pairs_add_task(run, m, table, number, label);
	} else if (start->comm) {
		keys_add_text(table, bytes, row->key_size - skip);
	} else if (e->key_kind == KEY_EXPR) {
		if (m->printkey)
			add_printed(run, m, table, e, bytes, row->key_size - skip);
		else
			keys_add_cells(table, e->key, bytes, row->key_size - skip);
		if (is_of_tasks(m))
			attar_cell_text(table, label->comm);
	} else if (e->key_kind == KEY_CPU) {
		memcpy(&cpu, bytes, sizeof(cpu));
		attar_cell_u64(table, cpu);
	} else {
		attar_cell_i64(table, label->tid);
		attar_cell_text(table, label->comm);
	}
}

static void add_row(struct attar_run *run, const struct multi_trace *m, struct attar_section *table,
	const struct attar_keyrow *row, enum attar_scope scope)
{
	uint32_t relation[2];

	memcpy(relation, row->key, sizeof(relation));
	attar_section_row(table);
	if (m->perins)
		add_key_cells(run, m, table, &m->events[relation[0]], &m->events[relation[1]], row);
	attar_cell_text(table, m->events[relation[0]].name);
	attar_cell_text(table, m->events[relation[1]].name);
	if (m->impl == &trace_impl_pair)
		attar_cell_u64(table, attar_keyrow_sums(row, scope)->hists[0].count);
	else
		pairs_add_cells(m, table, row, scope);
}

static int report_rows(struct attar_run *run, struct multi_trace *m, struct attar_section *table,
	enum attar_scope scope)
{
	size_t n = attar_keytable_keys(m->table);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(struct attar_keyrow *));

	if (!rows)
		return -ENOMEM;
	n = attar_keytable_top(m->table, scope, SUM_TOTAL, rows, n);
	for (size_t i = 0; i < n; i++)
		add_row(run, m, table, rows[i], scope);
	free(rows);
	return 0;
}

static struct attar_section *add_table(struct multi_trace *m, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "pairs");

	if (m->perins)
		add_key_columns(m, table);
	attar_section_column(table, "start", ATTAR_UNIT_TEXT);
	attar_section_column(table, "end", ATTAR_UNIT_TEXT);
	return table;
}

/* The times of all pairs together. */
static int report_hist(struct multi_trace *m, struct attar_report *report, enum attar_scope scope)
{
	struct attar_hist sum = {0};
	const struct attar_keyrow *row = NULL, *others = attar_keytable_others(m->table);
	int r = attar_hist_merge(&sum, &attar_keyrow_sums(others, scope)->hists[0]);

	while (r == 0 && (row = attar_keytable_next(m->table, row)))
		r = attar_hist_merge(&sum, &attar_keyrow_sums(row, scope)->hists[0]);
	if (r == 0)
		attar_report_hist(report, "times", ATTAR_UNIT_NS, &sum);
	attar_hist_done(&sum);
	return r;
}

int pairs_check(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
	enum attar_scope scope)
{
	const struct attar_keyrow *row = NULL;
	struct thread_seen *seen;
	size_t n = 0;
	int r;

	/* what these select is not all of the time of a thread */
	if (!m->counted_time || !m->perins || m->by != BY_THREAD || m->filter || m->only_than ||
		!is_of_tasks(m))
		return 0;
	seen = calloc(attar_keytable_keys(m->table) + 1, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	while ((row = attar_keytable_next(m->table, row))) {
		seen[n].tid = (pid_t)((const struct row_label *)row->value)->tid;
		seen[n++].times[m->counted_time - 1] =
			attar_keyrow_sums(row, scope)->sums[SUM_TOTAL];
	}
	r = thread_check_report(
		run, &m->check, report, scope, seen, n, 1U << (m->counted_time - 1));
	free(seen);
	return r;
}

static int report_delay(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
	enum attar_scope scope)
{
	struct attar_section *table = add_table(m, report);
	int r;

	pairs_add_columns(m, table);
	r = report_rows(run, m, table, scope);
	return r == 0 && m->hist ? report_hist(m, report, scope) : r;
}

/* ---- unpaired events ---- */

/* An event that a program registers has the name of the event of -e. */
static bool is_repeated(const struct multi_trace *m, uint32_t number)
{
	const struct trace_event *e = &m->events[number];

	for (uint32_t i = 0; i < number; i++)
		if (m->events[i].stage == e->stage && !strcmp(m->events[i].name, e->name))
			return true;
	return false;
}

/* "A,B" */
static size_t add_names(const struct multi_trace *m, uint32_t stage, char *text, size_t max)
{
	size_t n = 0;

	for (uint32_t i = 0; i < m->n_events && n < max; i++)
		if (m->events[i].roles && m->events[i].stage == stage && !is_repeated(m, i))
			n += (size_t)snprintf(
				text + n, max - n, "%s%s", n ? "," : "", m->events[i].name);
	return n < max ? n : max - 1;
}

/* The statistics of a step for a report. */
static void get_stats(struct multi_trace *m, uint32_t step, enum attar_scope scope,
	struct attar_pairs_stats *ret_stats)
{
	if (scope == ATTAR_SCOPE_INTERVAL)
		attar_pairs_get_interval(m->steps[step], ret_stats);
	else
		attar_pairs_get_stats(m->steps[step], ret_stats);
}

/* "A,B > C" */
static void name_step(const struct multi_trace *m, uint32_t step, char text[STEP_BYTES])
{
	size_t n = add_names(m, step, text, STEP_BYTES);

	n += (size_t)snprintf(text + n, STEP_BYTES - n, " > ");
	if (n < STEP_BYTES)
		add_names(m, (step + 1) % m->n_stages, text + n, STEP_BYTES - n);
}

static int report_pair(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
	enum attar_scope scope)
{
	struct attar_section *table = add_table(m, report);
	struct attar_pairs_stats stats;
	char name[STEP_BYTES];
	int r;

	attar_section_column(table, "pairs", ATTAR_UNIT_COUNT);
	r = report_rows(run, m, table, scope);
	table = attar_report_table(report, "unpaired");
	attar_section_column(table, "pair", ATTAR_UNIT_TEXT);
	attar_section_column(table, "event", ATTAR_UNIT_TEXT);
	attar_section_column(table, "reason", ATTAR_UNIT_TEXT);
	attar_section_column(table, "events", ATTAR_UNIT_COUNT);
	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++) {
		get_stats(m, i, scope, &stats);
		name_step(m, i, name);
		for (int reason = 0; reason < ATTAR_UNPAIRED_REASONS; reason++) {
			if (!stats.unpaired[reason])
				continue;
			attar_section_row(table);
			attar_cell_text(table, name);
			attar_cell_text(table, reason < ATTAR_UNPAIRED_END ? "start" : "end");
			attar_cell_text(table, attar_unpaired_text((enum attar_unpaired)reason));
			attar_cell_u64(table, stats.unpaired[reason]);
		}
	}
	return r;
}

/*
 * Events of pairs can occur in tasks that are not selected: ends in kernel threads, and starts,
 * such as wakeups, in the tasks that cause them.
 */
static void add_elsewhere(struct attar_run *run, struct multi_trace *m, struct attar_report *report)
{
	struct attar_pairs_stats stats;
	char name[STEP_BYTES];

	if (m->tasks || !m->n_events || !attar_run_is_live(run) ||
		attar_run_target_kind(run) == ATTAR_TARGET_SYSTEM)
		return;
	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++) {
		bool lacks_starts;

		attar_pairs_get_stats(m->steps[i], &stats);
		lacks_starts = stats.unpaired[ATTAR_UNPAIRED_END] > stats.starts;
		if (!lacks_starts && (!stats.starts || stats.pairs))
			continue;
		name_step(m, i, name);
		attar_report_remark(report,
			"%s of %s %s: %s may be events of other tasks, such as %s, or of "
			"interrupts there; -a records the events of all tasks%s",
			lacks_starts ? "most ends" : "no start", name,
			lacks_starts ? "have no start" : "has an end",
			lacks_starts ? "starts" : "ends",
			lacks_starts ? "wakeups" : "kernel threads",
			trace_first(m)->key_kind == KEY_EXPR
				? ""
				: ", and -k, or key= of each event, relates events of different "
				  "tasks");
	}
}

static void add_unpaired(struct multi_trace *m, struct attar_report *report, enum attar_scope scope)
{
	struct attar_pairs_stats stats;
	char name[STEP_BYTES];

	for (uint32_t i = 0; i < STAGES_MAX && m->steps[i]; i++) {
		get_stats(m, i, scope, &stats);
		if (m->n_events)
			name_step(m, i, name);
		attar_report_unpaired(report, &stats, m->n_events ? name : "system calls");
	}
}

static void add_faults(const struct attar_expr *expr, uint64_t *absent, uint64_t *by_zero)
{
	struct attar_expr_faults faults;

	if (!expr)
		return;
	attar_expr_get_faults(expr, &faults);
	*absent += faults.absent;
	*by_zero += faults.by_zero;
}

static void add_unknown(struct attar_report *report, uint64_t n, const char *what)
{
	if (n)
		attar_report_remark(report, "%llu event%s of %s %s not matched",
			(unsigned long long)n, n == 1 ? "" : "s", what, n == 1 ? "was" : "were");
}

void pairs_add_remarks(struct attar_run *run, struct multi_trace *m, struct attar_report *report,
	enum attar_scope scope)
{
	uint64_t absent = 0, by_zero = 0;

	if (m->impl != &trace_impl_pair)
		add_unpaired(m, report, scope);
	add_elsewhere(run, m, report);
	attar_report_evicted(report, m->table, "keys");
	detail_add_remark(m, report);
	for (uint32_t i = 0; i < m->n_events; i++) {
		add_faults(m->events[i].key, &absent, &by_zero);
		add_faults(m->events[i].role, &absent, &by_zero);
	}
	if (absent || by_zero)
		attar_report_remark(report,
			"key= and role= that could not be computed count as 0: %llu with an absent "
			"field, %llu division%s by zero",
			(unsigned long long)absent, (unsigned long long)by_zero,
			by_zero == 1 ? "" : "s");
	add_unknown(report, m->unknown_threads, "exiting threads, whose ID is unknown,");
	add_unknown(report, m->unknown_vcpus, "virtual CPUs whose thread is unknown");
}

const struct trace_impl trace_impl_delay = {.name = "delay",
	.start_size = offsetof(struct start_data, name),
	.name_size = NAME_BYTES,
	.report = report_delay};
const struct trace_impl trace_impl_pair = {.name = "pair",
	.start_size = offsetof(struct start_data, name),
	.name_size = NAME_BYTES,
	.report = report_pair};
