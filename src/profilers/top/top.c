/* SPDX-License-Identifier: MIT */
/*
 * top: counts events, and sums expressions on them, by key. Each event adds its columns to one
 * table; rows with the same key are one row.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/run.h"
#include "lib/counted_event.h"
#include "top/top.h"

/* LATE_COLUMNS: for events that appear during the run. */
enum { LATE_COLUMNS = 8, KEYS_MAX = 65536 };

/* ---- columns ---- */

static int too_many(void)
{
	return attar_fail(-E2BIG,
		"more than %d value columns" ATTAR_FIX "use fewer events, top-by or top-add",
		TOP_COLUMNS_MAX);
}

/* The column that has the sum of a new one; n_columns: itself. */
static size_t find_sum(
	const struct top *top, const struct top_event *e, const char *name, bool is_named)
{
	const char *user_event = e->spec ? e->spec->user_event : NULL;

	for (size_t i = 0; i < top->n_columns; i++) {
		const struct top_column *c = &top->columns[i];
		bool is_same = user_event && c->user_event && i < e->first &&
			       !strcmp(c->user_event, user_event);

		if ((is_named || is_same) && !strcmp(c->name, name))
			return c->at;
	}
	return top->n_columns;
}

static int add_column(struct top *top, const struct top_event *e, const char *name, bool is_named,
	struct attar_expr *sum)
{
	size_t at = find_sum(top, e, name, is_named);

	if (top->n_columns == top->columns_max) {
		attar_expr_free(sum);
		return too_many();
	}
	top->columns[top->n_columns].at = at;
	top->columns[top->n_columns].user_event = e->spec ? e->spec->user_event : NULL;
	top->columns[top->n_columns].sum = sum;
	top->columns[top->n_columns].is_signed = sum && attar_expr_get_column(sum, 0)->is_signed;
	snprintf(top->columns[top->n_columns++].name, KEYS_NAME_BYTES, "%s", name);
	return 0;
}

/*
 * A column for each top-by and top-add; rows are sorted by the first top-by. The first column of an
 * event has its alias, if it has no NAME: of its own.
 */
static int add_sum(struct attar_run *run, struct top *top, uint32_t source,
	const struct attar_event_option *option)
{
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .flags = ATTAR_EXPR_CONDITION, .what = option->name};
	const struct attar_event_spec *spec = top->of[source].spec;
	char name[KEYS_NAME_BYTES];
	const char *text;
	struct attar_expr *sum;
	int r;

	if (!strcmp(option->name, "top-by") && !top->has_by) {
		top->has_by = true;
		top->rank = top->n_columns;
	} else if (strcmp(option->name, "top-by") && strcmp(option->name, "top-add")) {
		return 0;
	}
	text = keys_column(option, name);
	if (text == option->value && spec->alias && top->n_columns == top->of[source].first)
		snprintf(name, sizeof(name), "%s", spec->alias);
	r = attar_run_expr(run, source, text, &opts, &sum);
	return r < 0 ? r : add_column(top, &top->of[source], name, text != option->value, sum);
}

static int add_columns(struct attar_run *run, struct top *top, uint32_t source)
{
	struct top_event *e = &top->of[source];
	const struct attar_event_spec *spec = e->spec;
	int r = 0;

	e->first = top->n_columns;
	for (size_t i = 0; r == 0 && spec && i < spec->n_options; i++)
		r = add_sum(run, top, source, &spec->options[i]);
	if (r == 0 && top->n_columns == e->first)
		r = add_column(top, e, attar_run_source_name(run, source), false, NULL);
	e->n = top->n_columns - e->first;
	return r;
}

/* ---- keys and names ---- */

static attar_repeats_fn on_repeats;

