/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/builtin.h"
#include "attar/private/report.h"
#include "overview/overview.h"

enum { PROCESSES_OF_A_NAME = 20 /* so many that they hide others */ };

/* ---- findings ---- */

static void add_number(struct attar_section *table, const char *name, double value)
{
	attar_row_value(table, name, false);
	attar_row_value_double(table, value);
}

static void add_text(struct attar_section *table, const char *name, const char *text)
{
	attar_row_value(table, name, false);
	attar_row_value_text(table, text, strlen(text));
}

static struct attar_section *add_findings(
	const struct overview_finding *findings, size_t n, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "findings");

	attar_section_column(table, "finding", ATTAR_UNIT_TEXT);
	attar_section_column(table, "value", ATTAR_UNIT_TEXT);
	attar_section_column(table, "limit", ATTAR_UNIT_TEXT);
	if (n && findings[n - 1].is_doubt)
		report_doubt(report, "%s: %s %s", findings[n - 1].name, findings[n - 1].value_text,
			findings[n - 1].evidence);
	for (size_t i = 0; i < n; i++) {
		const struct overview_finding *f = &findings[i];
		bool repeats = strstr(f->command, " -- ") != NULL;
		char line[COMMAND_BYTES + 40];

		attar_section_row(table);
		attar_cell_text(table, f->name);
		attar_cell_text(table, f->value_text);
		attar_cell_text(table, f->limit_text);
		add_number(table, "value", f->value);
		add_number(table, "limit", f->limit);
		add_text(table, "evidence", f->evidence);
		if (*f->command)
			add_text(table, "command", f->command);
		if (*f->then)
			add_text(table, "then", f->then);
		attar_row_detail(table, f->evidence);
		snprintf(line, sizeof(line), "next%s: %s",
			repeats ? " (runs the command again)" : "", f->command);
		if (*f->command)
			attar_row_detail(table, line);
		if (!*f->then)
			continue;
		snprintf(line, sizeof(line), "then: %s", f->then);
		attar_row_detail(table, line);
	}
	return table;
}

/* ---- where the time goes ---- */

/* "comm (pid): function" */
static void add_mostly(const struct overview_sums *sums, struct attar_section *table, int part)
{
	const struct overview_process *top = overview_top(sums, part);
	struct overview_function f = {.name = NULL};

	if (!top) {
		attar_cell_text(table, "");
		attar_cell_text(table, "");
		return;
	}
	attar_cell_text(table, overview_name_of(top, false).text);
	if (part != PART_READY && part != PART_IDLE)
		overview_places(sums, part, top, &f, 1);
	attar_cell_text(table, f.name ? f.name : "");
}

/* What the pauses had of a part without an estimate is known if the kernel counted all threads. */
static bool is_doubt_known(const struct overview_sums *sums, int part)
{
	size_t threads = 0;

	for (size_t i = 0; i < sums->n_processes; i++)
		threads += sums->processes[i].threads;
	return sums->estimated[part] > 0 || (part <= PART_READY && sums->exact >= threads);
}

static struct attar_section *add_times(
	const struct overview_sums *sums, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "time");

	attar_section_column(table, "time spent", ATTAR_UNIT_TEXT);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "time", ATTAR_UNIT_NS);
	if (sums->scale > 1) {
		attar_section_column(table, "estimated", ATTAR_UNIT_PERCENT);
		attar_section_column(table, "+/-", ATTAR_UNIT_NS);
	}
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "mostly", ATTAR_UNIT_TEXT);
	attar_section_column(table, "in", ATTAR_UNIT_TEXT);
	for (int part = 0; part < PARTS; part++) {
		if (!sums->parts[part])
			continue;
		attar_section_row(table);
		attar_cell_text(table, overview_part_names[part]);
		if (part == PART_IDLE || !sums->active)
			attar_cell_none(table);
		else
			attar_cell_double(
				table, 100 * (double)sums->parts[part] / (double)sums->active);
		attar_cell_u64(table, sums->parts[part]);
		if (sums->scale > 1) {
			attar_cell_double(
				table, 100 * sums->estimated[part] / (double)sums->parts[part]);
			if (is_doubt_known(sums, part))
				attar_cell_u64(table, (uint64_t)sums->doubt[part]);
			else
				attar_cell_none(table);
		}
		if (part <= PART_UNDIVIDED)
			attar_cell_u64(table, sums->samples[part]);
		else
			attar_cell_none(table);
		add_mostly(sums, table, part);
	}
	return table;
}

