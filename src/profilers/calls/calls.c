/* SPDX-License-Identifier: MIT */
/* calls: prints each system call with its arguments and its result. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/pairs.h"
#include "calls/line.h"
#include "calls/select.h"

enum {
	OPEN_MAX = 65536,
	LINE_BYTES = 64 << 10,
	TEXT_BYTES = 32, /* -s */
	TEXT_MAX = 4096,
	FILTER_BYTES = 512,
};

enum { NUMBER, ARGS };           /* fields of the entry */
enum { RESULT, NUMBER_OF_EXIT }; /* of the exit */
enum { CALLS, ERRORS, TOTAL, SUMS };

struct calls {
	struct attar_texts selects;
	uint64_t text_max, than;
	bool only_summary, with_summary, durations, relative, failed;

	struct calls_table *table;
	struct attar_pairs *pairs;   /* by thread, payload struct begun */
	struct attar_keytable *sums; /* by number; NULL: no summary */
	struct calls_line line;
	uint64_t previous;      /* the time of the line before */
	uint64_t lost;          /* lines with memory that was copied, and lost */
	bool has_begun, copies; /* copies: a program in the kernel does */
};

struct begun {
	uint64_t number, args[CALLS_ARGS];
	int32_t tid, pid; /* -1: unknown */
	char comm[16];
};

/* ---- lines ---- */

static void calls_no_columns(struct attar_section *lines)
{
	(void)lines; /* calls_new_line() adds them, which has the options */
}

static struct attar_section *calls_new_line(
	struct calls *c, struct attar_run *run, uint64_t time, const struct begun *begun)
{
	struct attar_section *lines = attar_run_lines(run, "system calls", calls_no_columns);

	if (!lines)
		return NULL;
	if (!attar_section_get_columns(lines)) {
		attar_section_column(lines, c->relative ? "since" : "time",
			c->relative ? ATTAR_UNIT_NS : ATTAR_UNIT_TIME);
		attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
		attar_section_column(lines, "tid", ATTAR_UNIT_ID);
		if (c->durations)
			attar_section_column(lines, "duration", ATTAR_UNIT_NS);
		attar_section_column(lines, "call", ATTAR_UNIT_TEXT);
		attar_section_main(lines);
	}
	attar_section_row(lines);
	if (c->relative)
		attar_cell_u64(lines, c->previous && time > c->previous ? time - c->previous : 0);
	else
		attar_cell_u64(lines, attar_run_realtime(run, time));
	c->previous = time;
	attar_cell_text(lines, begun->comm);
	if (begun->tid >= 0)
		attar_cell_u64(lines, (uint64_t)begun->tid);
	else
		attar_cell_none(lines);
	return lines;
}

/* What the program in the kernel has copied for the call. */
static void calls_take_memory(struct calls *c, struct attar_run *run, const struct begun *begun,
	const struct calls_made *made, struct calls_call *call)
{
	struct calls_copied items[CALLS_COPY_ARGS];
	bool is_lost = false;

	if (!c->copies || begun->number >= CALLS_NUMBERS ||
		run_copied_call(run, made, items, NULL) <= 0)
		return;
	for (size_t i = 0; i < CALLS_ARGS; i++) {
		enum calls_item_state state = items[i].state;

		call->memory[i].is_lost = state == CALLS_ITEM_LOST;
		is_lost |= state == CALLS_ITEM_LOST;
		if (state == CALLS_ITEM_COPIED || state == CALLS_ITEM_CUT)
			call->memory[i] = (struct calls_memory){.at = items[i].at ?: "",
				.n = items[i].n,
				.is_cut = state == CALLS_ITEM_CUT};
	}
	c->lost += is_lost;
}