static void set_plain(struct attar_run *run, const struct top *top, uint32_t source)
{
	struct top_event *e = &top->of[source];

	e->events = sample_events_of_source(run, source);
	e->sum = top->columns[e->first].at;
	e->field = e->key ? expr_get_field(e->key) : NULL;
	e->is_plain = !top->only_comm && !e->comm && (!e->key || e->field) && e->n == 1 &&
		      !top->columns[e->first].sum && e->events.fixed == 1;
	run_source_repeats(run, source, e->is_plain ? on_repeats : NULL);
}

static int top_learn(struct attar_run *run, struct top *top, uint32_t source)
{
	struct top_event *e = &top->of[source];
	int r;

	e->spec = attar_run_source_spec(run, source);
	r = add_columns(run, top, source);
	if (r == 0)
		r = keys_compile(run, source, "key", top->key, ATTAR_EXPR_KEY, &e->key);
	if (r == 0 && e->key && top->by_text)
		r = attar_fail(-EINVAL,
			"'%s': --by conflicts with key=", attar_run_source_name(run, source));
	if (r == 0)
		r = keys_compile(run, source, "comm", NULL, ATTAR_EXPR_KEY, &e->comm);
	if (r == 0)
		r = keys_compile(run, source, "printkey", NULL, 0, &e->print);
	set_plain(run, top, source);
	return r == 0 && e->print && e->key ? keys_check_printed(e->spec, e->key) : r;
}

/* Rows are joined by key: a number and a name are never equal. */
static int check_key(struct attar_run *run, const struct top *top, uint32_t source)
{
	if (top->only_comm || keys_are_alike(top->of[0].key, top->of[source].key))
		return 0;
	if (!top->of[0].key != !top->of[source].key)
		return attar_fail(-EINVAL,
			"'%s' has a key, and '%s' has none" ATTAR_FIX
			"set key= of each event, or of none",
			attar_run_source_name(run, top->of[0].key ? 0 : source),
			attar_run_source_name(run, top->of[0].key ? source : 0));
	return attar_fail(-EINVAL,
		"the keys of '%s' and '%s' have different types" ATTAR_FIX
		"let all be numbers, or all be text",
		attar_run_source_name(run, 0), attar_run_source_name(run, source));
}

/* Whether rows have a name besides their key. */
static bool has_names(const struct top *top)
{
	bool has = false;

	for (uint32_t i = 0; i < top->n_of; i++)
		has |= top->of[i].comm || (!top->of[i].key && top->by == BY_THREAD);
	return has && !top->only_comm;
}

/* Events can appear during the run, with other formats. */
static int learn_new(struct attar_run *run, struct top *top)
{
	uint32_t n = attar_run_sources(run);
	struct top_event *of = realloc(top->of, n * sizeof(*of));
	int r = 0;

	if (!of)
		return -ENOMEM;
	memset(of + top->n_of, 0, (n - top->n_of) * sizeof(*of));
	top->of = of;
	for (; r == 0 && top->n_of < n; top->n_of++) {
		r = top_learn(run, top, top->n_of);
		if (r == 0)
			r = check_key(run, top, top->n_of);
	}
	top->has_names = has_names(top);
	return r;
}

static void free_exprs(struct top_event *e)
{
	attar_expr_free(e->key);
	attar_expr_free(e->comm);
	attar_expr_free(e->print);
}

/*
 * Once the events are open: the sources of a pattern that the kernel refused are no longer sources,
 * and the others have been renumbered.
 */
static void drop_refused(struct attar_run *run, struct top *top)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < top->n_of; i++) {
		struct top_event *e = &top->of[i];

		if (e->spec == attar_run_source_spec(run, kept)) {
			top->of[kept++] = *e;
			continue;
		}
		for (size_t c = e->first; c < e->first + e->n; c++)
			top->columns[c].is_refused = true;
		free_exprs(e);
	}
	top->n_of = kept;
	top->has_names = has_names(top);
	while (top->rank + 1 < top->n_columns && top->columns[top->rank].is_refused)
		top->rank++;
}

/* ---- counting ---- */

/* Rows of processes have a name that is not of the keys. */
static inline bool keeps_names(const struct top *top)
{
	return top->has_names || top->by == BY_PROCESS;
}

