/* SPDX-License-Identifier: MIT */
/* attar stack: the stacks of all threads of a running process. */
#include <stdio.h>
#include <time.h>

#include "attar/private/lang.h"
#include "attar/private/symbol.h"
#include "attar/private/thread.h"
#include "base/base.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/commands/frame_line.h"
#include "cli/signals.h"

enum {
	LOCATIONS_MAX = 8192,
	INLINED_MAX = 64,
	KERNEL_TEXT_MAX = 1 << 16,
	NAME_MAX_BYTES = 256,
	EVERY_NS = 10000000, /* between repeated stacks */
};

#define ADDRESS_MASK 0xffffffffffffULL /* of a location */

struct stack {
	uint64_t pid, tid; /* tid: 0: all threads */
	bool kernel, inlined, lines, mangled, json, native, java_map;
	uint64_t bytes;
	uint64_t repeat, every; /* stacks to count, ns between them; 0: one, which is shown */
	bool waiting;           /* also count threads that wait */
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	struct lang *lang; /* the runtime of an interpreted language; NULL: none */
	struct attar_waits *waits;
	struct attar_wait wait; /* of the current thread */
	bool is_busy;           /* its stack could not be copied */
	bool is_interpreted;    /* it executes functions of lang */
	struct attar_thread_copy copy;
	parse_ints tids;
	struct attar_section *threads, *frames; /* with json */
	struct attar_stacks *counted;           /* with repeat */
	uint64_t samples, stopped; /* stacks that were counted; ns for which threads were */
	struct buf out;
	unsigned shown, number; /* threads; of the next frame of the current one */
	unsigned folded;        /* native frames of the runtime, which are not shown */
	char comm[NAME_MAX_BYTES];
	attar_location locations[LOCATIONS_MAX];
};

/* ---- arguments ---- */

static int check(const struct stack *s, const char *operand)
{
	if (operand)
		return attar_fail(-EINVAL, "unexpected argument '%s'" ATTAR_FIX "attar stack -p %s",
			CLIP(operand),
			operand[strspn(operand, "0123456789")] ? "PID" : CLIP(operand));
	if (!s->repeat && (s->every || s->waiting))
		return attar_fail(-EINVAL, "%s is for repeated stacks" ATTAR_FIX "add --repeat 100",
			s->every ? "--every" : "--waiting");
	if (!s->pid && !s->tid)
		return attar_fail(-EINVAL,
			"stack requires a process or thread" ATTAR_FIX "attar stack -p PID|-t TID");
	return 0;
}

/* ---- frames ---- */

static void show_frame(struct stack *s, int tid, const struct frame_line *line)
{
	if (s->json) {
		attar_section_row(s->frames);
		attar_cell_u64(s->frames, (uint64_t)tid);
		attar_cell_u64(s->frames, s->number++);
		frame_line_cells(s->frames, line, s->mangled);
		if (line->has_address)
			attar_cell_u64(s->frames, line->address);
		else
			attar_cell_none(s->frames);
		return;
	}
	buf_printf(&s->out, "  #%-3u ", s->number++);
	frame_line_text(&s->out, line, s->mangled);
	if (line->inlined)
		buf_str(&s->out, " (inlined)");
	else
		frame_line_module(&s->out, line);
	buf_char(&s->out, '\n');
}

/*
 * Whether the frame of a signal is at a location: the trampoline to which the handler returns. No
 * call ends at the first byte of a function.
 */
static bool is_signal(struct stack *s, attar_location location)
{
	struct attar_symbol symbol;

	if (attar_symbols_resolve(s->symbols, location, &symbol) == 0)
		return symbol.offset == 0 && symbol.kind != ATTAR_DSO_IS_UNKNOWN;
	attar_error_clear();
	return false;
}

/* Whether a frame returns to one byte after its location: callers are located in the call. */
static bool is_caller(struct stack *s, size_t number)
{
	return number && !is_signal(s, s->locations[number]) &&
	       (number == 1 || !is_signal(s, s->locations[number - 1]));
}