static struct attar_section *add_functions(
	const struct overview_sums *sums, struct attar_report *report)
{
	struct overview_function functions[OVERVIEW_TOP];
	struct attar_section *table = attar_report_table(report, "on CPU");
	size_t n = overview_functions(sums, functions, OVERVIEW_TOP);

	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "symbol", ATTAR_UNIT_TEXT);
	attar_section_column(table, "dso", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < n; i++) {
		attar_section_row(table);
		attar_cell_double(
			table, 100 * (double)functions[i].weight / (double)functions[i].all);
		attar_cell_u64(table, functions[i].samples);
		attar_cell_text(table, functions[i].name ? functions[i].name : "[unknown]");
		attar_cell_text(table, functions[i].dso);
	}
	return table;
}

/* How wrong each of its times may be, ns; at most all of it. */
static uint64_t doubt_of(const struct overview_sums *sums, const struct overview_process *process)
{
	return (uint64_t)fmin(
		sqrt(process->variance), (double)process->threads * (double)sums->elapsed);
}

static struct attar_section *add_processes(
	const struct overview_sums *sums, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "processes");
	size_t n = sums->n_processes < OVERVIEW_TOP ? sums->n_processes : OVERVIEW_TOP;
	bool only_comm = sums->overview->only_comm, has_doubt = false;

	for (size_t i = 0; i < n; i++)
		has_doubt |= sums->processes[i].all && doubt_of(sums, &sums->processes[i]);

	if (!only_comm)
		attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	if (only_comm)
		attar_section_column(table, "processes", ATTAR_UNIT_COUNT);
	attar_section_column(table, "threads", ATTAR_UNIT_COUNT);
	attar_section_column(table, "on CPU", ATTAR_UNIT_NS);
	for (int part = PART_READY; part < ACTIVE_PARTS; part++)
		attar_section_column(table, overview_part_names[part], ATTAR_UNIT_NS);
	if (has_doubt)
		attar_section_column(table, "+/-", ATTAR_UNIT_NS);
	for (size_t i = 0; i < n && sums->processes[i].all; i++) {
		const struct overview_process *p = &sums->processes[i];
		uint64_t running = 0;

		for (int part = 0; part <= PART_UNDIVIDED; part++)
			running += p->parts[part];
		attar_section_row(table);
		if (!only_comm)
			attar_cell_i64(table, p->pid);
		attar_cell_text(table, p->comm);
		if (only_comm)
			attar_cell_u64(table, p->processes);
		attar_cell_u64(table, p->threads);
		attar_cell_u64(table, running);
		for (int part = PART_READY; part < ACTIVE_PARTS; part++)
			attar_cell_u64(table, p->parts[part]);
		if (has_doubt && (doubt_of(sums, p) || p->counted == p->threads))
			attar_cell_u64(table, doubt_of(sums, p));
		else if (has_doubt)
			attar_cell_none(table);
	}
	return table;
}

/* ---- latencies and counts ---- */

static struct attar_section *add_latencies(
	const struct overview_sums *sums, struct attar_report *report)
{
	static const char *const names[LATENCIES] = {
		[LATENCY_RUN] = "run delay", [LATENCY_BLOCK] = "block I/O"};
	static const struct attar_hist none;
	struct attar_section *table = attar_report_table(report, "latency");

	attar_section_column(table, "latency", ATTAR_UNIT_TEXT);
	if (sums->scale > 1)
		attar_section_column(table, "watched", ATTAR_UNIT_PERCENT);
	attar_section_hist_columns(table, ATTAR_UNIT_NS);
	for (int i = 0; i < LATENCIES; i++) {
		attar_section_row(table);
		attar_cell_text(table, names[i]);
		if (sums->scale > 1) /* of the time: these are the numbers of that share */
			attar_cell_double(table, 100 / sums->scale);
		attar_cell_hist(table, sums->latencies[i] ? sums->latencies[i] : &none);
	}
	return table;
}

