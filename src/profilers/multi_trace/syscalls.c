/* SPDX-License-Identifier: MIT */
/* multi-trace --impl syscalls: enter and exit of system calls, by thread. */
#include <asm/unistd.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "multi_trace/multi_trace.h"

#include "attar/builtin.h"

enum { ERRNO_MAX = 4095, CALL_BYTES = 128, DEPTH_MAX = 512 /* frames */ };

/* The key of a row with --perins: of a thread under one of its names, or what --by shows. */
struct thread_call {
	uint64_t thread, comm_hash, number;
};

static bool never_returns(uint64_t number)
{
	return number == __NR_exit || number == __NR_exit_group;
}

static inline void enter(struct multi_trace *m, const struct attar_stamp *at, uint64_t number)
{
	struct attar_start *start;

	m->has_begun = true;
	if (never_returns(number))
		return;
	start = attar_pairs_start_u64(m->steps[0], at->task, at);
	if (start)
		*(uint64_t *)start->payload = number;
}

static int on_enter(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct attar_stamp at = attar_event_get_stamp(ev);

	enter(self, &at, attar_arg_u64(ev, 0));
	return 0;
}

static bool creates_task(uint64_t number)
{
	switch (number) {
#ifdef __NR_fork
	case __NR_fork:
	case __NR_vfork:
#endif
	case __NR_clone:
#ifdef __NR_clone3
	case __NR_clone3:
#endif
		return true;
	default:
		return false;
	}
}

/*
 * Whether the call was not entered during the measurement: a new task returns from the call of its
 * creator, and the events of a command begin within its execve().
 */
static bool has_no_entry(struct multi_trace *m, uint64_t number, int64_t ret)
{
	bool is_first = !m->has_begun;

	if (ret == 0 && creates_task(number))
		return true;
	m->has_begun = true;
	return is_first && number == __NR_execve;
}

static struct attar_keyrow *find_row(const struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *ev, uint64_t number)
{
	struct attar_keyrow *row;
	struct thread_call key;

	if (!m->perins)
		return attar_keytable_at_u64(m->table, number);
	if (m->by != BY_THREAD) {
		struct row_label label = {0};

		key = (struct thread_call){pairs_number(run, m, ev->thread, &label), 0, number};
		row = attar_keytable_at(m->table, &key, sizeof(key));
		if (row)
			memcpy(row->value, &label, sizeof(label));
		return row;
	}
	key = (struct thread_call){ev->thread->serial, ev->thread->comm_hash, number};
	row = attar_keytable_at(m->table, &key, sizeof(key));
	if (row)
		pairs_label(row, ev->thread);
	return row;
}

/* "getppid(110)", or without the number. */
static void name_call(
	const struct multi_trace *m, uint64_t number, bool with_number, char text[CALL_BYTES])
{
	const struct attar_expr_value variable = {.number = number};
	const struct attar_expr_record record = {.variables = &variable};
	struct attar_expr_value name;
	size_t n;

	attar_expr_eval(m->syscall_name, &record, &name);
	n = (size_t)snprintf(text, CALL_BYTES, "%.*s", (int)name.len, name.bytes ? name.bytes : "");
	if ((with_number || !n) && n < CALL_BYTES)
		snprintf(text + n, CALL_BYTES - n, "(%lld)", (long long)number);
}

static int add_span(struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *ev, const struct attar_start *started, uint64_t end, int64_t ret)
{
	char name[CALL_BYTES], detail[CALL_BYTES];
	const struct attar_span span = {.begin = started->time,
		.end = end,
		.thread = ev->thread,
		.cpu = (int32_t)ev->cpu,
		.category = "call",
		.name = name,
		.detail = detail};

	name_call(m, *(const uint64_t *)started->payload, false, name);
	snprintf(detail, sizeof(detail), "returned %lld", (long long)ret);
	return attar_run_add_span(run, &span);
}

static void line_columns(struct attar_section *lines)
{
	attar_run_event_columns(lines);
	attar_section_column(lines, "duration", ATTAR_UNIT_NS);
	attar_section_main(lines);
	attar_section_column(lines, "syscall", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "returned", ATTAR_UNIT_ID);
}