/* time: of the entry; 0: unknown. ended: of the exit, with a result; 0: it has not ended. */
static int calls_print(struct calls *c, struct attar_run *run, const struct begun *begun,
	uint64_t time, uint64_t ended, int64_t result)
{
	const struct calls_entry *entry =
		begun->number < CALLS_NUMBERS ? &c->table->at[begun->number] : NULL;
	struct calls_call call = {.name = entry ? entry->name : "syscall",
		.signature = entry ? entry->signature : NULL,
		.result = result,
		.has_ended = ended != 0,
		.pid = begun->pid};
	const struct calls_made made = {.tid = begun->tid,
		.number = (uint32_t)begun->number,
		.args = begun->args,
		.entered = time,
		.ended = ended,
		.has_failed = calls_has_failed(result)};
	struct attar_section *lines;

	memcpy(call.args, begun->args, sizeof(call.args));
	calls_take_memory(c, run, begun, &made, &call);
	calls_line_args(&c->line, &call);
	calls_line_result(&c->line, &call);
	lines = calls_new_line(c, run, time ? time : ended, begun);
	if (!lines)
		return -ENOMEM;
	if (c->durations && ended && time)
		attar_cell_u64(lines, ended - time);
	else if (c->durations)
		attar_cell_none(lines);
	attar_cell_text(lines, c->line.at);
	return 0;
}

/* ---- events ---- */

static bool calls_is_wanted(const struct calls *c, uint64_t number)
{
	return number < CALLS_NUMBERS ? c->table->at[number].is_wanted : !c->table->selects;
}

static bool calls_prints(const struct calls *c, struct attar_run *run)
{
	return !c->only_summary && attar_run_wants(run, ATTAR_WANT_LINES);
}

static bool never_returns(const struct calls *c, uint64_t number)
{
	const struct calls_signature *signature =
		number < CALLS_NUMBERS ? c->table->at[number].signature : NULL;

	return signature && signature->result == CALLS_RETURNS_NOTHING;
}

static void begun_fill_thread(
	struct begun *begun, struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_thread *thread = ev->thread;

	begun->tid = (int32_t)run_event_tid(run, ev);
	begun->pid = thread && thread->process ? thread->process->pid : -1;
	snprintf(begun->comm, sizeof(begun->comm), "%s", thread ? thread->comm : "");
}

static void begun_fill(struct begun *begun, struct attar_run *run, const struct attar_event *ev)
{
	begun->number = attar_arg_u64(ev, NUMBER);
	for (size_t i = 0; i < CALLS_ARGS; i++)
		begun->args[i] = attar_arg_u64_at(ev, ARGS, i);
	begun_fill_thread(begun, run, ev);
}

static int on_enter(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	uint64_t number = attar_arg_u64(ev, NUMBER);
	struct calls *c = self;
	struct attar_start *start;
	struct begun begun;

	c->has_begun = true;
	if (!calls_is_wanted(c, number))
		return 0;
	if (never_returns(c, number)) {
		if (!calls_prints(c, run) || !(c->table->statuses & CALLS_UNFINISHED) || c->than)
			return 0;
		begun_fill(&begun, run, ev);
		return calls_print(c, run, &begun, ev->time, 0, 0);
	}
	start = attar_pairs_start_u64(c->pairs, at.task, &at);
	if (start)
		begun_fill(start->payload, run, ev);
	return 0;
}

static int calls_sum(struct calls *c, uint64_t number, uint64_t duration, bool has_failed)
{
	struct attar_keyrow *row = c->sums ? attar_keytable_at_u64(c->sums, number) : NULL;

	if (!c->sums)
		return 0;
	if (!row)
		return -ENOMEM;
	row->interval.sums[CALLS]++;
	row->interval.sums[ERRORS] += has_failed;
	row->interval.sums[TOTAL] += duration;
	return attar_hist_add(&row->interval.hists[0], duration);
}

/* A new task returns from the call of its creator; a command begins within its execve(). */
static bool calls_has_no_entry(struct calls *c, uint64_t number, int64_t result)
{
	const char *name = number < CALLS_NUMBERS ? c->table->at[number].name : "";
	bool is_first = !c->has_begun;

	if (result == 0 &&
		(!strncmp(name, "clone", 5) || !strcmp(name, "fork") || !strcmp(name, "vfork")))
		return true;
	c->has_begun = true;
	return is_first && !strcmp(name, "execve");
}

/*
 * The events of a command begin within its execve(), whose arguments the program in the kernel has
 * copied. Other calls without an entry are calls of a new task, which its creator has made.
 */
