/* SPDX-License-Identifier: MIT */
/* execsnoop and exitsnoop: print each program that is started, and each process that ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attar/run.h"
#include "list_options.h"

enum { ARGS_BYTES = 1024, ARGS_OPEN_MAX = 4096 };

/* In keys of struct task_snoop.ends. */
#define OF_THREAD (UINT64_C(1) << 40)
#define GENERATED (UINT64_C(1) << 41)

struct task_snoop {
	const char *name; /* patterns; NULL: all */
	bool fails, threads;
	uint64_t seen, failed; /* in the interval */
	uint64_t whole, whole_failed;

	struct attar_pairs *args;   /* execsnoop: by pid, payload struct args */
	uint64_t late, missing;     /* execsnoop: lines with late arguments, or without any */
	struct attar_pairs *births; /* exitsnoop: by pid, or by tid with --threads */
	struct attar_pairs *ends;   /* exitsnoop: by pid, payload struct end */
};

/* How a process ends. */
struct end {
	int status; /* of exit_group(2), or the number of a signal */
	bool is_signal;
};

/* What the kernel passes to a program. */
struct args {
	char text[ARGS_BYTES]; /* without the first one, separated by blanks */
};

static uint64_t pid_of(const struct attar_event *ev)
{
	return (uint64_t)ev->thread->process->pid;
}

static struct attar_stamp stamp_of(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

static void add_number(struct attar_section *lines, int64_t number)
{
	if (number > 0)
		attar_cell_u64(lines, (uint64_t)number);
	else
		attar_cell_none(lines);
}

static pid_t parent_of(const struct attar_event *ev)
{
	return ev->thread->process ? ev->thread->process->parent : 0;
}

static int count(struct task_snoop *s, bool failed)
{
	s->seen++;
	s->failed += failed;
	return 0;
}

static int report_counts(struct task_snoop *s, struct attar_report *report, enum attar_scope scope,
	const char *section, const char *failed)
{
	struct attar_section *table = attar_report_table(report, section);

	s->whole += s->seen;
	s->whole_failed += s->failed;
	attar_section_column(table, section, ATTAR_UNIT_COUNT);
	attar_section_column(table, failed, ATTAR_UNIT_COUNT);
	attar_section_row(table);
	attar_cell_u64(table, scope == ATTAR_SCOPE_WHOLE ? s->whole : s->seen);
	attar_cell_u64(table, scope == ATTAR_SCOPE_WHOLE ? s->whole_failed : s->failed);
	s->seen = s->failed = 0;
	return 0;
}

/* ---- execsnoop ---- */

static void exec_columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "pid", ATTAR_UNIT_ID);
	attar_section_column(lines, "ppid", ATTAR_UNIT_ID);
	attar_section_column(lines, "result", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "file", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "arguments", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "late", ATTAR_UNIT_TEXT);
}

static struct attar_section *exec_line(
	struct attar_run *run, const struct attar_event *ev, int64_t pid, const char *result)
{
	struct attar_section *lines = attar_run_lines(run, "programs", exec_columns);

	if (!lines)
		return NULL;
	attar_section_row(lines);
	attar_cell_u64(lines, attar_run_realtime(run, ev->time));
	attar_cell_text(lines, ev->thread->comm);
	add_number(lines, pid);
	add_number(lines, parent_of(ev));
	attar_cell_text(lines, result);
	return lines;
}

/* Reads /proc/PID/NAME, of which the newline at the end is cut; the number of bytes, or -1. */
static ssize_t read_proc(int64_t pid, const char *name, char *ret_text, size_t max)
{
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, ret_text, max - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n > 0 && ret_text[n - 1] == '\n')
		n--;
	ret_text[n > 0 ? n : 0] = '\0';
	return n;
}

enum { ARGC, ARGS, MORE_ARGS };

/*
 * The arguments as the kernel has just written them to the new stack, before sched_process_exec:
 * argc strings, one after the other.
 */
static int on_arguments(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	struct attar_stamp at = stamp_of(ev);
	struct attar_start *start = attar_pairs_start_u64(s->args, pid_of(ev), &at);
	struct args *args = start ? start->payload : NULL;
	uint64_t left = attar_arg_u64(ev, ARGC);
	size_t len = 0;

	for (unsigned i = ARGS; args && i <= MORE_ARGS; i++) {
		size_t n;
		const char *bytes = attar_arg_bytes(ev, i, &n);

		for (size_t at_byte = 0; at_byte < n && left > 0; at_byte++) {
			bool is_first = left == attar_arg_u64(ev, ARGC);
			char c = bytes[at_byte];

			left -= !c;
			if (!is_first && left > 0 && len < ARGS_BYTES - 1)
				args->text[len++] = c ? c : ' ';
		}
	}
	return 0;
}