static struct attar_section *add_counts(
	const struct overview_sums *sums, struct attar_report *report)
{
	static const char *const names[COUNTS] = {[COUNT_SWITCHES] = "context switches",
		[COUNT_MIGRATIONS] = "migrations",
		[COUNT_FAULTS] = "page faults",
		[COUNT_MAJOR] = "major faults",
		[COUNT_FAILED] = "failed processes",
		[COUNT_ERRORS] = "failing calls"};
	struct attar_section *table = attar_report_table(report, "counts");

	attar_section_column(table, "what", ATTAR_UNIT_TEXT);
	attar_section_column(table, "count", ATTAR_UNIT_COUNT);
	attar_section_column(table, "per second", ATTAR_UNIT_COUNT);
	for (int i = 0; i < COUNTS; i++) {
		if (i == COUNT_EXITS || (i == COUNT_FAILED && !sums->overview->has_ends))
			continue;
		attar_section_row(table);
		attar_cell_text(table, names[i]);
		attar_cell_u64(table, sums->counts[i]);
		if (sums->elapsed)
			attar_cell_u64(table,
				(uint64_t)((double)sums->counts[i] * 1e9 / (double)sums->elapsed));
	}
	return table;
}

/* ---- system calls ---- */

struct call {
	char name[OVERVIEW_NAME_BYTES];
	uint64_t sums[CALL_SUMS];
	uint64_t estimated; /* of the errors */
	uint64_t most;      /* errors with this number: */
	int64_t error;
};

struct calls {
	struct call *at;
	size_t n;
};

static struct call *call_of(struct calls *calls, const char *name)
{
	struct call *call;

	for (size_t i = 0; i < calls->n; i++)
		if (!strcmp(calls->at[i].name, name))
			return &calls->at[i];
	call = &calls->at[calls->n++];
	snprintf(call->name, sizeof(call->name), "%s", name);
	return call;
}

static void add_errors(
	const struct overview_sums *sums, struct calls *calls, const struct overview_errors *errors)
{
	struct call *call;

	if (!errors->n)
		return;
	call = call_of(calls, overview_call_name(sums, errors->key.call).text);
	call->sums[CALL_ERRORS] += errors->n;
	call->estimated += errors->estimated;
	if (errors->n > call->most) {
		call->most = errors->n;
		call->error = errors->key.error;
	}
}

/* Of one thread, with the same long waits and the same factor as its times. */
static void add_to_call(const struct overview_sums *sums, struct call *call,
	const struct overview_call *key, const uint64_t *of)
{
	const struct overview_factor *factor = overview_factor_of(sums, key->tid);
	double scale = factor ? factor->waits : 1;
	bool is_long = overview_is_long(sums, key->state, factor ? factor->mean : 0);
	uint64_t idle = of[CALL_LONG] + (is_long ? of[CALL_OPEN] : 0);

	if (!overview_leaves_out(sums, key->state))
		idle = 0;
	idle = idle < of[CALL_WAITS] ? idle : of[CALL_WAITS];
	call->sums[CALL_RUNS] += of[CALL_RUNS];
	call->sums[CALL_WAITS] += (uint64_t)(scale * (double)(of[CALL_WAITS] - idle));
	call->sums[CALL_IDLES] += (uint64_t)(scale * (double)(of[CALL_IDLES] + idle));
}

/* System calls by name, with their errors. -ENOMEM, or 0: free calls->at. */
static int read_calls(const struct overview_sums *sums, struct calls *calls)
{
	const struct overview *o = sums->overview;
	struct attar_keyrow *row = NULL;

	calls->at = calloc(attar_keytable_keys(o->calls) + sums->n_errors + 1, sizeof(*calls->at));
	if (!calls->at)
		return -ENOMEM;
	while ((row = attar_keytable_next(o->calls, row))) {
		const struct overview_call *key = row->key;

		add_to_call(sums, call_of(calls, key->name), key,
			attar_keyrow_sums(row, sums->scope)->sums);
	}
	for (size_t i = 0; i < sums->n_errors; i++)
		add_errors(sums, calls, &sums->errors[i]);
	return 0;
}

static uint64_t busy(const struct call *call)
{
	return call->sums[CALL_RUNS] + call->sums[CALL_WAITS];
}

static int by_time(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (busy(x) != busy(y))
		return busy(x) < busy(y) ? 1 : -1;
	return (x->sums[CALL_IDLES] < y->sums[CALL_IDLES]) -
	       (x->sums[CALL_IDLES] > y->sums[CALL_IDLES]);
}