static int calls_print_first(struct calls *c, struct attar_run *run, const struct attar_event *ev,
	uint64_t number, int64_t result)
{
	const struct calls_made made = {.tid = (int32_t)run_event_tid(run, ev),
		.number = (uint32_t)number,
		.ended = ev->time};
	struct calls_copied items[CALLS_COPY_ARGS];
	struct begun begun;

	if (!c->copies || result != 0 || strcmp(c->table->at[number].name, "execve") != 0 ||
		!calls_prints(c, run) || c->than ||
		run_copied_call(run, &made, items, begun.args) <= 0)
		return 0;
	begun_fill_thread(&begun, run, ev);
	begun.number = number;
	return calls_print(c, run, &begun, 0, ev->time, result);
}

static int on_exit_event(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	uint64_t number = attar_arg_u64(ev, NUMBER_OF_EXIT);
	int64_t result = attar_arg_i64(ev, RESULT);
	bool has_failed = calls_has_failed(result);
	const struct attar_start *start;
	struct calls *c = self;
	int r;

	if (!calls_is_wanted(c, number))
		return 0;
	if ((result == 0 || !c->has_begun) && calls_has_no_entry(c, number, result))
		return calls_print_first(c, run, ev, number, result);
	start = attar_pairs_end_u64(c->pairs, at.task, &at);
	if (!start || at.time - start->time < c->than || !attar_run_is_cpu_selected(run, at.cpu) ||
		!(c->table->statuses & (has_failed ? CALLS_FAILED : CALLS_SUCCESSFUL)))
		return 0;
	r = calls_sum(c, number, at.time - start->time, has_failed);
	if (r < 0 || !calls_prints(c, run))
		return r;
	return calls_print(c, run, start->payload, start->time, at.time, result);
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct calls *c = self;

	(void)run;
	attar_pairs_lost(c->pairs, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct calls *c = self;

	(void)run;
	if (ev->thread)
		attar_pairs_exit(c->pairs, ev->thread->serial);
	return 0;
}

/* ---- report ---- */

/* The calls that have not returned when the run ends. */
static int calls_ended(struct attar_run *run, void *self)
{
	const struct attar_start *open = NULL;
	struct calls *c = self;
	int r = 0;

	if (!calls_prints(c, run) || !(c->table->statuses & CALLS_UNFINISHED))
		return 0;
	while (r == 0 && (open = attar_pairs_next_open(c->pairs, open)))
		r = calls_print(c, run, open->payload, open->time, 0, 0);
	return r;
}

static void calls_add_row(const struct calls *c, struct attar_section *table,
	const struct attar_keyrow *row, enum attar_scope scope, uint64_t all)
{
	const struct attar_keysums *sums = attar_keyrow_sums(row, scope);
	const struct attar_hist *hist = &sums->hists[0];
	char number[32];

	snprintf(number, sizeof(number), "syscall_%llu", (unsigned long long)row->number);
	attar_section_row(table);
	attar_cell_double(table, all ? 100.0 * (double)sums->sums[TOTAL] / (double)all : 0);
	attar_cell_u64(table, sums->sums[TOTAL]);
	attar_cell_u64(table, sums->sums[CALLS]);
	attar_cell_u64(table, sums->sums[ERRORS]);
	attar_cell_u64(table, (uint64_t)attar_hist_mean(hist));
	attar_cell_u64(table, attar_hist_quantile(hist, 0.5));
	attar_cell_u64(table, attar_hist_quantile(hist, 0.99));
	attar_cell_u64(table, attar_hist_quantile(hist, 1));
	attar_cell_text(
		table, row->number < CALLS_NUMBERS ? c->table->at[row->number].name : number);
}

static int calls_report_sums(
	const struct calls *c, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *table = attar_report_table(report, "summary");
	struct attar_keyrow **rows;
	uint64_t all = 0;
	size_t n;
	int r = attar_keytable_end_interval(c->sums);

	if (r == 0)
		r = attar_keytable_rows(c->sums, scope, TOTAL, &rows, &n);
	if (r < 0)
		return r;
	attar_section_column(table, "time", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "total", ATTAR_UNIT_NS);
	attar_section_column(table, "calls", ATTAR_UNIT_COUNT);
	attar_section_column(table, "errors", ATTAR_UNIT_COUNT);
	attar_section_column(table, "mean", ATTAR_UNIT_NS);
	attar_section_column(table, "p50", ATTAR_UNIT_NS);
	attar_section_column(table, "p99", ATTAR_UNIT_NS);
	attar_section_column(table, "max", ATTAR_UNIT_NS);
	attar_section_column(table, "syscall", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < n; i++)
		all += attar_keyrow_sums(rows[i], scope)->sums[TOTAL];
	for (size_t i = 0; i < n; i++)
		calls_add_row(c, table, rows[i], scope, all);
	free(rows);
	return 0;
}

static void calls_remark_memory(
	const struct calls *c, const struct attar_run *run, struct attar_report *report)
{
	if (c->lost)
		attar_report_remark(report,
			"%llu line%s an address in place of what is there ('lost'): the buffer of "
			"the program that copies memory in the kernel was full" ATTAR_FIX
			"show fewer calls with -e",
			(unsigned long long)c->lost, c->lost == 1 ? " has" : "s have");
	if (!c->only_summary && !c->copies && attar_run_is_live(run))
		attar_report_remark(report,
			"strings and buffers are shown as addresses: a program in the kernel "
			"copies them as root, with libbpf and the kernel's types (BTF)");
}

static int calls_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_pairs_stats stats;
	struct calls *c = self;

	calls_remark_memory(c, run, report);
	attar_pairs_get_stats(c->pairs, &stats);
	stats.unpaired[ATTAR_UNPAIRED_END] = 0; /* began before the measurement */
	attar_report_unpaired(report, &stats, "events");
	return c->sums ? calls_report_sums(c, report, scope) : 0;
}