/* The name for the row: comm=, or the name of the thread. */
static void set_name(const struct top *top, struct top_label *label, const struct top_event *e,
	const struct attar_event *ev, const struct attar_expr_record *record)
{
	const struct attar_process *process = top->by == BY_PROCESS ? ev->thread->process : NULL;
	struct attar_expr_value name = {
		.bytes = process && process->comm ? process->comm : ev->thread->comm};

	if (e->comm)
		attar_expr_eval(e->comm, record, &name);
	else
		name.len = strlen(name.bytes);
	label->hash = e->comm ? 0 : ev->thread->comm_hash;
	if (!name.bytes) {
		label->len = (uint32_t)snprintf(
			label->comm, TOP_NAME_BYTES, "%lld", (long long)name.number);
		return;
	}
	label->len = (uint32_t)(name.len < TOP_NAME_BYTES ? name.len : TOP_NAME_BYTES - 1);
	memcpy(label->comm, name.bytes, label->len);
}

/*
 * Threads that have the same tid one after the other are different. Those that exit have the tid
 * -1: they are one row, though their processes differ.
 */
static uint64_t key_of_thread(
	const struct attar_run *run, const struct top *top, const struct attar_thread *thread)
{
	if (top->by != BY_THREAD)
		return task_by_number(run, top->by, thread);
	if (thread->tid < 0)
		return (uint32_t)thread->tid;
	return thread->serial << 32 | (uint32_t)thread->tid;
}

/* The row of the event's key, which is a thread unless key= says otherwise. */
static struct attar_keyrow *find_row(const struct attar_run *run, struct top *top,
	const struct top_event *e, const struct attar_event *ev,
	const struct attar_expr_record *record)
{
	char key[ATTAR_EXPR_KEY_MAX];
	struct top_label label;
	size_t n;

	if (top->only_comm) {
		set_name(top, &label, e, ev, record);
		return attar_keytable_at(top->table, label.comm, label.len);
	}
	if (!e->key)
		return attar_keytable_at_u64(top->table, key_of_thread(run, top, ev->thread));
	n = attar_expr_key(e->key, record, key, sizeof(key));
	return attar_keytable_at(top->table, key, n < ATTAR_KEY_MAX ? n : ATTAR_KEY_MAX);
}

static void add_to_sum(const struct top *top, struct attar_keyrow *row, const struct top_column *c,
	const struct attar_expr_record *record, uint64_t events)
{
	uint64_t n = c->sum ? attar_expr_number(c->sum, record) : events;

	keysums_add(&row->interval, top->columns_max, c->at, n, top->columns[c->at].is_signed);
}

/* Events with any attributes. */
static int top_count(const struct attar_run *run, struct top *top, const struct top_event *e,
	const struct attar_event *ev)
{
	struct attar_expr_record record;
	const uint64_t events = sample_events_get(&e->events, ev);
	struct attar_keyrow *row;
	struct top_label *label;

	attar_event_get_expr_record(ev, &record);
	row = find_row(run, top, e, ev, &record);
	if (!row)
		return -ENOMEM;
	for (size_t i = e->first; i < e->first + e->n; i++)
		add_to_sum(top, row, &top->columns[i], &record, events);
	label = row->value;
	if (keeps_names(top) && (e->comm || !label->len || label->hash != ev->thread->comm_hash))
		set_name(top, label, e, ev, &record);
	label->source = ev->counter;
	return 0;
}

/* The name of the thread, which can be new or have changed. */
static __attribute__((noinline)) int rename_row(const struct top *top, struct top_label *label,
	const struct top_event *e, const struct attar_event *ev)
{
	set_name(top, label, e, ev, NULL);
	return 0;
}