static int by_errors(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->sums[CALL_ERRORS] != y->sums[CALL_ERRORS])
		return x->sums[CALL_ERRORS] < y->sums[CALL_ERRORS] ? 1 : -1;
	return by_time(a, b);
}

static void add_call(
	const struct overview_sums *sums, struct attar_section *table, const struct call *call)
{
	char text[64] = "";

	if (call->sums[CALL_ERRORS]) {
		const char *name = strerrorname_np((int)call->error);

		snprintf(text, sizeof(text), "%s", name ? name : "?");
	}
	attar_section_row(table);
	attar_cell_text(table, call->name);
	if (sums->is_divided)
		attar_cell_u64(table, call->sums[CALL_RUNS]);
	else
		attar_cell_none(table);
	attar_cell_u64(table, call->sums[CALL_WAITS]);
	attar_cell_u64(table, call->sums[CALL_IDLES]);
	attar_cell_u64(table, call->sums[CALL_ERRORS]);
	if (sums->unseen)
		attar_cell_u64(table, call->estimated);
	attar_cell_text(table, text);
}

/* Those with most time, then others with most errors. */
static int add_calls(const struct overview_sums *sums, struct attar_report *report,
	struct attar_section **ret_table)
{
	struct attar_section *table = attar_report_table(report, "system calls");
	struct calls calls = {0};
	size_t rest;

	*ret_table = table;
	attar_section_column(table, "syscall", ATTAR_UNIT_TEXT);
	attar_section_column(table, "on CPU", ATTAR_UNIT_NS);
	attar_section_column(table, "waiting", ATTAR_UNIT_NS);
	attar_section_column(table, "idle", ATTAR_UNIT_NS);
	attar_section_column(table, "errors", ATTAR_UNIT_COUNT);
	if (sums->unseen)
		attar_section_column(table, "estimated", ATTAR_UNIT_COUNT);
	attar_section_column(table, "mostly", ATTAR_UNIT_TEXT);
	if (read_calls(sums, &calls) < 0)
		return -ENOMEM;
	qsort(calls.at, calls.n, sizeof(*calls.at), by_time);
	for (size_t i = 0; i < calls.n && i < OVERVIEW_TOP; i++)
		if (busy(&calls.at[i]) || calls.at[i].sums[CALL_IDLES] ||
			calls.at[i].sums[CALL_ERRORS])
			add_call(sums, table, &calls.at[i]);
	rest = calls.n > OVERVIEW_TOP ? calls.n - OVERVIEW_TOP : 0;
	qsort(calls.at + calls.n - rest, rest, sizeof(*calls.at), by_errors);
	for (size_t i = calls.n - rest; i < calls.n && i < 2 * OVERVIEW_TOP; i++)
		if (calls.at[i].sums[CALL_ERRORS])
			add_call(sums, table, &calls.at[i]);
	free(calls.at);
	return 0;
}

/* ---- all ---- */

/* Times that are left out have a remark of their own. */
static void remark_losses(const struct overview_sums *sums, struct attar_report *report)
{
	if (!sums->overview->lost)
		return;
	attar_report_remark(report,
		"events were lost: %llu; times, latencies and the numbers of each system call are "
		"those of the remaining events, so shares can be wrong; %s loses fewer",
		(unsigned long long)sums->overview->lost,
		attar_run_is_live(sums->run) ? "a larger -m" : "a recording with a larger -m");
	if (sums->unseen && sums->scale <= 1)
		attar_report_remark(report,
			"%llu failing %s counted, but the event was lost: the numbers of each "
			"system call are estimates, and their sum is exact",
			(unsigned long long)sums->unseen,
			sums->unseen == 1 ? "call was" : "calls were");
}

/* "exit status 3: 10", "SIGSEGV: 1" */
static size_t add_end(char *text, size_t size, const struct overview_end *end, uint64_t n)
{
	const char *name = end->is_signal ? sigabbrev_np(end->status) : NULL;
	unsigned long long number = (unsigned long long)n;
	int written;

	if (name)
		written = snprintf(text, size, "SIG%s: %llu", name, number);
	else
		written = snprintf(text, size, "%s %d: %llu",
			end->is_signal ? "signal" : "exit status", (int)end->status, number);
	return (size_t)written < size ? (size_t)written : size - 1;
}