/* ---- life ---- */

static const struct attar_input inputs[] = {
	{.event = "raw_syscalls:sys_enter", .fields = {"id", "args"}, .on_event = on_enter},
	{.event = "raw_syscalls:sys_exit", .fields = {"ret", "id"}, .on_event = on_exit_event},
	{0}};

static int calls_open_sums(struct calls *c)
{
	const struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = SUMS, .hists = 1, .rank = TOTAL};

	return c->only_summary || c->with_summary ? attar_keytable_new(&opts, &c->sums) : 0;
}

static int calls_open_table(struct calls *c, struct attar_run *run)
{
	char filter[FILTER_BYTES];
	int r;

	c->table = calloc(1, sizeof(*c->table));
	r = c->table ? calls_table_init(c->table, run) : -ENOMEM;
	if (r == 0)
		r = calls_table_select(c->table, &c->selects);
	if (c->failed && r == 0)
		c->table->statuses = CALLS_FAILED;
	if (r == 0 && calls_table_filter(c->table, filter, sizeof(filter)))
		for (uint32_t i = 0; r >= 0 && i < 2; i++)
			r = run_source_filter(run, i, filter);
	return r < 0 ? r : 0;
}

static struct calls_copy calls_copy_struct(const struct calls_struct *how, unsigned i)
{
	bool is_array = how->by_result || how->by_next;

	return (struct calls_copy){.kind = how->by_result ? CALLS_COPY_RESULT
					   : how->by_next ? CALLS_COPY_SIZED
							  : CALLS_COPY_BYTES,
		.max = (uint16_t)(is_array ? how->size * how->max : how->size),
		.unit = is_array ? how->size : 0,
		.count = (uint8_t)(i + 1),
		.at_exit = how->at_exit};
}

/* What is copied of an argument; kind CALLS_COPY_NONE: nothing. */
static struct calls_copy calls_copy_of(
	const struct calls *c, const struct calls_arg *arg, unsigned i)
{
	const uint16_t max = (uint16_t)(c->text_max < CALLS_COPY_MAX ? c->text_max + 1 : 0);

	switch (arg->kind) {
	case CALLS_PATH:
	case CALLS_TEXT:
		return (struct calls_copy){.kind = CALLS_COPY_STRING};
	case CALLS_IN:
		return (struct calls_copy){
			.kind = CALLS_COPY_SIZED, .count = (uint8_t)(i + 1), .max = max};
	case CALLS_OUT:
	case CALLS_RANDOM:
		return (struct calls_copy){.kind = CALLS_COPY_RESULT, .at_exit = true, .max = max};
	case CALLS_STRUCT:
		return calls_copy_struct(arg->struct_, i);
	default:
		return (struct calls_copy){.kind = CALLS_COPY_NONE};
	}
}