/* Adds n events to the row of a key. */
static inline int add_plain(struct top *top, const struct top_event *e,
	const struct attar_event *ev, uint64_t key, uint64_t n)
{
	struct attar_keyrow *row = attar_keytable_at_u64(top->table, key);
	struct top_label *label;

	if (!row)
		return -ENOMEM;
	label = row->value;
	row->interval.sums[e->sum] += n;
	label->source = ev->counter;
	if (!keeps_names(top) || (label->len && label->hash == ev->thread->comm_hash))
		return 0;
	return rename_row(top, label, e, ev);
}

/* Whether a sample has the field of the key. */
static inline bool has_key(const struct top_event *e, size_t raw_size)
{
	return !e->field || (size_t)e->field->offset + e->field->size <= raw_size;
}

/* The usual case. */
static int count_plain(const struct attar_run *run, struct top *top, const struct top_event *e,
	const struct attar_event *ev)
{
	const struct attar_sample *s = &ev->record->sample;

	if (!has_key(e, s->raw_size))
		return top_count(run, top, e, ev);
	return add_plain(top, e, ev,
		e->field ? attar_field_u64(e->field, s->raw, s->raw_size)
			 : key_of_thread(run, top, ev->thread),
		1);
}

/* The first event, or one of a source that is new. */
static __attribute__((noinline)) int top_begin(
	struct attar_run *run, struct top *top, const struct attar_event *ev)
{
	int r;

	if (!top->n_ready) {
		drop_refused(run, top);
		for (uint32_t i = 0; i < top->n_of; i++) /* recorded events have their own period */
			set_plain(run, top, i);
	}
	r = ev->counter < top->n_of ? 0 : learn_new(run, top);
	top->n_ready = top->n_of;
	return r < 0 ? r : top_count(run, top, &top->of[ev->counter], ev);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct top *top = self;
	const struct top_event *e;

	if (ev->counter >= top->n_ready)
		return top_begin(run, top, ev);
	e = &top->of[ev->counter];
	return e->is_plain ? count_plain(run, top, e, ev) : top_count(run, top, e, ev);
}

/* Events that are counted by count_plain(). */
static int on_repeats(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct attar_repeats *repeats)
{
	const size_t size = ev->record->sample.raw_size;
	const char *raw = repeats->raw;
	struct top *top = self;
	const struct top_event *e = &top->of[ev->counter];
	const bool is_known = has_key(e, size);
	int r = 0;

	if (!e->field)
		return add_plain(top, e, ev, key_of_thread(run, top, ev->thread), repeats->n);
	for (uint64_t i = 0; r == 0 && i < repeats->n; i++, raw += repeats->stride)
		r = is_known ? add_plain(top, e, ev, attar_field_u64(e->field, raw, size), 1)
			     : top_count(run, top, e, ev); /* all lack the field */
	return r;
}

/* ---- counting in the kernel ---- */

/* Whether the numbers of system calls, and nothing else, are counted. */
static bool counts_calls(const struct top *top)
{
	const struct top_event *e = &top->of[0];

	return top->n_of == 1 && e->is_plain && e->field &&
	       !strcmp(attar_expr_get_column(e->key, 0)->name, "id") &&
	       counted_event_is(e->spec, "raw_syscalls:sys_enter");
}

/* Whether a field of a tracepoint, and nothing else, is counted. */
static bool counts_field(const struct top *top, struct counting_field *ret_field)
{
	const struct top_event *e = &top->of[0];

	return top->n_of == 1 && e->is_plain && e->field && !keeps_names(top) &&
	       counted_event_has(e->spec, NULL, e->field, ret_field);
}

static int add_calls(void *ctx, const struct counting_row *counted)
{
	struct top *top = ctx;
	struct attar_keyrow *row = attar_keytable_at_u64(top->table, counted->number);

	if (!row)
		return -ENOMEM;
	row->interval.sums[top->of[0].sum] += counted->errors;
	return 0;
}

/* ---- reporting ---- */