/* The most frequent ends of processes that failed: "exit status 3: 10, SIGSEGV: 1, others: 2". */
static int list_ends(const struct overview_sums *sums, char *text, size_t size)
{
	enum { SHOWN = 3 };
	uint64_t others = sums->counts[COUNT_FAILED];
	struct attar_keyrow **rows;
	size_t n, at = 0;
	int r = attar_keytable_rows(sums->overview->ends, sums->scope, 0, &rows, &n);

	*text = '\0';
	for (size_t i = 0; r == 0 && i < n && i < SHOWN && rows[i]->key; i++) {
		uint64_t number = attar_keyrow_sums(rows[i], sums->scope)->sums[0];

		at += (size_t)snprintf(text + at, size - at, "%s", i ? ", " : "");
		at += add_end(text + at, size - at, rows[i]->key, number);
		others -= number;
	}
	if (r == 0 && others)
		snprintf(text + at, size - at, ", others: %llu", (unsigned long long)others);
	free(r == 0 ? rows : NULL);
	return r;
}

static int remark_ends(const struct overview_sums *sums, struct attar_report *report)
{
	const char *words = run_target_words(sums->run);
	bool is_live = attar_run_is_live(sums->run);
	char text[160];
	int r;

	if (!sums->counts[COUNT_FAILED])
		return 0;
	r = list_ends(sums, text, sizeof(text));
	if (r == 0)
		attar_report_remark(report, "%llu of %llu exited processes failed (%s)%s%s",
			(unsigned long long)sums->counts[COUNT_FAILED],
			(unsigned long long)sums->counts[COUNT_EXITS], text,
			is_live ? "; to see each: attar exitsnoop -x" : "",
			is_live ? words ?: " -- COMMAND" : "");
	return r;
}

static void add_remarks(const struct overview_sums *sums, struct attar_report *report)
{
	remark_losses(sums, report);
	open_waits_remark(&sums->waits, report);
	if (sums->scale > 1)
		report_detail(report,
			"to limit its CPU time, attar watched context switches and block I/O for "
			"only %.0f %% of the time; what threads did in the pauses is estimated "
			"from the time next to each pause; +/- is how wrong a time may be; the "
			"times of a process that has exited may be more wrong ('attar oncpu' "
			"measures its time on a CPU); waits "
			"are too small where watching slows a program down; latencies are those "
			"observed",
			100 / sums->scale);
	if (sums->exact)
		report_detail(report,
			"of %zu thread%s, the kernel counted the time on a CPU and in the run "
			"queue "
			"for all of the time; only the reasons for their waits are estimates",
			sums->exact, sums->exact == 1 ? "" : "s");
	if (sums->unseen && sums->scale > 1)
		report_detail(report,
			"%llu failing %s only counted, not sampled, to limit attar's CPU time: the "
			"numbers of each system call are estimates, and their sum is exact",
			(unsigned long long)sums->unseen,
			sums->unseen == 1 ? "call was" : "calls were");
	if (sums->has_sampled_faults)
		report_detail(report,
			"page faults were not counted, but one of 100 was sampled: their number is "
			"a multiple of 100");
	if (sums->most_common.processes >= PROCESSES_OF_A_NAME)
		attar_report_remark(report,
			"%u processes have the name '%s': --only-comm adds up processes by name",
			sums->most_common.processes, sums->most_common.comm);
	thread_times_remark(sums->run, &sums->overview->times, report, sums->scope);
	if (sums->scale <= 1)
		attar_report_dropped(report, sums->overview->times.states, "times");
}

/* ---- what is shown as text ---- */

enum {
	LINES = 40,
	LINES_OF_FINDING = 3,
	LINES_OF_TABLE = 3, /* besides its rows */
	LINES_BESIDES = 18, /* the heading, empty lines and remarks */
	LINES_OF_80 = 22,   /* these, if remarks are wrapped at 80 columns */
	LINES_OF_DOUBT = 3,
	FINDINGS_SHOWN = 4,
	TIMES_SHOWN = 3,
};