/* The location of code without a file is its address. */
static void set_place(struct frame_line *line, enum attar_dso_kind kind, attar_location location)
{
	line->is_file = kind == ATTAR_DSO_IS_FILE || kind == ATTAR_DSO_IS_VDSO;
	line->has_address =
		kind == ATTAR_DSO_IS_JIT || attar_location_dso(location) == ATTAR_DSO_UNKNOWN;
	line->address = location & ADDRESS_MASK;
}

/* Whether the frame is one of the runtime, in a thread that executes its language. */
static bool fold(struct stack *s, attar_location location)
{
	struct attar_symbol symbol;

	if (!s->is_interpreted || (s->json && !s->repeat))
		return false;
	if (attar_symbols_resolve(s->symbols, location, &symbol) < 0)
		attar_error_clear();
	if (symbol.kind != ATTAR_DSO_IS_FILE || !lang_is_runtime(s->lang, symbol.dso))
		return false;
	s->folded++;
	return true;
}

static bool is_loop(struct stack *s, attar_location location)
{
	struct attar_symbol symbol;

	if (!s->lang)
		return false;
	if (attar_symbols_resolve(s->symbols, location, &symbol) == 0)
		return lang_is_loop(s->lang, symbol.name);
	attar_error_clear();
	return false;
}

static void show_interpreted(struct stack *s, int tid, const struct lang_frame *frame)
{
	show_frame(s, tid,
		&(struct frame_line){.name = frame->name,
			.mangled = frame->name,
			.module = lang_title(s->lang),
			.file = *frame->file ? frame->file : NULL,
			.line = frame->line,
			.is_interpreted = true});
}

/* The functions that a frame of an interpreter's loop executes, up to the call from native code. */
static bool show_loop(struct stack *s, int tid, attar_location location)
{
	struct lang_frame frame = {0};
	unsigned before = s->number;

	if (!is_loop(s, location))
		return false;
	while (!frame.is_entry && lang_next(s->lang, &frame))
		show_interpreted(s, tid, &frame);
	return s->number != before;
}

/* Code of a JIT compiler cannot be unwound: the functions of the language go on without it. */
static void show_rest(struct stack *s, int tid)
{
	struct lang_frame frame;

	while (s->is_interpreted && lang_next(s->lang, &frame))
		show_interpreted(s, tid, &frame);
}

/* The functions of a frame: only the one that has the code, without --inline. */
static void show_location(struct stack *s, int tid, size_t number)
{
	attar_location location = s->locations[number];
	unsigned after_call = is_caller(s, number);
	struct attar_frame frames[INLINED_MAX];
	int n = s->inlined || s->lines
			? attar_symbols_frames(s->symbols, location, frames, INLINED_MAX)
			: 0;

	n = MIN(n, INLINED_MAX);
	for (int i = s->inlined || !n ? 0 : n - 1; i < n; i++) {
		struct frame_line line = frame_line_of(&frames[i]);

		line.offset += after_call;
		set_place(&line, frames[i].kind, location + after_call);
		if (!s->inlined) { /* its line is the line of the innermost function */
			line.file = frames[0].file;
			line.line = frames[0].line;
			line.column = frames[0].column;
		}
		if (!s->lines) {
			line.file = NULL;
			line.line = line.column = 0;
		}
		show_frame(s, tid, &line);
	}
	if (!n) {
		struct attar_symbol symbol;
		struct frame_line line;

		if (attar_symbols_resolve(s->symbols, location, &symbol) < 0)
			attar_error_clear();
		line = (struct frame_line){.name = symbol.name,
			.mangled = symbol.mangled,
			.module = symbol.dso,
			.offset = symbol.offset + after_call};
		set_place(&line, symbol.kind, location + after_call);
		show_frame(s, tid, &line);
	}
}

/* ---- a thread ---- */

/* Lines "[<0>] name+0x66/0x90 [module]" of /proc/PID/task/TID/stack. */
static void show_kernel_line(struct stack *s, int tid, char *line)
{
	struct frame_line frame = {.module = "[kernel.kallsyms]"};
	char *name = strstr(line, "] "), *plus, *module;

	name = name ? name + 2 : line;
	module = strchr(name, '[');
	if (module)
		frame.module = module;
	plus = strchr(name, '+');
	if (plus) {
		frame.offset = strtoull(plus + 1, NULL, 16);
		*plus = '\0';
	}
	frame.name = frame.mangled = name;
	show_frame(s, tid, &frame);
}