/* The arguments that the kernel has copied; NULL: it has not. Borrowed from the pairs. */
static const struct args *take_arguments(struct task_snoop *s, const struct attar_event *ev)
{
	struct attar_stamp at = stamp_of(ev);
	const struct attar_start *start = attar_pairs_end_u64(s->args, pid_of(ev), &at);

	return start ? start->payload : NULL;
}

/*
 * The arguments, while the process still runs the program; the first one is its name. They may be
 * those of a later program of this name.
 */
static void read_arguments(struct task_snoop *s, struct attar_run *run, struct attar_section *lines,
	int64_t pid, const char *comm)
{
	char text[ARGS_BYTES], now[64] = "", *args;
	ssize_t n = attar_run_is_live(run) ? read_proc(pid, "cmdline", text, sizeof(text)) : -1;

	if (n <= 0 || read_proc(pid, "comm", now, sizeof(now)) <= 0 || strcmp(now, comm) != 0) {
		attar_cell_none(lines);
		attar_cell_text(lines, "");
		s->missing += attar_run_is_live(run);
		return;
	}
	args = memchr(text, '\0', (size_t)n) == text + n ? text + n : text + strlen(text) + 1;
	for (char *c = args; c < text + n - 1; c++)
		if (!*c)
			*c = ' ';
	attar_cell_text(lines, args < text + n ? args : "");
	attar_cell_text(lines, "?");
	s->late++;
}

static void add_arguments(struct task_snoop *s, struct attar_run *run, struct attar_section *lines,
	int64_t pid, const char *comm, const struct args *args)
{
	if (!args) {
		read_arguments(s, run, lines, pid, comm);
		return;
	}
	attar_cell_text(lines, args->text);
	attar_cell_text(lines, "");
}

enum { FILENAME, PID };

static int on_exec(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	int64_t pid = attar_arg_i64(ev, PID);
	struct attar_section *lines;
	char file[4096];
	size_t n;
	const char *name = attar_arg_text(ev, FILENAME, &n);
	const struct args *args = take_arguments(s, ev);

	if (s->name && !names_match(s->name, ev->thread->comm))
		return 0;
	if (!attar_run_wants_lines(run))
		return count(s, false);
	lines = exec_line(run, ev, pid, "ok");
	if (!lines)
		return -ENOMEM;
	snprintf(file, sizeof(file), "%.*s", (int)n, name ? name : "");
	attar_cell_text(lines, file);
	add_arguments(s, run, lines, pid, ev->thread->comm, args);
	return count(s, false);
}

enum { RET };

static int on_exec_failed(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	int64_t ret = attar_arg_i64(ev, RET);
	const char *name = strerrorname_np((int)-ret);

	if (ret >= 0 || (s->name && !names_match(s->name, ev->thread->comm)))
		return 0;
	if (attar_run_wants_lines(run) &&
		!exec_line(run, ev, ev->thread->process->pid, name ? name : "error"))
		return -ENOMEM;
	return count(s, true);
}

/*
 * start_thread(regs, ip, sp) is called with the stack of the new program: argc, argv[0] and so on.
 * An array of the kernel has at most 64 elements. On arm64 the function is inline.
 */
#ifdef __x86_64__
static const struct attar_input arguments = {
	.event =
		"kprobe:start_thread//optional/args=(argc=+0($arg3):u64 text=+0(+8($arg3)):x64[64] "
		"more=+512(+8($arg3)):x64[64])/",
	.fields = {"argc", "text", "more"},
	.on_event = on_arguments};
#else
static const struct attar_input arguments = {.event = NULL, .on_event = on_arguments};
#endif

static const struct attar_input execs = {
	.event = "sched:sched_process_exec", .fields = {"filename", "pid"}, .on_event = on_exec};
static const struct attar_input failed_execs[] = {
	{.event = "syscalls:sys_exit_execve/ret<0/", .fields = {"ret"}, .on_event = on_exec_failed},
	{.event = "syscalls:sys_exit_execveat/ret<0/",
		.fields = {"ret"},
		.on_event = on_exec_failed},
	{0}};

static int execsnoop_open(struct attar_run *run, void *self)
{
	struct task_snoop *s = self;
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.payload_size = sizeof(struct args),
		.open_max = ARGS_OPEN_MAX};
	int r = attar_pairs_new(&opts, &s->args);

	if (r == 0 && arguments.event)
		r = attar_run_input(run, &arguments);
	if (r == 0)
		r = attar_run_input(run, &execs);
	return r == 0 && s->fails ? attar_run_inputs(run, failed_execs) : r;
}