/* ev: the exit, whose stack a call has if the event is to have stacks. */
static int print_call(struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *ev, const struct attar_start *started, uint64_t end, int64_t ret)
{
	const struct attar_event_spec *spec = attar_run_source_spec(run, ev->counter);
	struct attar_section *lines = attar_run_lines(run, "system calls", line_columns);
	attar_location stack[DEPTH_MAX];
	char name[CALL_BYTES];

	if (!lines)
		return -ENOMEM;
	name_call(m, *(const uint64_t *)started->payload, true, name);
	attar_run_event_row(run, lines, ev, started->time);
	attar_cell_u64(lines, end - started->time);
	attar_cell_text(lines, name);
	attar_cell_i64(lines, ret);
	if (spec && spec->stack)
		attar_row_stack(lines, attar_run_symbols(run), stack,
			attar_event_stack(ev, stack, DEPTH_MAX));
	return 0;
}

/* For time lines, --print-beyond and --heatmap. */
static __attribute__((noinline)) int show_call(struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *ev, const struct attar_start *started, uint64_t end, int64_t ret)
{
	int r = attar_run_wants(run, ATTAR_WANT_SPANS) ? add_span(run, m, ev, started, end, ret)
						       : 0;

	if (r == 0 && pairs_prints(m) && pairs_is_beyond(m, end - started->time) &&
		attar_run_wants(run, ATTAR_WANT_LINES))
		r = print_call(run, m, ev, started, end, ret);
	if (r < 0 || !m->heatmap)
		return r;
	return heatmap_add(m->heatmap, "syscalls", NULL, end, end - started->time);
}

/* ev: an exit of the same thread on the same CPU, whose time may be another one. */
static inline int leave(struct attar_run *run, const struct multi_trace *m,
	const struct attar_event *ev, const struct attar_stamp *at, int64_t ret)
{
	const struct attar_start *started = attar_pairs_end_u64(m->steps[0], at->task, at);
	struct attar_keyrow *row;

	if (!started || !pairs_wants(run, m, ev, true, at->time - started->time))
		return 0;
	row = find_row(run, m, ev, *(uint64_t *)started->payload);
	if (!row)
		return -ENOMEM;
	if (ret < 0 && ret >= -ERRNO_MAX)
		row->interval.sums[SUM_ERRORS]++;
	if (m->shows_calls) {
		int r = show_call(run, m, ev, started, at->time, ret);

		if (r < 0)
			return r;
	}
	return pairs_add(m, row, at->time - started->time);
}

static int on_exit_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct attar_stamp at = attar_event_get_stamp(ev);
	int64_t ret = attar_arg_i64(ev, 0);
	struct multi_trace *m = self;

	if ((ret == 0 || !m->has_begun) && has_no_entry(m, attar_arg_u64(ev, 1), ret))
		return 0;
	return leave(run, m, ev, &at, ret);
}

/* Calls of one thread that follow each other. */
static int on_turns(struct attar_run *run, void *self, const struct attar_event *ev,
	const struct attar_turns *turns)
{
	const char *entry = turns->raw[0], *exit = turns->raw[1];
	struct attar_stamp at = attar_event_get_stamp(ev);
	struct multi_trace *m = self;
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < turns->n; i++) {
		int64_t ret = attar_field_i64(ev->fields[0], exit, turns->raw_size[1]);

		at.time = attar_turns_get_time(turns, entry);
		enter(m, &at, attar_field_u64(turns->fields[0], entry, turns->raw_size[0]));
		at.time = attar_turns_get_time(turns, exit);
		if (ret != 0 ||
			!creates_task(attar_field_u64(ev->fields[1], exit, turns->raw_size[1])))
			r = leave(run, m, ev, &at, ret);
		entry += turns->stride;
		exit += turns->stride;
	}
	return r;
}

/* The thread is the key anyway: -k common_pid is how perf-prof is told so. */
static bool has_other_key(const struct multi_trace *m)
{
	return m->key && strcmp(m->key, "common_pid") != 0;
}

static int refuse_options(const struct multi_trace *m)
{
	const char *option = has_other_key(m) ? "--key"
			     : m->cycle       ? "--cycle"
			     : m->tasks       ? "--tasks"
			     : m->detail_text ? "--detail"
			     : m->hist        ? "--hist"
					      : NULL;

	if (option)
		return attar_fail(-EINVAL,
			"%s is not supported for system calls, which are matched by thread and "
			"shown by their names" ATTAR_FIX
			"use 'attar multi-trace' with --impl delay, -e raw_syscalls:sys_enter and "
			"-e raw_syscalls:sys_exit",
			option);
	if (m->texts.n && m->texts.n != 2)
		return attar_fail(-EINVAL,
			"system calls need an event for the entry and one for the exit" ATTAR_FIX
			"give no -e, or two: -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit");
	return 0;
}