/* Findings whose numbers are in a table. */
static const struct {
	const char *table, *findings; /* separated by commas */
	size_t rows;                  /* at most */
} needed[] = {
	{"on CPU", ",user code,kernel,interrupts,kernel spinlocks,", OVERVIEW_TOP},
	{"system calls", ",failing calls,kernel,disk,", 2 * OVERVIEW_TOP},
	{"latency", ",run delay,block latency,", LATENCIES},
	{"processes", ",run queue,", OVERVIEW_TOP},
	{"counts", ",page faults,migrations,context switches,", COUNTS},
};

/*
 * Shares the lines of a screen out: first findings, at least FINDINGS_SHOWN, then times, at least
 * TIMES_SHOWN; without --all.
 */
static void share_lines(const struct overview_sums *sums, size_t n_findings, bool is_doubtful,
	struct attar_section *findings, struct attar_section *times)
{
	static const char hint[] = "--all shows all";
	const size_t room = LINES - LINES_OF_80 - (is_doubtful ? LINES_OF_DOUBT : 0);
	const size_t least = LINES_OF_FINDING * FINDINGS_SHOWN;
	size_t rows = 0, wanted = LINES_OF_FINDING * n_findings, most;

	if (sums->overview->all)
		return;
	for (int part = 0; part < PARTS; part++)
		rows += sums->parts[part] != 0;
	most = room < least + rows ? least : room - rows;
	section_limit(findings, most, hint);
	most = room - (wanted < most ? wanted : most);
	section_limit(times, most < TIMES_SHOWN ? TIMES_SHOWN : most, hint);
}

/* The number of lines of a table that a finding needs; 0: none does. */
static size_t lines_needed(const char *table, const struct overview_finding *findings, size_t n)
{
	char name[64];

	for (size_t i = 0; i < n; i++)
		for (size_t t = 0; t < sizeof(needed) / sizeof(*needed); t++) {
			snprintf(name, sizeof(name), ",%s,", findings[i].name);
			if (!strcmp(needed[t].table, table) && strstr(needed[t].findings, name))
				return needed[t].rows + LINES_OF_TABLE;
		}
	return 0;
}

/* Those that a finding needs, as long as there is room; without --all. */
static void hide_others(const struct overview_sums *sums, const struct overview_finding *findings,
	size_t n_findings, struct attar_section *const *tables, const char *const *names, size_t n)
{
	size_t lines = LINES_BESIDES;

	if (sums->overview->all)
		return;
	lines += LINES_OF_FINDING * n_findings;
	for (int part = 0; part < PARTS; part++)
		lines += sums->parts[part] != 0;
	for (size_t i = 0; i < n; i++) {
		size_t more = lines_needed(names[i], findings, n_findings);

		if (more && lines + more <= LINES)
			lines += more;
		else
			section_secondary(tables[i]);
	}
}

int overview_fill(const struct overview_sums *sums, struct attar_report *report)
{
	static const char *const names[] = {
		"processes", "on CPU", "latency", "counts", "system calls"};
	struct attar_section *tables[sizeof(names) / sizeof(*names)], *shown;
	const struct attar_stacks_opts opts = {.size = sizeof(opts),
		.weight = "time",
		.unit = ATTAR_UNIT_NS,
		.no_table = true,
		.tree = true,
		.for_trees = true};
	struct overview_finding all[FINDINGS_MAX], *findings = all;
	size_t n_findings = overview_find(sums, findings);
	int r;

	if (n_findings && findings->is_sleep) { /* nothing is wrong that is known */
		report_remark_first(report, "no finding: the time passes in sleep, on purpose: %s",
			findings->evidence);
		findings++;
		n_findings--;
	}
	shown = add_findings(findings, n_findings, report);
	share_lines(sums, n_findings, n_findings && findings[n_findings - 1].is_doubt, shown,
		add_times(sums, report));
	tables[0] = add_processes(sums, report);
	tables[1] = add_functions(sums, report);
	tables[2] = add_latencies(sums, report);
	tables[3] = add_counts(sums, report);
	r = add_calls(sums, report, &tables[4]);
	if (r == 0)
		hide_others(
			sums, findings, n_findings, tables, names, sizeof(names) / sizeof(*names));
	if (r == 0)
		r = remark_ends(sums, report);
	add_remarks(sums, report);
	if (r == 0 && sums->overview->stacks)
		r = attar_run_stacks(sums->run, report, sums->overview->stacks, sums->scope, &opts);
	return r;
}