static int on_exec_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;

	attar_pairs_lost(s->args, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static void execsnoop_close(void *self)
{
	struct task_snoop *s = self;

	attar_pairs_free(s->args);
}

static void arguments_remarks(const struct task_snoop *s, struct attar_report *report)
{
	static const char fix[] = "a kernel of x86-64 with kprobes copies them, if attar runs as "
				  "root";

	if (s->late)
		attar_report_remark(report,
			"%llu line%s '?' in the column late: the arguments were read from /proc, "
			"and may be those of a later program; %s",
			(unsigned long long)s->late, s->late == 1 ? " has" : "s have", fix);
	if (s->missing)
		attar_report_remark(report,
			"%llu line%s no arguments: the process had exited, or ran another program, "
			"before they were read from /proc; %s",
			(unsigned long long)s->missing, s->missing == 1 ? " has" : "s have", fix);
}

static int execsnoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	arguments_remarks(self, report);
	return report_counts(self, report, scope, "execs", "failed");
}

static const struct attar_option exec_options[] = {
	ATTAR_FLAG(struct task_snoop, fails, 'x', "fails", "also print failed attempts"),
	ATTAR_JOINED(struct task_snoop, name, 'n', "name", "NAMES",
		"only these names, separated by commas; * and ? match"),
	{0}};

static const struct attar_example exec_examples[] = {
	{"execsnoop", "every program that is started, until Ctrl-C"},
	{"execsnoop -x -- make", "the programs that a command starts or fails to start"}, {0}};

const struct attar_profiler profiler_execsnoop = {
	.name = "execsnoop",
	.group = "Processes",
	.summary = "print each program that is started",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct task_snoop),
	.options = exec_options,
	.examples = exec_examples,
	.open = execsnoop_open,
	.lost = on_exec_lost,
	.report = execsnoop_report,
	.close = execsnoop_close,
};

/* ---- exitsnoop ---- */

static void exit_columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "pid", ATTAR_UNIT_ID);
	attar_section_column(lines, "ppid", ATTAR_UNIT_ID);
	attar_section_column(lines, "tid", ATTAR_UNIT_ID);
	attar_section_column(lines, "age", ATTAR_UNIT_NS);
	attar_section_column(lines, "exit", ATTAR_UNIT_TEXT);
}

static void note_end(
	struct task_snoop *s, const struct attar_event *ev, uint64_t key, const struct end *end)
{
	struct attar_stamp at = stamp_of(ev);
	struct attar_start *start = attar_pairs_start_u64(s->ends, key, &at);

	if (start)
		*(struct end *)start->payload = *end;
}

enum { ERROR_CODE };

/* Ends the process. The first cause counts: the other threads are killed afterwards. */
static int on_exit_group(struct attar_run *run, void *self, const struct attar_event *ev)
{
	note_end(self, ev, pid_of(ev),
		&(struct end){.status = (int)(attar_arg_u64(ev, ERROR_CODE) & 0xff)});
	return 0;
}

/* Ends a thread. The status of a process without another cause is that of its last thread. */
static int on_exit_thread(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	uint64_t key = pid_of(ev) | OF_THREAD;

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
	struct task_snoop *s = self;
	struct end end = {.status = (int)attar_arg_i64(ev, SIG), .is_signal = true};
	struct attar_stamp at = stamp_of(ev);
	const struct attar_start *generated;

	if (attar_arg_u64(ev, HANDLER) || !is_fatal(end.status))
		return 0;
	/* The kernel delivers SIGKILL for a signal that ends the process. */
	generated = end.status == SIGKILL
			    ? attar_pairs_end_u64(s->ends, pid_of(ev) | GENERATED, &at)
			    : NULL;
	if (generated)
		end = *(const struct end *)generated->payload;
	note_end(s, ev, pid_of(ev), &end);
	return 0;
}

enum { TARGET = 1 };

/* The newest signal that was sent to a process. */
static int on_generate(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	struct end end = {.status = (int)attar_arg_i64(ev, SIG), .is_signal = true};
	const struct attar_thread *thread = attar_run_thread(run, (pid_t)attar_arg_i64(ev, TARGET));
	uint64_t key;

	if (!thread || !is_fatal(end.status))
		return 0;
	key = (uint64_t)thread->process->pid | GENERATED;
	attar_pairs_drop(s->ends, &key, sizeof(key));
	note_end(s, ev, key, &end);
	return 0;
}

enum { CHILD };

