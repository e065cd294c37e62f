/* SPDX-License-Identifier: MIT */
/* exitsnoop: prints each process that ends. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "attar/run.h"
#include "lib/line_summary.h"
#include "lib/list_options.h"
#include "lib/task_snoop.h"

/* In keys of struct exitsnoop.ends. */
#define OF_THREAD (UINT64_C(1) << 40)
#define GENERATED (UINT64_C(1) << 41)

struct exitsnoop {
	const char *name; /* patterns; NULL: all */
	bool fails, threads;
	struct task_counts counts;
	struct attar_pairs *births; /* of processes by pid, with --threads also of threads */
	struct attar_pairs *ends;   /* by pid, payload struct end */
	struct attar_pairs *alive;  /* by pid, payload struct alive */
	struct line_summary summary;
};

/* The threads of a process that began, or executed a program, during the run. */
struct alive {
	uint64_t threads;
	bool main_exited;
};

/* How a process ends. */
struct end {
	int status; /* of exit_group(2), or the number of a signal */
	bool is_signal;
};

static void exit_columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "pid", ATTAR_UNIT_ID);
	attar_section_main(lines);
	attar_section_column(lines, "ppid", ATTAR_UNIT_ID);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "age", ATTAR_UNIT_NS);
	attar_section_column(lines, "exit", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
}

static void note_end(
	struct exitsnoop *s, const struct attar_event *ev, uint64_t key, const struct end *end)
{
	struct attar_stamp at = task_stamp_of(ev);
	struct attar_start *start = attar_pairs_start_u64(s->ends, key, &at);

	if (start)
		*(struct end *)start->payload = *end;
}

/* --count does not count events of other tasks, which the events of selected tasks need. */
static void pass_over_others(struct attar_run *run, const struct attar_event *ev)
{
	if (!attar_run_is_selected(run, ev->thread))
		attar_run_pass_over(run);
}

enum { ERROR_CODE };

/* Ends the process. The first cause counts: the other threads are killed afterwards. */
static int on_exit_group(struct attar_run *run, void *self, const struct attar_event *ev)
{
	pass_over_others(run, ev);
	note_end(self, ev, task_pid_of(ev),
		&(struct end){.status = (int)(attar_arg_u64(ev, ERROR_CODE) & 0xff)});
	return 0;
}

/* Ends a thread. A process without another cause has the status of its last thread. */
static int on_exit_thread(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct exitsnoop *s = self;
	uint64_t key = task_pid_of(ev) | OF_THREAD;

	pass_over_others(run, ev);
	attar_pairs_drop(s->ends, &key, sizeof(key));
	note_end(s, ev, key, &(struct end){.status = (int)(attar_arg_u64(ev, ERROR_CODE) & 0xff)});
	return 0;
}

/* Whether the default action for a signal ends the process. */
static bool is_fatal(int64_t sig)
{
	return sig != SIGCHLD && sig != SIGCONT && sig != SIGURG && sig != SIGWINCH &&
	       sig != SIGSTOP && sig != SIGTSTP && sig != SIGTTIN && sig != SIGTTOU;
}

enum { SIG, HANDLER };

static int on_signal(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct exitsnoop *s = self;
	struct end end = {.status = (int)attar_arg_i64(ev, SIG), .is_signal = true};
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_start *generated;

	pass_over_others(run, ev);
	if (attar_arg_u64(ev, HANDLER) || !is_fatal(end.status))
		return 0;
	/* The kernel delivers SIGKILL for a signal that ends the process. */
	generated = end.status == SIGKILL
			    ? attar_pairs_end_u64(s->ends, task_pid_of(ev) | GENERATED, &at)
			    : NULL;
	if (generated)
		end = *(const struct end *)generated->payload;
	note_end(s, ev, task_pid_of(ev), &end);
	return 0;
}

enum { TARGET = 1 };

