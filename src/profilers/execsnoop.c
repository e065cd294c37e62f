/* SPDX-License-Identifier: MIT */
/* execsnoop: prints each program that is started. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attar/run.h"
#include "list_options.h"
#include "task_snoop.h"

enum { ARGS_BYTES = 1024, ARGS_OPEN_MAX = 4096 };

struct execsnoop {
	const char *name; /* patterns; NULL: all */
	bool fails;
	struct task_counts counts;
	struct attar_pairs *args; /* by pid, payload struct args */
	uint64_t late, missing;   /* lines with late arguments, or without any */
};

/* What the kernel passes to a program. */
struct args {
	char text[ARGS_BYTES]; /* without the first one, separated by spaces */
};

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
	task_add_number(lines, pid);
	task_add_number(lines, task_parent_of(ev));
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
	struct execsnoop *s = self;
	struct attar_stamp at = task_stamp_of(ev);
	struct attar_start *start = attar_pairs_start_u64(s->args, task_pid_of(ev), &at);
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
static const struct args *take_arguments(struct execsnoop *s, const struct attar_event *ev)
{
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_start *start = attar_pairs_end_u64(s->args, task_pid_of(ev), &at);

	return start ? start->payload : NULL;
}

/*
 * The arguments, while the process still runs the program; the first one is its name. They may be
 * those of a later program of this name.
 */
static void read_arguments(struct execsnoop *s, struct attar_run *run, struct attar_section *lines,
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

static void add_arguments(struct execsnoop *s, struct attar_run *run, struct attar_section *lines,
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
	struct execsnoop *s = self;
	int64_t pid = attar_arg_i64(ev, PID);
	struct attar_section *lines;
	char file[4096];
	size_t n;
	const char *name = attar_arg_text(ev, FILENAME, &n);
	const struct args *args = take_arguments(s, ev);

	if (s->name && !names_match(s->name, ev->thread->comm))
		return 0;
	task_counts_add(&s->counts, false);
	if (!attar_run_wants_lines(run))
		return 0;
	lines = exec_line(run, ev, pid, "ok");
	if (!lines)
		return -ENOMEM;
	snprintf(file, sizeof(file), "%.*s", (int)n, name ? name : "");
	attar_cell_text(lines, file);
	add_arguments(s, run, lines, pid, ev->thread->comm, args);
	return 0;
}

enum { RET };

static int on_exec_failed(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct execsnoop *s = self;
	int64_t ret = attar_arg_i64(ev, RET);
	const char *name = strerrorname_np((int)-ret);

	if (ret >= 0 || (s->name && !names_match(s->name, ev->thread->comm)))
		return 0;
	task_counts_add(&s->counts, true);
	if (attar_run_wants_lines(run) &&
		!exec_line(run, ev, ev->thread->process->pid, name ? name : "error"))
		return -ENOMEM;
	return 0;
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
	struct execsnoop *s = self;
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

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct execsnoop *s = self;

	attar_pairs_lost(s->args, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static void execsnoop_close(void *self)
{
	struct execsnoop *s = self;

	attar_pairs_free(s->args);
}

static void arguments_remarks(const struct execsnoop *s, struct attar_report *report)
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
	struct execsnoop *s = self;

	arguments_remarks(s, report);
	task_counts_report(&s->counts, report, scope, "execs");
	return 0;
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct execsnoop, fails, 'x', "fails", "also print failed attempts"),
	ATTAR_JOINED(struct execsnoop, name, 'n', "name", "NAMES",
		"only these names, separated by commas; * and ? match"),
	{0}};

static const struct attar_example examples[] = {
	{"execsnoop", "every program that is started, until Ctrl-C"},
	{"execsnoop -x -- make", "the programs that a command starts or fails to start"}, {0}};

const struct attar_profiler profiler_execsnoop = {
	.name = "execsnoop",
	.group = "Processes",
	.summary = "print each program that is started",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct execsnoop),
	.options = options,
	.examples = examples,
	.open = execsnoop_open,
	.lost = on_lost,
	.report = execsnoop_report,
	.close = execsnoop_close,
};