static int calls_open_copies(struct calls *c, struct attar_run *run)
{
	int r = 1;

	if (!calls_prints(c, run))
		return 0;
	for (uint32_t number = 0; r > 0 && number < CALLS_NUMBERS; number++) {
		const struct calls_entry *entry = &c->table->at[number];

		if (!entry->is_wanted || !entry->signature)
			continue;
		for (unsigned i = 0; r > 0 && i < CALLS_ARGS; i++) {
			const struct calls_copy copy =
				calls_copy_of(c, &entry->signature->args[i], i);

			if (copy.kind != CALLS_COPY_NONE)
				r = run_copy_call(run, number, i, &copy);
		}
	}
	c->copies = r > 0;
	return r < 0 ? r : 0;
}

static int calls_open(struct attar_run *run, void *self)
{
	const struct attar_pairs_opts opts = {
		.size = sizeof(opts), .open_max = OPEN_MAX, .payload_size = sizeof(struct begun)};
	struct calls *c = self;
	int r;

	c->line.text_max = c->text_max;
	c->line.max = LINE_BYTES;
	c->line.at = malloc(LINE_BYTES);
	if (!c->line.at)
		return -ENOMEM;
	attar_run_all_cpus(run, true);
	r = attar_run_inputs(run, inputs);
	if (r >= 0)
		r = attar_pairs_new(&opts, &c->pairs);
	if (r == 0)
		r = calls_open_sums(c);
	if (r == 0)
		r = calls_open_table(c, run);
	return r == 0 ? calls_open_copies(c, run) : r;
}

static void calls_close(void *self)
{
	struct calls *c = self;

	attar_pairs_free(c->pairs);
	attar_keytable_free(c->sums);
	free(c->table);
	free(c->line.at);
}

static void calls_defaults(void *self)
{
	((struct calls *)self)->text_max = TEXT_BYTES;
}

static const struct attar_option options[] = {
	ATTAR_LIST(struct calls, selects, 'e', "event", "EXPR",
		"only these calls, such as openat,%net or !futex; status=failed: only calls with "
		"this result"),
	ATTAR_FLAG(struct calls, failed, 'Z', "failed", "only calls that fail"),
	ATTAR_TIME(struct calls, than, 0, "than", "TIME",
		"only calls that take at least this time: nanoseconds, or with a unit: 4ms",
		.bare = 1),
	ATTAR_COUNT(struct calls, text_max, 's', "string-size", "N",
		"show at most N bytes of a buffer (default 32)", .max = TEXT_MAX),
	ATTAR_FLAG(struct calls, durations, 'T', "durations", "show how long each call takes"),
	ATTAR_FLAG(struct calls, relative, 'r', "relative",
		"show the time since the line before, in place of the time of day"),
	ATTAR_FLAG(struct calls, only_summary, 'c', "summary-only",
		"instead of lines, a table of the calls with their number, errors and durations"),
	ATTAR_FLAG(struct calls, with_summary, 0, "summary", "lines, and this table at the end"),
	{0}};

static const struct attar_example examples[] = {
	{"calls -- cat /etc/hostname", "the system calls of a command"},
	{"calls -p 1234 -e %net -T", "calls on sockets of a process, with their durations"},
	{"calls -c -- make", "how often a command makes each call, and how long they take"},
	{"calls -e status=failed --container web", "failed calls of a container"}, {0}};

const struct attar_profiler profiler_calls = {
	.name = "calls",
	.group = "System calls",
	.summary = "print each system call with its arguments and result, as strace does",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct calls),
	.options = options,
	.examples = examples,
	.defaults = calls_defaults,
	.open = calls_open,
	.lost = on_lost,
	.exited = on_exited,
	.ended = calls_ended,
	.report = calls_report,
	.close = calls_close,
};