/* The newest signal that was sent to a process. */
static int on_generate(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct exitsnoop *s = self;
	struct end end = {.status = (int)attar_arg_i64(ev, SIG), .is_signal = true};
	const struct attar_thread *thread = attar_run_thread(run, (pid_t)attar_arg_i64(ev, TARGET));
	uint64_t key;

	pass_over_others(run, ev);
	if (!thread || !is_fatal(end.status))
		return 0;
	key = (uint64_t)thread->process->pid | GENERATED;
	attar_pairs_drop(s->ends, &key, sizeof(key));
	note_end(s, ev, key, &end);
	return 0;
}

/* ---- the number of threads, for kernels whose sched_process_exit lacks group_dead ---- */

static void put_alive(
	struct exitsnoop *s, const struct attar_event *ev, uint64_t pid, const struct alive *alive)
{
	struct attar_stamp at = task_stamp_of(ev);
	struct attar_start *start;

	attar_pairs_drop(s->alive, &pid, sizeof(pid));
	start = attar_pairs_start_u64(s->alive, pid, &at);
	if (start)
		*(struct alive *)start->payload = *alive;
}

/* False: the number of threads is not known. */
static bool take_alive(
	struct exitsnoop *s, const struct attar_event *ev, uint64_t pid, struct alive *ret_alive)
{
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_start *found = attar_pairs_end_u64(s->alive, pid, &at);

	if (found)
		*ret_alive = *(const struct alive *)found->payload;
	return found;
}

static void count_child(
	struct exitsnoop *s, const struct attar_event *ev, const struct attar_thread *child)
{
	uint64_t pid = (uint64_t)child->process->pid;
	struct alive alive = {0};

	if (child->tid != child->process->pid && !take_alive(s, ev, pid, &alive))
		return;
	alive.threads++;
	put_alive(s, ev, pid, &alive);
}

/* A process whose number of threads is not known is taken to end with its main thread. */
static bool count_exit(struct exitsnoop *s, const struct attar_event *ev, pid_t tid)
{
	bool is_main = tid == ev->thread->process->pid;
	struct alive alive;

	if (!take_alive(s, ev, task_pid_of(ev), &alive))
		return is_main;
	alive.main_exited |= is_main;
	if (--alive.threads)
		put_alive(s, ev, task_pid_of(ev), &alive);
	return !alive.threads && alive.main_exited;
}

/* ---- processes ---- */

enum { OLD_TID };

/*
 * A process executes a program, for which the kernel has killed the other threads. A thread other
 * than the main one takes its tid, and the start of the process: de_thread() in fs/exec.c.
 */
static int on_exec(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct exitsnoop *s = self;
	uint64_t pid = task_pid_of(ev), of_thread = pid | OF_THREAD,
		 old = attar_arg_exists(ev, OLD_TID) ? attar_arg_u64(ev, OLD_TID) : pid;

	pass_over_others(run, ev);
	if (old != pid)
		attar_pairs_drop(s->births, &old, sizeof(old));
	attar_pairs_drop(s->ends, &pid, sizeof(pid));
	attar_pairs_drop(s->ends, &of_thread, sizeof(of_thread));
	put_alive(s, ev, pid, &(struct alive){.threads = 1});
	return 0;
}

enum { CHILD };

static int on_fork(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct exitsnoop *s = self;
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_thread *child = attar_run_thread(run, (pid_t)attar_arg_i64(ev, CHILD));

	pass_over_others(run, ev);
	if (s->threads || !child || child->tid == child->process->pid)
		attar_pairs_start_u64(s->births, attar_arg_u64(ev, CHILD), &at);
	if (child)
		count_child(s, ev, child);
	return 0;
}

static void add_end(struct attar_section *lines, const struct end *end)
{
	const char *name = end && end->is_signal ? sigabbrev_np(end->status) : NULL;
	char text[32];

	if (!end) {
		attar_cell_none(lines);
		return;
	}
	if (name)
		snprintf(text, sizeof(text), "SIG%s", name);
	else
		snprintf(text, sizeof(text), end->is_signal ? "signal %d" : "%d", end->status);
	attar_cell_text(lines, text);
}

