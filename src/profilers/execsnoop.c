/* SPDX-License-Identifier: MIT */
/* execsnoop: prints each program that is started. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/run.h"
#include "attar/private/thread.h"
#include "lib/line_summary.h"
#include "lib/list_options.h"
#include "lib/longest.h"
#include "lib/registers.h"
#include "lib/task_snoop.h"

/*
 * A program in the kernel copies the arguments, where that is possible: see run_copy_execs(). Else,
 * with kprobes, the kernel copies the beginning of the arguments of each program. Without, the copy
 * of the stack at sched_process_exec has them nearly always: the stack pointer points to their
 * number, pointers to them and to the environment follow, then after a random gap the strings of
 * both. The copy ends at a page that the kernel has not touched, which a gap of 4 to 8 KiB can
 * have. Then the memory of the process has them, until it exits or executes another program.
 */
enum {
	ARGS_BYTES = 1024,        /* without the program in the kernel */
	COPIED_BYTES = 160 << 10, /* more than it copies */
	ARGS_OPEN_MAX = 4096,
	STACK_BYTES = 16384,
	ARG_START = 48, /* a field of /proc/PID/stat; the next one is the end */
	NOTED = 3,
	PATH_BYTES = 256,
	COMM_BYTES = 16
};

#define UNKNOWN "[unknown]"
#define LOST    "[lost]"

struct execsnoop {
	const char *name; /* patterns; NULL: all */
	bool fails, is_longest;
	struct longest longest; /* with --longest */
	struct task_counts counts;
	struct attar_pairs *args; /* by pid, payload struct args */
	bool copies;              /* a program in the kernel does */
	struct args *own;         /* of this line */
	uint64_t unknown, lost;   /* lines with UNKNOWN, and with LOST */
	uint64_t unread;          /* attempts with UNKNOWN in them */
	struct line_summary summary;
};

/* What the kernel passes to a program. */
struct args {
	char first[PATH_BYTES];  /* can be cut */
	size_t at[NOTED + 1], n; /* where arguments 1 to n begin in text */
	size_t max;              /* bytes of text */
	char text[];             /* without the first one, separated by spaces */
};

static void args_reset(struct args *args, size_t max)
{
	*args = (struct args){.max = max};
	*args->text = '\0';
}

static void args_begin(struct args *args, uint64_t i, size_t at)
{
	if (i > 0 && i <= NOTED) {
		args->at[i] = at;
		args->n = i;
	}
}

static bool args_is(const struct args *args, size_t i, const char *text)
{
	const char *at = args->text + args->at[i];
	size_t n = strlen(text);

	return !strncmp(at, text, n) && (i < args->n ? at[n] == ' ' : !at[n]) &&
	       (i == args->n || args->at[i + 1] == args->at[i] + n + 1);
}

/*
 * Those that were passed to a script. The kernel passes to its interpreter: the path of the
 * interpreter, the option in the first line, if any, the path of the script, and these arguments.
 */
static const char *args_passed(const struct args *args, const char *file)
{
	bool is_script = *args->first == '/' && strcmp(args->first, file) != 0;

	for (size_t i = 1; is_script && i < NOTED && i <= args->n; i++)
		if (args_is(args, i, file))
			return i < args->n ? args->text + args->at[i + 1] : "";
	return args->text;
}