static int read_kernel(int tid, struct buf *ret_text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stack", tid);
	return file_read(path, KERNEL_TEXT_MAX, ret_text);
}

static void show_kernel(struct stack *s, int tid, struct buf *text)
{
	char *line;

	for (char *rest = text->len ? text->data : NULL; (line = strsep(&rest, "\n"));)
		if (*line)
			show_kernel_line(s, tid, line);
}

static void read_name(struct stack *s, int tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/comm", tid);
	if (file_read(path, NAME_MAX_BYTES, &text) < 0)
		attar_error_clear();
	snprintf(s->comm, sizeof(s->comm), "%.*s", (int)strcspn(buf_text(&text), "\n"),
		buf_text(&text));
}

static const char *end_text(enum attar_unwind_end end)
{
	switch (end) {
	case ATTAR_UNWIND_TRUNCATED:
		return "the stack is deeper than the copied part: copy more with --bytes";
	case ATTAR_UNWIND_LIMIT:
		return "the stack has more frames than are shown";
	case ATTAR_UNWIND_LOST:
		return "code without call frame information or frame pointer";
	case ATTAR_UNWIND_OTHER_STACK:
		return "the signal handler runs on an alternate stack (sigaltstack(2)): the stack "
		       "of the interrupted code could not be copied";
	default:
		return NULL;
	}
}

static void begin_thread(struct stack *s, int tid)
{
	char text[ATTAR_WAIT_TEXT_BYTES];

	s->number = 0;
	if (s->json)
		return;
	buf_printf(&s->out, "%sthread %d ", s->shown ? "\n" : "", tid);
	escape_text(&s->out, s->comm, strlen(s->comm));
	buf_char(&s->out, '\n');
	if (s->wait.kind != ATTAR_WAIT_NONE)
		buf_printf(&s->out, "  waits for %s\n", attar_wait_text(&s->wait, text));
}

static void add_id(struct attar_section *table, pid_t id)
{
	if (id)
		attar_cell_i64(table, id);
	else
		attar_cell_none(table);
}

static void end_thread(struct stack *s, int tid, enum attar_unwind_end end)
{
	static const char *const ends[] = {"complete", "truncated", "limit", "lost", "other stack"};
	char text[ATTAR_WAIT_TEXT_BYTES];

	s->shown++;
	if (!s->json && end_text(end))
		buf_printf(&s->out, "  ... %s\n", end_text(end));
	if (!s->json)
		return;
	attar_section_row(s->threads);
	attar_cell_u64(s->threads, (uint64_t)tid);
	attar_cell_text(s->threads, s->comm);
	attar_cell_u64(s->threads, s->number);
	attar_cell_text(s->threads, s->is_busy ? "not copied" : ends[end]);
	attar_cell_u64(s->threads, s->is_busy ? 0 : s->copy.stopped);
	attar_cell_text(s->threads, attar_wait_text(&s->wait, text));
	add_id(s->threads, s->wait.pid);
	add_id(s->threads, s->wait.tid);
}

/* What a thread waits for is known, though it does not stop for its stack to be copied. */
static void show_busy(struct stack *s)
{
	if (!s->json)
		buf_printf(&s->out, "  ... no stack: %s\n", attar_error());
	attar_error_clear();
}

/*
 * What it waits for and the kernel's part are read first: a stopped thread is in the kernel's code
 * that stops it. Nothing is shown of a thread of the process that has ended meanwhile.
 */
static int show_thread(struct stack *s, int tid)
{
	struct buf kernel _cleanup_(buf_done) = {0};
	enum attar_unwind_end end = ATTAR_UNWIND_COMPLETE;
	ssize_t n = 0;
	int r;

	read_name(s, tid);
	s->wait.size = sizeof(s->wait);
	r = attar_waits_for(s->waits, tid, &s->wait);
	if (r == 0 && s->kernel)
		r = read_kernel(tid, &kernel);
	if (r == 0)
		n = thread_stack(
			tid, s->bytes, s->space, &s->copy, s->locations, LOCATIONS_MAX, &end);
	r = n < 0 ? (int)n : r;
	if ((r == -ESRCH || r == -ENOENT) && !s->tid) {
		attar_error_clear();
		return 0;
	}
	if (r < 0 && r != -EBUSY)
		return r;
	s->is_interpreted &= n > 0;
	begin_thread(s, tid);
	show_kernel(s, tid, &kernel);
	s->is_busy = r == -EBUSY;
	if (s->is_busy)
		show_busy(s);
	for (ssize_t i = 0; i < n; i++)
		if (!show_loop(s, tid, s->locations[i]) && !fold(s, s->locations[i]))
			show_location(s, tid, (size_t)i);
	if (end == ATTAR_UNWIND_LOST)
		show_rest(s, tid);
	end_thread(s, tid, end);
	return 0;
}

