/* SPDX-License-Identifier: MIT */
/* attar stack: the stacks of all threads of a running process. */
#include <stdio.h>

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

enum { LOCATIONS_MAX = 8192, INLINED_MAX = 64, KERNEL_TEXT_MAX = 1 << 16, NAME_MAX_BYTES = 256 };

#define ADDRESS_MASK 0xffffffffffffULL /* of a location */

struct stack {
	uint64_t pid, tid; /* tid: 0: all threads */
	bool kernel, inlined, lines, mangled, json;
	uint64_t bytes;
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	struct attar_waits *waits;
	struct attar_wait wait; /* of the current thread */
	bool is_busy;           /* its stack could not be copied */
	struct attar_thread_copy copy;
	parse_ints tids;
	struct attar_section *threads, *frames; /* with json */
	struct buf out;
	unsigned shown, number; /* threads; of the next frame of the current one */
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
		n = attar_thread_stack(
			tid, s->bytes, s->space, &s->copy, s->locations, LOCATIONS_MAX, &end);
	r = n < 0 ? (int)n : r;
	if ((r == -ESRCH || r == -ENOENT) && !s->tid) {
		attar_error_clear();
		return 0;
	}
	if (r < 0 && r != -EBUSY)
		return r;
	begin_thread(s, tid);
	show_kernel(s, tid, &kernel);
	s->is_busy = r == -EBUSY;
	if (s->is_busy)
		show_busy(s);
	for (ssize_t i = 0; i < n; i++)
		show_location(s, tid, (size_t)i);
	end_thread(s, tid, end);
	return 0;
}

/* ---- the process ---- */

static int add_thread(void *ctx, int tid)
{
	struct stack *s = ctx;

	return vec_push(&s->tids, tid);
}

static int open_process(struct stack *s)
{
	int pid = (int)(s->pid ?: s->tid), r = attar_symbols_new(NULL, &s->symbols);

	if (r < 0)
		return r;
	signals_take_downloads(s->symbols);
	r = attar_waits_new(0, &s->waits);
	if (r < 0)
		return r;
	s->space = attar_address_space_new(s->symbols, pid);
	r = s->space ? attar_address_space_scan(s->space) : base_oom();
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
	if (r == 0 && !s->shown)
		r = attar_fail(-ESRCH, "process %d has exited", (int)s->pid);
	return r;
}

static void stack_done(struct stack *s)
{
	vec_done(&s->tids);
	buf_done(&s->out);
	attar_thread_copy_done(&s->copy);
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
	if (s->json) {
		report = attar_report_new("stack");
		attar_report_span(report, base_realtime(), 0);
		add_tables(s, report);
	}
	r = stack_show(s);
	if (r < 0)
		status = report_error(status_of(r));
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
	ATTAR_FLAG(T, json, 0, "json", "print a report in JSON"), {0}};

static const struct attar_example stack_examples[] = {
	{"stack -p 1234", "what each thread of a process does now"},
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