static void exec_columns(struct attar_section *lines)
{
	attar_section_column(lines, "time", ATTAR_UNIT_TIME);
	attar_section_column(lines, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "pid", ATTAR_UNIT_ID);
	attar_section_main(lines);
	attar_section_column(lines, "ppid", ATTAR_UNIT_ID);
	attar_section_column(lines, "result", ATTAR_UNIT_TEXT);
	attar_section_column(lines, "file", ATTAR_UNIT_TEXT);
	attar_section_main(lines);
	attar_section_column(lines, "arguments", ATTAR_UNIT_TEXT);
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
	uint64_t argc = attar_arg_u64(ev, ARGC), left = argc;
	size_t len = 0, first = 0;

	for (unsigned i = ARGS; args && i <= MORE_ARGS; i++) {
		size_t n;
		const char *bytes = attar_arg_bytes(ev, i, &n);

		for (size_t at_byte = 0; at_byte < n && left > 0; at_byte++) {
			bool is_first = left == argc;
			char c = bytes[at_byte];

			left -= !c;
			if (is_first && c && first < PATH_BYTES - 1)
				args->first[first++] = c;
			if (!is_first && left > 0 && len < ARGS_BYTES - 1)
				args->text[len++] = c ? c : ' ';
			if (!c && left > 0)
				args_begin(args, argc - left, len);
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

/* Where the arguments of the process are, in bytes; false: it is unknown. */
static bool find_arguments(int64_t pid, uint64_t *ret_address, uint64_t *ret_bytes)
{
	char path[48], text[1024] = "", *at;
	uint64_t end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	at = fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL; /* of the name, field 2 */
	fclose(file);
	for (unsigned i = 2; at && i < ARG_START; i++)
		at = strchr(at + 1, ' ');
	if (!at)
		return false;
	*ret_address = strtoull(at, &at, 10);
	end = strtoull(at, NULL, 10);
	*ret_bytes = end - *ret_address;
	return *ret_address && end > *ret_address;
}

/* The copy of a new stack. */
struct stack {
	const char *bytes;
	size_t size, word; /* bytes of a pointer */
	uint64_t address;
};

static bool get_word(const struct stack *stack, uint64_t i, uint64_t *ret_word)
{
	uint32_t half;

	if (i >= stack->size / stack->word)
		return false;
	if (stack->word == sizeof(half)) {
		memcpy(&half, stack->bytes + i * stack->word, sizeof(half));
		*ret_word = half;
	} else {
		memcpy(ret_word, stack->bytes + i * stack->word, sizeof(*ret_word));
	}
	return true;
}

/* Argument i, and its length; NULL: it is not completely in the copy. */
static const char *get_argument(const struct stack *stack, uint64_t i, size_t *ret_len)
{
	uint64_t at;
	const char *end;

	if (!get_word(stack, 1 + i, &at) || at < stack->address ||
		at - stack->address >= stack->size)
		return NULL;
	at -= stack->address;
	end = memchr(stack->bytes + at, '\0', stack->size - at);
	*ret_len = end ? (size_t)(end - (stack->bytes + at)) : 0;
	return end ? stack->bytes + at : NULL;
}

/* Appends argument i, n bytes, to len bytes. False: the rest is cut. */
static bool add_argument(struct args *args, size_t *len, uint64_t i, const char *argument, size_t n)
{
	char *text = args->text;
	static const char cut[] = "...";
	const size_t room = args->max - sizeof(cut) - 1 - *len;

	if (i > 1)
		text[(*len)++] = ' ';
	args_begin(args, i, *len);
	memcpy(text + *len, argument, n < room ? n : room);
	*len += n < room ? n : room;
	memcpy(text + *len, cut, n < room ? 0 : sizeof(cut));
	text[*len + (n < room ? 0 : sizeof(cut) - 1)] = '\0';
	return n < room;
}

static bool copied_arguments(const struct stack *stack, struct args *args)
{
	const char *first;
	uint64_t argc;
	size_t len = 0, n;

	if (!get_word(stack, 0, &argc))
		return false;
	first = get_argument(stack, 0, &n);
	if (first)
		snprintf(args->first, PATH_BYTES, "%s", first);
	for (uint64_t i = 1; i < argc; i++) {
		const char *argument = get_argument(stack, i, &n);

		if (!argument)
			return false;
		if (!add_argument(args, &len, i, argument, n))
			break;
	}
	return true;
}

/*
 * The addresses of arguments are random: the address in the new stack shows whether the process
 * still runs this program. It may have put memory there that cannot be read, for which reading
 * /proc/PID/cmdline would wait.
 */
static bool read_arguments(const struct stack *stack, int64_t pid, struct args *args)
{
	char line[4096];
	uint64_t first, address, bytes, i = 1;
	size_t len = 0;
	ssize_t n;

	if (!get_word(stack, 1, &first) || !find_arguments(pid, &address, &bytes) ||
		address != first)
		return false;
	n = thread_memory(
		(pid_t)pid, address, line, bytes < sizeof(line) ? (size_t)bytes : sizeof(line) - 1);
	if (n <= 0)
		return false;
	line[n] = '\0';
	snprintf(args->first, PATH_BYTES, "%s", line);
	for (const char *at = line + strlen(line) + 1; at < line + n; at += strlen(at) + 1)
		if (!add_argument(args, &len, i++, at, strlen(at)))
			break;
	return true;
}

/* From the copy of the stack, or the memory of the process. */
static bool find_args(
	struct attar_run *run, const struct attar_event *ev, int64_t pid, struct args *args)
{
	const struct attar_sample *sample = &ev->record->sample;
	struct stack stack = {.bytes = sample->stack,
		.size = sample->stack_size,
		.word = sample->regs_user.abi == PERF_SAMPLE_REGS_ABI_32 ? 4 : 8};

	args_reset(args, ARGS_BYTES);
	if (!stack.bytes || !registers_stack_pointer(&sample->regs_user, &stack.address))
		return false;
	if (copied_arguments(&stack, args))
		return true;
	args_reset(args, ARGS_BYTES);
	return attar_run_is_live(run) && read_arguments(&stack, pid, args);
}

/* ---- copies of the program in the kernel ---- */

/* The arguments of strings: those after the first one. */
static void join_strings(struct args *args, const char *strings, size_t size, bool is_cut)
{
	size_t len = 0, i = 0, n;

	args_reset(args, COPIED_BYTES);
	for (const char *at = strings; at < strings + size; at += n + 1, i++) {
		n = strnlen(at, (size_t)(strings + size - at));
		if (i == 0)
			snprintf(args->first, PATH_BYTES, "%.*s", (int)n, at);
		else if (!add_argument(args, &len, i, at, n))
			return;
	}
	if (is_cut)
		(void)snprintf(args->text + len, args->max - len, "...");
}

/* The program's own arguments, without the interpreter's; otherwise UNKNOWN or LOST. */
static int get_args(struct execsnoop *s, struct attar_run *run, const struct attar_event *ev,
	int64_t pid, const char *file, const char **ret_text)
{
	const struct args *args = s->copies ? NULL : take_arguments(s, ev);
	struct run_exec exec = {0};
	int r = s->copies ? run_copied_exec(run, ev, &exec) : 0;

	if (r < 0)
		return r;
	if (r > 0 && !exec.is_lost && !exec.n_unread) {
		join_strings(s->own, exec.strings, exec.size, exec.is_cut);
		args = s->own;
	} else if (!s->copies && !args && find_args(run, ev, pid, s->own)) {
		args = s->own;
	}
	s->unknown += !args && !exec.is_lost;
	s->lost += exec.is_lost;
	*ret_text = args ? args_passed(args, file) : exec.is_lost ? LOST : UNKNOWN;
	return 0;
}

/* The process that has created the one that executes a program. */
static const char *parent_name(
	const struct attar_run *run, const struct attar_event *ev, char name[COMM_BYTES])
{
	const struct attar_thread *parent = attar_run_thread(run, task_parent_of(ev));

	snprintf(name, COMM_BYTES, "%s", parent ? parent->comm : UNKNOWN);
	return name;
}

enum { FILENAME, PID };

static int on_exec(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct execsnoop *s = self;
	int64_t pid = attar_arg_i64(ev, PID);
	struct attar_section *lines;
	char file[4096], parent[COMM_BYTES];
	size_t n;
	const char *arguments, *name = attar_arg_text(ev, FILENAME, &n);
	int r;

	if (s->name && !names_match(s->name, ev->thread->comm))
		return 0;
	task_counts_add(&s->counts, false);
	r = line_summary_add(&s->summary, parent_name(run, ev, parent), task_parent_of(ev), 0);
	if (r == 0)
		r = line_summary_add_thing(&s->summary, 0, name, n, 0);
	if (r < 0 || (!s->is_longest && !attar_run_wants(run, ATTAR_WANT_LINES)))
		return r;
	snprintf(file, sizeof(file), "%.*s", (int)n, name ? name : "");
	r = get_args(s, run, ev, pid, file, &arguments);
	if (r == 0 && s->is_longest)
		longest_begin(&s->longest, ev, pid, task_parent_of(ev), file, arguments);
	if (r < 0 || s->is_longest)
		return r;
	lines = exec_line(run, ev, pid, "ok");
	if (!lines)
		return -ENOMEM;
	attar_cell_text(lines, file);
	attar_cell_text(lines, arguments);
	return 0;
}

/* For --longest: the end of a process, with its last thread. */
static int on_exit_task(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct execsnoop *s = self;
	int64_t pid = ev->thread->process->pid;
	bool is_last = attar_arg_exists(ev, 1) ? attar_arg_u64(ev, 1) : attar_arg_i64(ev, 0) == pid;

	(void)run;
	if (is_last)
		longest_end(&s->longest, ev, pid);
	return 0;
}

enum { RET };

/* The path and the arguments of an attempt; they stay empty if they are not copied. */
static int add_attempt(struct execsnoop *s, struct attar_run *run, const struct attar_event *ev,
	struct attar_section *lines)
{
	struct run_exec exec;
	int r = s->copies ? run_copied_exec(run, ev, &exec) : 0;
	size_t path;

	if (r <= 0)
		return r;
	if (exec.is_lost) {
		s->lost++;
		attar_cell_text(lines, LOST);
		attar_cell_text(lines, LOST);
		return 0;
	}
	path = strnlen(exec.strings ?: "", exec.size);
	attar_cell_text(lines, exec.strings ?: "");
	if (path < exec.size)
		join_strings(s->own, exec.strings + path + 1, exec.size - path - 1, exec.is_cut);
	else
		args_reset(s->own, COPIED_BYTES);
	attar_cell_text(lines, s->own->text);
	s->unread += exec.n_unread > 0;
	return 0;
}

static int on_exec_failed(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct execsnoop *s = self;
	int64_t ret = attar_arg_i64(ev, RET);
	const char *name = strerrorname_np((int)-ret);
	struct attar_section *lines;

	if (ret >= 0 || (s->name && !names_match(s->name, ev->thread->comm)))
		return 0;
	task_counts_add(&s->counts, true);
	if (!attar_run_wants(run, ATTAR_WANT_LINES))
		return 0;
	lines = exec_line(run, ev, ev->thread->process->pid, name ? name : "error");
	return lines ? add_attempt(s, run, ev, lines) : -ENOMEM;
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

static const struct attar_input failed_execs[] = {
	{.event = "syscalls:sys_exit_execve/ret<0/", .fields = {"ret"}, .on_event = on_exec_failed},
	{.event = "syscalls:sys_exit_execveat/ret<0/",
		.fields = {"ret"},
		.on_event = on_exec_failed},
	{0}};

static const struct attar_input exits = {.event = "sched:sched_process_exit",
	.fields = {"pid", "?group_dead"},
	.on_event = on_exit_task};

static int execsnoop_open(struct attar_run *run, void *self)
{
	struct execsnoop *s = self;
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.payload_size = sizeof(struct args) + ARGS_BYTES,
		.open_max = ARGS_OPEN_MAX};
	struct attar_input execs = {.event = "sched:sched_process_exec",
		.fields = {"filename", "pid"},
		.on_event = on_exec,
		.user_regs = registers_stack_pointer_mask(),
		.user_stack = STACK_BYTES};
	int r = attar_pairs_new(&opts, &s->args);

	if (r == 0)
		r = line_summary_init(&s->summary, false);
	s->counts.misses_failed = !s->fails;
	s->own = malloc(sizeof(*s->own) + COPIED_BYTES);
	if (r == 0)
		r = s->own ? run_copy_execs(run, s->fails && !s->is_longest) : -ENOMEM;
	s->copies = r > 0;
	if (s->copies) {
		execs.user_regs = 0;
		execs.user_stack = 0;
		r = 0;
	} else if (r == 0) {
		r = run_read_within(run, 0);
		if (r == 0 && arguments.event)
			r = attar_run_input(run, &arguments);
	}
	if (r == 0)
		r = attar_run_input(run, &execs);
	if (r == 0 && s->is_longest)
		r = longest_init(&s->longest);
	if (r == 0 && s->is_longest)
		r = attar_run_input(run, &exits);
	return r == 0 && s->fails && !s->is_longest ? attar_run_inputs(run, failed_execs) : r;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct execsnoop *s = self;

	attar_pairs_lost(s->args, -1, ev->lost_from, ev->lost_to);
	if (s->is_longest)
		attar_pairs_lost(s->longest.running, -1, ev->lost_from, ev->lost_to);
	return 0;
}

static void execsnoop_close(void *self)
{
	struct execsnoop *s = self;

	attar_pairs_free(s->args);
	free(s->own);
	line_summary_done(&s->summary);
	longest_done(&s->longest);
}

static void arguments_remark(const struct execsnoop *s, bool is_live, struct attar_report *report)
{
	if (s->unknown)
		attar_report_remark(report, "the arguments of %llu program%s are unknown: %s",
			(unsigned long long)s->unknown, s->unknown == 1 ? "" : "s",
			s->copies ? "they were not in memory when the program began"
			: is_live ? "the process had exited, or executed another program, before "
				    "attar could read them from /proc; attar copies them in the "
				    "kernel if it runs as root, with libbpf and the kernel's types "
				    "(BTF), or on x86-64 with kprobes (CONFIG_KPROBE_EVENTS)"
				  : "the recording has no copies of the stacks");
	if (s->unread)
		attar_report_remark(report,
			"%llu failed attempt%s '" UNKNOWN "' in the place of strings that were "
			"not in memory",
			(unsigned long long)s->unread, s->unread == 1 ? " has" : "s have");
	if (is_live && s->fails && !s->is_longest && !s->copies)
		attar_report_remark(report,
			"the files and arguments of failed attempts are not known: a program in "
			"the kernel copies them as root, with libbpf and the kernel's types (BTF)");
	run_remark_lost_texts(report, s->lost);
}

static int execsnoop_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	static const char *const file = "file";
	struct execsnoop *s = self;

	arguments_remark(s, attar_run_is_live(run), report);
	task_counts_report(&s->counts, report, scope, "execs");
	if (s->is_longest)
		return longest_report(&s->longest, run, report);
	return line_summary_report(&s->summary, run, report, scope, "parent", &file, 1);
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct execsnoop, fails, 'x', "fails", "also print failed attempts"),
	ATTAR_FLAG(struct execsnoop, is_longest, 0, "longest",
		"instead of lines, a table of the 100 programs that ran longest"),
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