static int add_thread(void *ctx, int tid)
{
	struct stack *s = ctx;

	return vec_push(&s->tids, tid);
}

/* ---- repeated stacks ---- */

enum { PLACE_BYTES = 1280 };

/* A function of the language is a name instead of code. */
static attar_location interpreted_location(struct stack *s, const struct lang_frame *frame)
{
	const char *file = *frame->file ? frame->file : lang_title(s->lang);
	const char *slash = strrchr(file, '/');
	char text[PLACE_BYTES];

	snprintf(text, sizeof(text), "%s (%s)", frame->name, slash ? slash + 1 : file);
	return attar_symbols_label(s->symbols, text);
}

/* Replaces native frames of the runtime in n locations. Returns how many there are now. */
static size_t replace_runtime(
	struct stack *s, size_t n, enum attar_unwind_end end, attar_location *to, size_t max)
{
	struct lang_frame frame;
	size_t count = 0;

	for (size_t i = 0; i < n && count < max; i++) {
		unsigned before = s->number;

		if (is_loop(s, s->locations[i])) {
			while (count < max && lang_next(s->lang, &frame)) {
				to[count++] = interpreted_location(s, &frame);
				s->number++;
				if (frame.is_entry)
					break;
			}
		}
		if (s->number == before && !fold(s, s->locations[i]))
			to[count++] = s->locations[i];
	}
	while (end == ATTAR_UNWIND_LOST && s->is_interpreted && count < max &&
		lang_next(s->lang, &frame))
		to[count++] = interpreted_location(s, &frame);
	return count;
}

static int count_thread(struct stack *s, int tid, uint64_t serial)
{
	static attar_location merged[LOCATIONS_MAX];
	struct attar_process process = {.pid = (int)s->pid, .comm = s->comm, .space = s->space};
	struct attar_thread thread = {
		.tid = tid, .comm = s->comm, .process = &process, .serial = serial};
	enum attar_unwind_end end;
	ssize_t n;

	if (!s->waiting && proc_thread_state(tid) != 'R')
		return 0;
	n = thread_stack(tid, s->bytes, s->space, &s->copy, s->locations, LOCATIONS_MAX, &end);
	if (n == -ESRCH || n == -ENOENT || n == -EBUSY) {
		attar_error_clear();
		return 0;
	}
	if (n < 0)
		return (int)n;
	read_name(s, tid);
	thread.comm_hash = base_hash_bytes(BASE_HASH_START, s->comm, strlen(s->comm));
	s->samples++;
	s->stopped += s->copy.stopped;
	return attar_stacks_add(s->counted, &thread, merged,
		replace_runtime(s, (size_t)n, end, merged, LOCATIONS_MAX), 1);
}