static int on_fork(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	struct attar_stamp at = stamp_of(ev);

	attar_pairs_start_u64(s->births, attar_arg_u64(ev, CHILD), &at);
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
	add_number(lines, ev->thread->process->pid);
	add_number(lines, parent_of(ev));
	add_number(lines, tid);
	if (birth && birth <= ev->time)
		attar_cell_u64(lines, ev->time - birth);
	else
		attar_cell_none(lines);
	add_end(lines, end);
	return 0;
}

/* How the process ended; false: it is not known. */
static bool take_end(struct task_snoop *s, const struct attar_event *ev, struct end *ret_end)
{
	struct attar_stamp at = stamp_of(ev);
	const struct attar_start *found;
	bool has = false;

	found = attar_pairs_end_u64(s->ends, pid_of(ev) | OF_THREAD, &at);
	if (found) {
		*ret_end = *(const struct end *)found->payload;
		has = true;
	}
	found = attar_pairs_end_u64(s->ends, pid_of(ev), &at);
	if (found) {
		*ret_end = *(const struct end *)found->payload;
		has = true;
	}
	return has;
}

/* When the thread began, with --threads, or its process; 0: unknown. */
static uint64_t take_birth(struct task_snoop *s, const struct attar_event *ev, pid_t tid)
{
	struct attar_stamp at = stamp_of(ev);
	const struct attar_start *birth =
		attar_pairs_end_u64(s->births, s->threads ? (uint64_t)tid : pid_of(ev), &at);

	if (birth)
		return birth->time;
	return s->threads ? ev->thread->started : ev->thread->process->started;
}

enum { EXIT_PID, GROUP_DEAD };

static int on_exit_task(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;
	struct attar_stamp at = stamp_of(ev);
	pid_t tid = (pid_t)attar_arg_i64(ev, EXIT_PID), pid = ev->thread->process->pid;
	bool is_last =
		attar_arg_exists(ev, GROUP_DEAD) ? attar_arg_u64(ev, GROUP_DEAD) : tid == pid;
	uint64_t birth;
	struct end how;
	const struct end *end = NULL;

	if (!is_last && !s->threads)
		return 0;
	birth = take_birth(s, ev, tid);
	if (is_last && take_end(s, ev, &how))
		end = &how;
	attar_pairs_end_u64(s->ends, pid_of(ev) | GENERATED, &at);
	if ((s->name && !names_match(s->name, ev->thread->comm)) ||
		!attar_run_is_selected(run, ev->thread) || !attar_run_is_cpu_selected(run, at.cpu))
		return 0;
	if (s->fails && !(end && (end->is_signal || end->status)))
		return 0;
	count(s, end && (end->is_signal || end->status));
	return attar_run_wants_lines(run) ? print_exit(run, ev, tid, birth, end) : 0;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct task_snoop *s = self;

	attar_pairs_lost(s->births, -1, ev->lost_from, ev->lost_to);
	attar_pairs_lost(s->ends, -1, ev->lost_from, ev->lost_to);
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
	{.event = "sched:sched_process_exit",
		.fields = {"pid", "?group_dead"},
		.on_event = on_exit_task},
	{0}};

static int exitsnoop_open(struct attar_run *run, void *self)
{
	struct task_snoop *s = self;
	const struct attar_pairs_opts births = {.size = sizeof(births)};
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
		r = attar_pairs_new(&births, &s->births);
	return r == 0 ? attar_pairs_new(&ends, &s->ends) : r;
}

static int exitsnoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	return report_counts(self, report, scope, "exits", "failed");
}

static void exitsnoop_close(void *self)
{
	struct task_snoop *s = self;

	attar_pairs_free(s->births);
	attar_pairs_free(s->ends);
}

static const struct attar_option exit_options[] = {
	ATTAR_FLAG(struct task_snoop, fails, 'x', "fails",
		"only failures: a status other than 0, or killed by a signal"),
	ATTAR_JOINED(struct task_snoop, name, 'n', "name", "NAMES",
		"only these names, separated by commas; * and ? match"),
	ATTAR_FLAG(struct task_snoop, threads, 0, "threads", "also print each thread that exits"),
	{0}};

static const struct attar_example exit_examples[] = {
	{"exitsnoop", "every process that exits, until Ctrl-C"},
	{"exitsnoop -x", "processes that fail or are killed"}, {0}};

const struct attar_profiler profiler_exitsnoop = {
	.name = "exitsnoop",
	.group = "Processes",
	.summary = "print each process that exits, with its age and exit status",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct task_snoop),
	.options = exit_options,
	.examples = exit_examples,
	.open = exitsnoop_open,
	.lost = on_lost,
	.report = exitsnoop_report,
	.close = exitsnoop_close,
};