static int top_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct top *top = self;
	int r = run_read_counting(run, add_calls, top);
	struct attar_keyrow **rows;
	size_t n;

	if (r == 0)
		r = attar_keytable_end_interval(top->table);
	while (top->rank + 1 < top->n_columns && top_is_replaced(top, top->rank))
		top->rank++;
	if (r == 0)
		r = attar_keytable_rows(top->table, scope, top->rank, &rows, &n);
	if (r < 0)
		return r;
	top_show(run, top, report, &(struct top_rows){.rows = rows, .n = n, .scope = scope});
	free(rows);
	return 0;
}

/* ---- life ---- */

/* --by says whose the rows are. */
static int open_by(struct attar_run *run, struct top *top)
{
	if (top->by_text && (top->key || top->only_comm))
		return attar_fail(
			-EINVAL, "--by conflicts with %s", top->key ? "--key" : "--only-comm");
	return task_by_parse(run, top->by_text, &top->by);
}

static int top_open(struct attar_run *run, void *self)
{
	struct top *top = self;
	struct attar_keytable_opts opts = {.size = sizeof(opts),
		.value_size = sizeof(struct top_label),
		.key_max = ATTAR_KEY_MAX,
		.keys_max = KEYS_MAX};
	struct counting_field field;
	int r = 0;

	top->columns_max = TOP_COLUMNS_MAX;
	r = open_by(run, top);
	if (r == 0)
		r = attar_run_event_list(run, &top->events, false, on_event);
	if (r == 0)
		r = learn_new(run, top);
	if (r < 0)
		return r;
	top->columns_max = top->n_columns + LATE_COLUMNS < TOP_COLUMNS_MAX
				   ? top->n_columns + LATE_COLUMNS
				   : TOP_COLUMNS_MAX;
	opts.sums = top->columns_max;
	opts.rank = top->rank;
	for (size_t i = 0; i < top->n_columns; i++)
		opts.signed_sums |= (uint64_t)top->columns[i].is_signed << i;
	r = attar_keytable_new(&opts, &top->table);
	if (r == 0 && counts_calls(top))
		r = run_count_in_kernel(run, &(struct counting_what){.kind = COUNTING_CALLS}, NULL);
	else if (r == 0 && counts_field(top, &field))
		r = run_count_in_kernel(
			run, &(struct counting_what){.kind = COUNTING_KEYS, .field = &field}, NULL);
	return r < 0 ? r : 0;
}

static void top_close(void *self)
{
	struct top *top = self;

	for (uint32_t i = 0; i < top->n_of; i++)
		free_exprs(&top->of[i]);
	for (size_t i = 0; i < top->n_columns; i++)
		attar_expr_free(top->columns[i].sum);
	attar_keytable_free(top->table);
	free(top->of);
}

#define T struct top

static const struct attar_option options[] = {
	ATTAR_LIST(T, events, 'e', "event", "EVENT",
		"count these events; attributes: key, comm, top-by, top-add, printkey, alias",
		.complete = "event"),
	ATTAR_TEXT(T, key, 'k', "key", "EXPR",
		"count by the value of this expression on the fields (default: by thread)"),
	ATTAR_TEXT(T, by_text, 0, "by", "WHAT", "count by " TASK_BY_HELP " (default thread)"),
	ATTAR_FLAG(T, only_comm, 0, "only-comm", "count by name instead of key"), {0}};

static const struct attar_example examples[] = {
	{"top -e raw_syscalls:sys_enter -i 1s", "threads that make the most system calls"},
	{"top -e raw_syscalls:sys_enter//key=id/printkey='syscall_name(key)'/ -- ls",
		"system calls of a command"},
	{"top -e 'sched:sched_stat_runtime//top-by=runtime/' --only-comm -i 1s",
		"CPU time by name"},
	{0}};

const struct attar_profiler profiler_top = {
	.name = "top",
	.group = "Events",
	.summary = "count events and sum their fields, by key",
	.uses = ATTAR_USES_RINGS | ATTAR_REDRAWS,
	.needs = "perf events, whole system, tracefs",
	.self_size = sizeof(struct top),
	.options = options,
	.examples = examples,
	.open = top_open,
	.report = top_report,
	.close = top_close,
};