/* birth 0: unknown */
static int print_exit(struct attar_run *run, const struct attar_event *ev, pid_t tid,
	uint64_t birth, const struct end *end)
{
	struct attar_section *lines = attar_run_lines(run, "exits", exit_columns);

	if (!lines)
		return -ENOMEM;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, ev->thread->comm);
	task_add_number(lines, ev->thread->process->pid);
	task_add_number(lines, task_parent_of(ev));
	task_add_number(lines, tid);
	if (birth && birth <= ev->time)
		attar_cell_u64(lines, ev->time - birth);
	else
		attar_cell_none(lines);
	add_end(lines, end);
	return 0;
}

/* For the summary: whose children end, and by which names. */
static int sum_up_exit(
	struct exitsnoop *s, const struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_thread *parent = attar_run_thread(run, task_parent_of(ev));
	const char *comm = ev->thread->comm;
	int r = line_summary_add(
		&s->summary, parent ? parent->comm : "[unknown]", task_parent_of(ev), 0);

	return r == 0 ? line_summary_add_thing(&s->summary, 0, comm, strlen(comm), 0) : r;
}

/* How the process ended; false: it is not known. */
static bool take_end(struct exitsnoop *s, const struct attar_event *ev, struct end *ret_end)
{
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_start *found;
	bool has = false;

	found = attar_pairs_end_u64(s->ends, task_pid_of(ev) | OF_THREAD, &at);
	if (found) {
		*ret_end = *(const struct end *)found->payload;
		has = true;
	}
	found = attar_pairs_end_u64(s->ends, task_pid_of(ev), &at);
	if (found) {
		*ret_end = *(const struct end *)found->payload;
		has = true;
	}
	return has;
}

/* 0: unknown */
static uint64_t take_start(struct exitsnoop *s, const struct attar_event *ev, uint64_t key)
{
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_start *found = attar_pairs_end_u64(s->births, key, &at);

	return found ? found->time : 0;
}

/*
 * When the process began, or with --threads the thread; 0: unknown. A process lives on after its
 * main thread, and another thread can take over its tid.
 */
static uint64_t take_birth(
	struct exitsnoop *s, const struct attar_event *ev, pid_t tid, bool is_last)
{
	uint64_t pid = task_pid_of(ev), own = (uint64_t)tid,
		 of_thread = own != pid ? take_start(s, ev, own) : 0,
		 of_process = take_start(s, ev, pid);
	struct attar_stamp at = task_stamp_of(ev);

	at.time = of_process;
	if (of_process && !is_last)
		attar_pairs_start_u64(s->births, pid, &at);
	if (s->threads && own != pid)
		return of_thread ?: ev->thread->started;
	return of_process ?: ev->thread->process->started;
}

enum { EXIT_PID, GROUP_DEAD };