/* At fixed times: a turn that takes too long delays the next ones, none is made up for. */
static void wait_for_turn(uint64_t *next, uint64_t every)
{
	uint64_t now = base_now();
	struct timespec time;

	*next = MAX(*next + every, now);
	time = (struct timespec){
		.tv_sec = (time_t)(*next / 1000000000), .tv_nsec = (long)(*next % 1000000000)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static int count_turn(struct stack *s)
{
	int r;

	if (s->tid ? !proc_is_running((int)s->tid) : !proc_running_thread((int)s->pid))
		return attar_fail(-ESRCH, "%s %d has exited", s->tid ? "thread" : "process",
			(int)(s->tid ?: s->pid));
	s->tids.n = 0;
	if (s->lang)
		lang_begin_turn(s->lang);
	r = s->tid ? vec_push(&s->tids, (int)s->tid) : proc_each_thread((int)s->pid, add_thread, s);
	for (size_t i = 0; r == 0 && i < s->tids.n; i++)
		r = count_thread(s, s->tids.at[i], (uint64_t)s->tids.at[i]);
	return r;
}

static int count_stacks(struct stack *s, struct attar_report *report)
{
	struct attar_stacks_opts opts = {.size = sizeof(opts), .tree = true};
	uint64_t began = base_now(), next = began, turns = 0;
	double unresolved;
	int r = attar_stacks_new(s->symbols, &s->counted);

	while (r == 0 && turns < s->repeat && !signals_taken()) {
		r = count_turn(s);
		if (r < 0)
			break;
		turns++;
		wait_for_turn(&next, s->every);
	}
	if (r == -ESRCH && turns) { /* it has exited meanwhile */
		attar_error_clear();
		r = 0;
	}
	if (r < 0)
		return r;
	attar_report_interval(report, base_realtime(), base_now() - began);
	attar_report_remark(report,
		"threads were looked at %llu times, and %llu stacks of threads that ran%s were "
		"counted; a thread was stopped for %.0f us each time",
		(unsigned long long)turns, (unsigned long long)s->samples,
		s->waiting ? " or waited" : "",
		s->samples ? (double)s->stopped / (double)s->samples / 1e3 : 0.0);
	return attar_stacks_report(s->counted, report, ATTAR_SCOPE_WHOLE, &opts, &unresolved);
}

/* ---- the process ---- */

static void take_interpreted(void *ctx, pid_t tid)
{
	struct stack *s = ctx;

	s->is_interpreted = s->lang && lang_take(s->lang, tid) > 0;
}

/* Without names of the language, the stack has native frames. */
static int open_runtime(struct stack *s, int pid)
{
	int r = s->native ? 0 : lang_open(pid, &s->lang);

	if (r == -EOPNOTSUPP)
		fprintf(stderr, "attar: %s\n", attar_error());
	if (r == -EOPNOTSUPP || r == -ESRCH || r == -EPERM || r == -EACCES) {
		attar_error_clear();
		r = 0;
	}
	s->copy.while_still = take_interpreted;
	s->copy.ctx = s;
	return r;
}

static int open_process(struct stack *s)
{
	int pid = (int)(s->pid ?: s->tid), r = attar_symbols_new(NULL, &s->symbols);

	if (r < 0)
		return r;
	signals_take_downloads(s->symbols);
	if (s->java_map)
		symbols_ask_java(s->symbols);
	r = attar_waits_new(0, &s->waits);
	if (r < 0)
		return r;
	s->space = attar_address_space_new(s->symbols, pid);
	r = s->space ? attar_address_space_scan(s->space) : base_oom();
	if (r == 0)
		r = open_runtime(s, pid);
	if (r < 0)
		return r;
	return s->tid ? vec_push(&s->tids, (int)s->tid) : proc_each_thread(pid, add_thread, s);
}

static void add_tables(struct stack *s, struct attar_report *report)
{
	s->threads = attar_report_table(report, "threads");
	attar_section_column(s->threads, "tid", ATTAR_UNIT_ID);
	attar_section_column(s->threads, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(s->threads, "frames", ATTAR_UNIT_COUNT);
	attar_section_column(s->threads, "end", ATTAR_UNIT_TEXT);
	attar_section_column(s->threads, "stopped", ATTAR_UNIT_NS);
	attar_section_column(s->threads, "waits for", ATTAR_UNIT_TEXT);
	attar_section_column(s->threads, "other pid", ATTAR_UNIT_ID);
	attar_section_column(s->threads, "other tid", ATTAR_UNIT_ID);
	s->frames = attar_report_table(report, "frames");
	attar_section_column(s->frames, "tid", ATTAR_UNIT_ID);
	attar_section_column(s->frames, "frame", ATTAR_UNIT_ID);
	frame_line_columns(s->frames);
	attar_section_column(s->frames, "address", ATTAR_UNIT_HEX);
}

static int stack_show(struct stack *s)
{
	int r = open_process(s);

	for (size_t i = 0; r == 0 && i < s->tids.n; i++)
		r = show_thread(s, s->tids.at[i]);
	if (s->folded)
		buf_printf(&s->out,
			"\nnative frames of %s are not shown: %u ('--native' shows them)\n",
			lang_title(s->lang), s->folded);
	if (r == 0 && !s->shown)
		r = attar_fail(-ESRCH, "process %d has exited", (int)s->pid);
	return r;
}

static int stack_repeat(struct stack *s, struct attar_report *report)
{
	int r = open_process(s);

	s->every = s->every ?: EVERY_NS;
	signals_take(NULL); /* a signal ends the loop, and the report is shown */
	return r < 0 ? r : count_stacks(s, report);
}

static void stack_done(struct stack *s)
{
	attar_stacks_free(s->counted);
	vec_done(&s->tids);
	buf_done(&s->out);
	thread_copy_done(&s->copy);
	lang_free(s->lang);
	attar_waits_free(s->waits);
	attar_address_space_free(s->space);
	attar_symbols_free(s->symbols);
}

static int stack_run(void *state, const struct command_words *words)
{
	struct stack *s = state;
	struct attar_report *report = NULL;
	int r, status;

	if (check(s, words->operands[0]) < 0)
		return report_error(STATUS_USAGE);
	if (s->repeat)
		report = attar_report_new("stack");
	if (s->json && !s->repeat) {
		report = attar_report_new("stack");
		attar_report_interval(report, base_realtime(), 0);
		add_tables(s, report);
	}
	r = s->repeat ? stack_repeat(s, report) : stack_show(s);
	if (r < 0)
		status = report_error(status_of(r));
	else if (s->repeat)
		status = print_report(report, s->json, false);
	else
		status = s->json ? print_report(report, true, true) : print_buf(&s->out);
	attar_report_free(report);
	signals_release();
	stack_done(s);
	signals_raise();
	return status;
}

#define T struct stack

static const struct attar_option stack_options[] = {
	ATTAR_COUNT(T, pid, 'p', "pid", "PID", "show all threads of this process", .min = 1,
		.max = INT32_MAX, .complete = "pid"),
	ATTAR_COUNT(T, tid, 't', "tid", "TID", "show only this thread", .min = 1, .max = INT32_MAX,
		.complete = "pid"),
	ATTAR_FLAG(T, kernel, 'k', "kernel",
		"also show the kernel functions in which a thread waits (as root)"),
	ATTAR_FLAG(T, inlined, 0, "inline", "list inlined functions"),
	ATTAR_FLAG(T, lines, 0, "lines", "show source lines"),
	ATTAR_SIZE(T, bytes, 0, "bytes", "SIZE",
		"copy at most this much of each stack (default 1M)", .min = 1,
		.max = ATTAR_THREAD_STACK_MAX),
	ATTAR_FLAG(T, mangled, 0, "no-demangle", "print linkage names of C++ and Rust"),
	ATTAR_FLAG(T, java_map, 0, "java-map",
		"ask a Java virtual machine (JDK 17 or later) for the names of its methods"),
	ATTAR_FLAG(T, native, 0, "native", "show the frames of interpreters as native functions"),
	ATTAR_COUNT(T, repeat, 'n', "repeat", "N",
		"count the stacks of threads that run, N times, as a profile", .min = 1,
		.max = 1000000),
	ATTAR_TIME(T, every, 0, "every", "TIME", "time between stacks with --repeat (default 10ms)",
		.bare = 1000000, .min = 100000),
	ATTAR_FLAG(T, waiting, 0, "waiting", "with --repeat also count threads that wait"),
	ATTAR_FLAG(T, json, 0, "json", "print a report in JSON"), {0}};

static const struct attar_example stack_examples[] = {
	{"stack -p 1234", "what each thread of a process does now"},
	{"stack -p 1234 --repeat 500", "where a script spends its time, for five seconds"},
	{"stack -p 1234 --inline --lines", "with inlined functions and source lines"},
	{0},
};

const struct command command_stack = {
	.name = "stack",
	.usage = "[OPTIONS] -p PID|-t TID",
	.summary = "show the stacks of all threads of a running process",
	.options = stack_options,
	.state_size = sizeof(T),
	.max_operands = COMMAND_ANY,
	.examples = stack_examples,
	.run = stack_run,
};