static int syscalls_open(struct attar_run *run, struct multi_trace *m)
{
	static const struct attar_expr_variable variable = {.name = "number"};
	const struct attar_expr_opts opts = {
		.size = sizeof(opts), .n_variables = 1, .variables = &variable};
	int r = refuse_options(m);

	if (r < 0)
		return r;
	m->inputs[0] = (struct attar_input){
		.event = m->texts.n ? m->texts.at[0] : "raw_syscalls:sys_enter",
		.fields = {"id|__syscall_nr"},
		.on_event = on_enter};
	m->inputs[1] =
		(struct attar_input){.event = m->texts.n ? m->texts.at[1] : "raw_syscalls:sys_exit",
			.fields = {"ret", "id|__syscall_nr"},
			.on_event = on_exit_event};
	m->shows_calls =
		m->heatmap_path || pairs_prints(m) || attar_run_wants(run, ATTAR_WANT_SPANS);
	m->n_stages = 2;
	m->selects_cpus = attar_run_all_cpus(run, true) > 0;
	r = attar_run_inputs(run, m->inputs);
	if (r >= 0 && attar_run_sources(run) == 2)
		run_source_turns(run, 1, 0, on_turns);
	if (r == -ENOENT && attar_run_is_live(run)) /* an event of -e without such a field */
		r = -EINVAL;
	return r < 0 ? r : attar_run_expr(run, 0, "syscall_name(number)", &opts, &m->syscall_name);
}

/* ---- report ---- */

/*
 * Tasks that watched tasks have created. Each takes longer to create and to end because of the
 * run's own events.
 */
static uint64_t count_created(
	const struct multi_trace *m, struct attar_keyrow *const *rows, size_t n)
{
	struct thread_call key;
	uint64_t created = 0;

	for (size_t i = 0; i < n; i++) {
		const struct attar_keysums *sums = attar_keyrow_sums(rows[i], ATTAR_SCOPE_WHOLE);

		key.number = rows[i]->number;
		if (m->perins)
			memcpy(&key, rows[i]->key, sizeof(key));
		if (creates_task(key.number))
			created += sums->hists[0].count - sums->sums[SUM_ERRORS];
	}
	return created;
}

static void remark_on_own_part(struct attar_run *run, struct attar_report *report, uint64_t created)
{
	uint64_t create, exit;

	if (!created)
		return;
	if (run_inherit_cost(run, &create, &exit) <= 0 || !create) {
		attar_error_clear();
		return;
	}
	attar_report_remark(report,
		"calls that create a task take about %.1f us longer than without attar, as the "
		"kernel copies its events to the task: %.1f ms in all; the exit of each takes "
		"about %.1f us longer",
		(double)create / 1e3, (double)(create * created) / 1e6, (double)exit / 1e3);
}

static void add_row(const struct attar_run *run, const struct multi_trace *m,
	struct attar_section *table, const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct row_label *label = row->value;
	struct thread_call key = {.number = row->number};
	char name[CALL_BYTES];

	attar_section_row(table);
	if (m->perins) {
		memcpy(&key, row->key, sizeof(key));
		pairs_add_task(run, m, table, key.thread, label);
	}
	name_call(m, key.number, true, name);
	attar_cell_text(table, name);
	pairs_add_cells(m, table, row, scope);
	attar_cell_u64(table, attar_keyrow_sums(row, scope)->sums[SUM_ERRORS]);
}

static int syscalls_report(struct attar_run *run, struct multi_trace *m,
	struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "system calls");
	size_t n = attar_keytable_keys(m->table);
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(struct attar_keyrow *));

	if (!rows)
		return -ENOMEM;
	if (m->perins)
		pairs_add_task_columns(m, table);
	attar_section_column(table, "syscall", ATTAR_UNIT_TEXT);
	pairs_add_columns(m, table);
	attar_section_column(table, "errors", ATTAR_UNIT_COUNT);
	n = attar_keytable_top(m->table, scope, SUM_TOTAL, rows, n);
	for (size_t i = 0; i < n; i++)
		add_row(run, m, table, rows[i], scope);
	if (scope == ATTAR_SCOPE_WHOLE && !m->in_kernel)
		remark_on_own_part(run, report, count_created(m, rows, n));
	free(rows);
	return 0;
}

const struct trace_impl trace_impl_syscalls = {.name = "syscalls",
	.start_size = sizeof(uint64_t),
	.open = syscalls_open,
	.report = syscalls_report};