static int on_exit_task(struct attar_run *run, void *self, const struct attar_event *ev)
{
	int r;
	struct exitsnoop *s = self;
	struct attar_stamp at = task_stamp_of(ev);
	pid_t tid = (pid_t)attar_arg_i64(ev, EXIT_PID);
	bool is_last = count_exit(s, ev, tid), failed;
	uint64_t birth;
	struct end how;
	const struct end *end = NULL;

	pass_over_others(run, ev);
	if (attar_arg_exists(ev, GROUP_DEAD))
		is_last = attar_arg_u64(ev, GROUP_DEAD);
	birth = take_birth(s, ev, tid, is_last);
	if (!is_last && !s->threads)
		return 0;
	if (is_last && take_end(s, ev, &how))
		end = &how;
	attar_pairs_end_u64(s->ends, task_pid_of(ev) | GENERATED, &at);
	if ((s->name && !names_match(s->name, ev->thread->comm)) ||
		!attar_run_is_selected(run, ev->thread) || !attar_run_is_cpu_selected(run, at.cpu))
		return 0;
	failed = end && (end->is_signal || end->status);
	task_counts_add(&s->counts, failed);
	if (!failed && s->fails)
		return 0;
	r = sum_up_exit(s, run, ev);
	return r == 0 && attar_run_wants(run, ATTAR_WANT_LINES)
		       ? print_exit(run, ev, tid, birth, end)
		       : r;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct exitsnoop *s = self;

	attar_pairs_lost(s->births, -1, ev->lost_from, ev->lost_to);
	attar_pairs_lost(s->ends, -1, ev->lost_from, ev->lost_to);
	attar_pairs_lost(s->alive, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static const struct attar_input exits[] = {
	{.event = "sched:sched_process_fork", .fields = {"child_pid"}, .on_event = on_fork},
	{.event = "syscalls:sys_enter_exit_group",
		.fields = {"error_code"},
		.on_event = on_exit_group},
	{.event = "syscalls:sys_enter_exit", .fields = {"error_code"}, .on_event = on_exit_thread},
	{.event = "signal:signal_deliver", .fields = {"sig", "sa_handler"}, .on_event = on_signal},
	{.event = "signal:signal_generate/result==0/",
		.fields = {"sig", "pid"},
		.on_event = on_generate},
	{.event = "sched:sched_process_exec",
		.fields = {"?old_pid"},
		.on_event = on_exec,
		.optional = true},
	{.event = "sched:sched_process_exit",
		.fields = {"pid", "?group_dead"},
		.on_event = on_exit_task},
	{0}};

static int exitsnoop_open(struct attar_run *run, void *self)
{
	struct exitsnoop *s = self;
	const struct attar_pairs_opts births = {.size = sizeof(births)};
	const struct attar_pairs_opts alive = {
		.size = sizeof(alive), .payload_size = sizeof(struct alive)};
	const struct attar_pairs_opts ends = {.size = sizeof(ends),
		.policy = ATTAR_PAIRS_FIRST,
		.payload_size = sizeof(struct end)};
	int r = attar_run_select_tasks(run); /* other threads send signals to them */

	if (r == 0)
		r = attar_run_keep_own(run);
	attar_run_all_cpus(run, true);
	if (r == 0)
		r = attar_run_inputs(run, exits);
	if (r == 0)
		r = line_summary_init(&s->summary, false);
	if (r == 0)
		r = attar_pairs_new(&births, &s->births);
	if (r == 0)
		r = attar_pairs_new(&alive, &s->alive);
	return r == 0 ? attar_pairs_new(&ends, &s->ends) : r;
}

static int exitsnoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	static const char *const name = "name";
	struct exitsnoop *s = self;

	task_counts_report(&s->counts, report, scope, "exits");
	return line_summary_report(&s->summary, run, report, scope, "parent", &name, 1);
}

static void exitsnoop_close(void *self)
{
	struct exitsnoop *s = self;

	attar_pairs_free(s->births);
	attar_pairs_free(s->ends);
	attar_pairs_free(s->alive);
	line_summary_done(&s->summary);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct exitsnoop, fails, 'x', "fails",
		"only failures: a status other than 0, or killed by a signal"),
	ATTAR_JOINED(struct exitsnoop, name, 'n', "name", "NAMES",
		"only these names, separated by commas; * and ? match"),
	ATTAR_FLAG(struct exitsnoop, threads, 0, "threads", "also print each thread that exits"),
	{0}};

static const struct attar_example examples[] = {
	{"exitsnoop", "every process that exits, until Ctrl-C"},
	{"exitsnoop -x", "processes that fail or are killed"}, {0}};

const struct attar_profiler profiler_exitsnoop = {
	.name = "exitsnoop",
	.group = "Processes",
	.summary = "print each process that exits, with its age and exit status",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct exitsnoop),
	.options = options,
	.examples = examples,
	.open = exitsnoop_open,
	.lost = on_lost,
	.report = exitsnoop_report,
	.close = exitsnoop_close,
};
