/* SPDX-License-Identifier: MIT */
/*
 * attar/profiler.h - write a profiler: its descriptor, and what a run does for it.
 *
 * A profiler is described by one const struct: its name, its options, and functions that process
 * events and fill reports. Help, completion, manual pages and bindings are generated from the
 * descriptor. examples/20-own-profiler.c is one; attar/run.h runs them, and attar/count.h has the
 * counts that a profiler can request.
 *
 * The functions that start with attar_run_ are called by a profiler with the run that called it.
 * Unless documented otherwise, functions that return an int return 0, or a negative errno with an
 * error message in attar_error().
 */
#ifndef ATTAR_PROFILER_H
#define ATTAR_PROFILER_H

#include <stdio.h>

#include "attar/count.h"
#include "attar/event.h"
#include "attar/expr.h"
#include "attar/option.h"
#include "attar/report.h"
#include "attar/sections.h"
#include "attar/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_run;

/* ---- a profiler ---- */

enum attar_uses {
	ATTAR_USES_SAMPLING = 1,   /* -F and -e of CPU sampling */
	ATTAR_USES_STACKS = 2,     /* parts of a stack, and user or kernel code */
	ATTAR_USES_RINGS = 4,      /* -m, --watermark and -N: it receives samples */
	ATTAR_GIVES_TREE = 8,      /* provides a call tree on request, for folded stacks */
	ATTAR_REDRAWS = 16,        /* on a terminal, its newest report replaces the previous one */
	ATTAR_USES_INPUT = 32,     /* --input without ATTAR_USES_RINGS: counts of recordings */
	ATTAR_USES_DATABASE = 128, /* --input may be a database; for profilers of attar */
	ATTAR_GIVES_SPANS = 64,    /* provides a time line on request, see attar_run_add_span() */
	ATTAR_GIVES_STATES = 256,  /* its time line has one state of each thread at a time */
	ATTAR_SHOWS_HOST = 512,    /* events of several hosts, each with its host */
	ATTAR_GIVES_TIMES = 1024,  /* its time line, on request, has the times of samples only */
	/* Events may have the attribute pull=; several --pull are analysed separately. */
	ATTAR_COMBINES_HOSTS = 2048,
	/* What it reads while it runs, with rights that attar otherwise gives up: */
	ATTAR_READS_KERNEL_STACKS = 4096, /* /proc/PID/stack: CAP_SYS_ADMIN */
	ATTAR_READS_KERNEL_MEMORY = 8192, /* /proc/kcore: CAP_SYS_RAWIO */
	ATTAR_READS_SOURCES = 16384,      /* as the owner of a program: CAP_SETUID, CAP_SETGID */
};

typedef int attar_event_fn(struct attar_run *run, void *self, const struct attar_event *event);

struct attar_example {
	const char *command; /* without the leading "attar " */
	const char *what;
};

struct attar_profiler {
	const char *name, *group;
	const char *summary; /* one line, begins in lower case, no full stop */
	unsigned uses;       /* enum attar_uses: additional common options, and output */
	/* Checks of `attar doctor`, comma-separated; "!" after one: without it nothing works. */
	const char *needs;
	size_t self_size;                   /* bytes of the state that the run allocates, zeroed */
	const struct attar_option *options; /* ends with a NULL name; offsets into the state */
	const struct attar_example *examples; /* ends with a NULL command */
	/* Sets nonzero defaults, before options are parsed. May be NULL. */
	void (*defaults)(void *self);
	/*
	 * Requests events: attar_run_source(), attar_run_sampler(), attar_run_count() and similar.
	 */
	int (*open)(struct attar_run *run, void *self);
	/* Called for a period in which the kernel lost events. May be NULL. */
	attar_event_fn *lost;
	/*
	 * Called when a thread exits, with event->thread, NULL if it is unknown. Or, with
	 * attar_run_select_tasks(), when it leaves the control groups that the options select: the
	 * record is not an EXIT record then. May be NULL.
	 */
	attar_event_fn *exited;
	/*
	 * Called when the target has ended and counters have their final values; of a command that
	 * is repeated, once for each run. May be NULL.
	 */
	int (*ended)(struct attar_run *run, void *self);
	/* Fills the report. */
	int (*report)(struct attar_run *run, void *self, struct attar_report *report,
		enum attar_scope scope);
	/* Frees its resources. May be NULL. */
	void (*close)(void *self);
	/*
	 * Options that are set unless the caller sets them, as words of a command line; ends with
	 * NULL. NULL: none.
	 */
	const char *const *preset;
	/* The option that words of the command line without a dash set. NULL: there are none. */
	const char *operand;
	/*
	 * Called for each record that is not a sample, such as a new mapping or name: of its
	 * sources, or of the stream's side band, with event->counter ATTAR_NO_COUNTER. May be NULL.
	 */
	attar_event_fn *record;
	/*
	 * As an event of another profiler, profile/-F 500/: open() requests the events as usual,
	 * and emits() is called for each of them instead of their functions. 1: the event is also
	 * one for the other profiler; 0: it is not; or a negative errno. Of the other functions,
	 * only lost(), exited(), record() and close() are called. NULL: the profiler cannot be an
	 * event.
	 */
	attar_event_fn *emits;
	/*
	 * Called in each turn of the main loop, about ten times per second or more, after its
	 * events; not with a recording. May be NULL. Returns 0 or a negative errno.
	 */
	int (*turn)(struct attar_run *run, void *self);
	/*
	 * After the run: answers a query of the user about what was measured, in a report; for
	 * profilers of attar. May be NULL. Returns 0, or a negative errno with an error message.
	 */
	int (*query)(
		struct attar_run *run, void *self, const char *text, struct attar_report *report);
	/*
	 * Called when the measurement has begun, before the command runs: its events are open,
	 * which takes time after open(); not with a recording; of a command that is repeated, once
	 * for each run. May be NULL. Returns 0 or a negative errno.
	 */
	int (*started)(struct attar_run *run, void *self);
};

/*
 * All profilers in alphabetical order, NULL after the last, with presets: the presets of attar, and
 * presets of the user in ~/.config/attar/presets (or $ATTAR_PRESETS), see docs/presets.md. Presets
 * are read on the first call; one that is invalid is left out, and a note is logged.
 */
ATTAR_API const struct attar_profiler *const *attar_profilers(void);

/* The same without presets. */
ATTAR_API const struct attar_profiler *const *attar_builtin_profilers(void);

/* ---- events of a profiler ---- */

/* Functions marked "only from open()" fail with -EINVAL elsewhere. */

/*
 * Adds an event; fn is called for each of its samples. attr specifies the event; the run adds what
 * a stream needs, and the options that select user or kernel code and parts of stacks, if it is
 * sampled and not a tracepoint. name is copied. Only from open().
 */
ATTAR_API int attar_run_source(struct attar_run *run, const char *name,
	const struct perf_event_attr *attr, attar_event_fn *fn);

/*
 * Adds all events named in text, sampled on each occurrence (or with their own period), with call
 * stacks if stacks is set. Samples of tracepoints contain their fields: see
 * attar_run_source_spec(). The kernel excludes events of this process where possible. Only from
 * open().
 */
ATTAR_API int attar_run_events(
	struct attar_run *run, const char *text, bool stacks, attar_event_fn *fn);

/*
 * Like attar_run_events() for each string of an option such as -e. Without a string: all events of
 * the recording; -EINVAL on a live system. Only from open().
 */
ATTAR_API int attar_run_event_list(
	struct attar_run *run, const struct attar_texts *texts, bool stacks, attar_event_fn *fn);

/* ---- events with bound fields ---- */

enum { ATTAR_INPUT_FIELDS = 8 };

/*
 * Events of one kind and the fields that the profiler uses. The fields are looked up once per
 * format: when the profiler opens, and when an event appears during the run. An event without such
 * a field is an error that lists its fields.
 *
 *	static const struct attar_input wakeups = {
 *		.event = "sched:sched_wakeup", .fields = {"pid", "prio"}, .on_event = on_wakeup};
 */
struct attar_input {
	const char *event; /* as for attar_run_events() */
	/* "a|b": the first one that exists; "?a": optional, 0 or empty if it does not exist */
	const char *fields[ATTAR_INPUT_FIELDS];
	attar_event_fn *on_event;
	bool stacks;   /* samples have call stacks */
	bool optional; /* left out if the system has no such tracepoint, or the recording event */
	uint64_t user_regs; /* PERF_SAMPLE_REGS_USER: mask of registers; 0: none */
	/* PERF_SAMPLE_STACK_USER: bytes of the stack, a multiple of 8; 0: none */
	uint32_t user_stack;
};

/*
 * Adds the events of the input; fields are borrowed until the run is freed. -ENOENT or -EINVAL: an
 * event has no such field; otherwise as attar_run_events(). Only from open().
 */
ATTAR_API int attar_run_input(struct attar_run *run, const struct attar_input *input);

/* The same for an array of inputs, which ends with a NULL event. Only from open(). */
ATTAR_API int attar_run_inputs(struct attar_run *run, const struct attar_input *inputs);

/* Whether the event has field i of its input. */
static inline bool attar_arg_exists(const struct attar_event *event, unsigned i)
{
	return *event->fields[i]->name != '\0';
}

/*
 * The number in field i of the event's input, sign-extended if the field is signed. 0 if the field
 * is not a number, does not exist or exceeds the record.
 */
static inline uint64_t attar_arg_u64(const struct attar_event *event, unsigned i)
{
	return attar_field_u64(
		event->fields[i], event->record->sample.raw, event->record->sample.raw_size);
}

/* As attar_arg_u64(), as a signed number. */
static inline int64_t attar_arg_i64(const struct attar_event *event, unsigned i)
{
	return ATTAR_CAST(int64_t, attar_arg_u64(event, i));
}

/*
 * The text in field i, and its length in *ret_len; NULL and 0 if it has none. Not NUL-terminated.
 * Borrowed from the event.
 */
static inline const char *attar_arg_text(
	const struct attar_event *event, unsigned i, size_t *ret_len)
{
	return attar_field_string(event->fields[i], event->record->sample.raw,
		event->record->sample.raw_size, ret_len);
}

/* The bytes of field i of any kind, as attar_field_bytes(). */
static inline const void *attar_arg_bytes(
	const struct attar_event *event, unsigned i, size_t *ret_len)
{
	return attar_field_bytes(event->fields[i], event->record->sample.raw,
		event->record->sample.raw_size, ret_len);
}

/* The number in field i as a floating-point number, as attar_field_double(). */
static inline double attar_arg_double(const struct attar_event *event, unsigned i)
{
	return attar_field_double(
		event->fields[i], event->record->sample.raw, event->record->sample.raw_size);
}

/* The number of elements of the array in field i, as attar_field_count(). */
static inline size_t attar_arg_count(const struct attar_event *event, unsigned i)
{
	return attar_field_count(
		event->fields[i], event->record->sample.raw, event->record->sample.raw_size);
}

/* Element `at` of the array in field i, as attar_field_u64_at() and attar_field_double_at(). */
static inline uint64_t attar_arg_u64_at(const struct attar_event *event, unsigned i, size_t at)
{
	return attar_field_u64_at(
		event->fields[i], event->record->sample.raw, event->record->sample.raw_size, at);
}
static inline double attar_arg_double_at(const struct attar_event *event, unsigned i, size_t at)
{
	return attar_field_double_at(
		event->fields[i], event->record->sample.raw, event->record->sample.raw_size, at);
}

/* ---- tasks ---- */

/*
 * Makes --pids, --tids, --cgroups and a command select tasks in the profiler instead of limiting
 * the events: the events of the whole system are delivered. For events that concern another task
 * than the one in which they happen, such as wakeups. Only from open().
 */
ATTAR_API int attar_run_select_tasks(struct attar_run *run);

/*
 * Whether the options select this thread; with attar_run_select_tasks(). NULL, a thread that is not
 * known, is selected unless the options select some. With --cgroups this can change: a thread
 * enters and leaves control groups.
 */
ATTAR_API bool attar_run_is_selected(
	const struct attar_run *run, const struct attar_thread *thread);

/*
 * Whether --cpus selects this CPU: 1, or 0; without the option it selects all. -EINVAL or -ERANGE:
 * it is not a list of CPUs. For values that are not of events, and after attar_run_all_cpus():
 * other events are limited to the CPUs.
 */
ATTAR_API int attar_run_is_cpu_selected(struct attar_run *run, int cpu);

/*
 * all true: events that are added from now on are delivered from all CPUs, also with --cpus. For
 * pairs of events and the times of threads, which move between CPUs: the profiler matches the
 * events first, then selects with attar_run_is_cpu_selected(). Returns 1 with --cpus, otherwise 0.
 * Only from open().
 */
ATTAR_API int attar_run_all_cpus(struct attar_run *run, bool all);

/*
 * Also delivers events that happen in threads of this process, such as a context switch from it to
 * another thread; so do the options --pids and --tids with this process or one of its threads. The
 * profiler must not cause further events for each event. Only from open().
 */
ATTAR_API int attar_run_keep_own(struct attar_run *run);

/*
 * The thread with this id, running or recently exited, from the process table of the stream. NULL:
 * it is not known. Borrowed until the event function returns.
 */
ATTAR_API struct attar_thread *attar_run_thread(const struct attar_run *run, pid_t tid);

/* ---- expressions of users ---- */

/* The number of sources so far. Events that appear during the run add more. */
ATTAR_API uint32_t attar_run_sources(const struct attar_run *run);

/*
 * Compiles an expression on the fields of source i, such as the value of an attribute; with
 * opts.variables, on these only. The callbacks of opts are set by the run: functions resolve its
 * symbols and threads, printf() writes to attar_run_printed(), and the option --allow-exec adds
 * ATTAR_EXPR_ALLOW_EXEC to the flags. opts may be NULL. Errors are the errors of attar_expr_new().
 * Free with attar_expr_free(), at the latest in the profiler's close().
 */
ATTAR_API int attar_run_expr(struct attar_run *run, uint32_t i, const char *text,
	const struct attar_expr_opts *opts, struct attar_expr **ret_expr);

/*
 * What printf() of expressions has written since the last call, at most 64 KiB. Borrowed until the
 * next expression is evaluated.
 */
ATTAR_API const char *attar_run_printed(struct attar_run *run, size_t *ret_len);

/* What an expression is evaluated for: an event. */
static inline void attar_event_get_expr_record(
	const struct attar_event *event, struct attar_expr_record *ret_record)
{
	const struct attar_record *record = event->record;

	memset(ret_record, 0, sizeof(*ret_record));
	ret_record->raw = record->sample.raw;
	ret_record->raw_size = record->sample.raw_size;
	ret_record->time = event->time;
	ret_record->period = record->sample.period;
	ret_record->cpu = ATTAR_CAST(int32_t, event->cpu);
	ret_record->pid = ATTAR_CAST(int32_t, record->pid);
	ret_record->tid = ATTAR_CAST(int32_t, record->tid);
}

/* The parsed spec of source i, borrowed from the run; NULL: it was not specified as text. */
ATTAR_API const struct attar_event_spec *attar_run_source_spec(
	const struct attar_run *run, uint32_t i);

/*
 * Adds the event for CPU sampling according to the run's options (-F, -e, --exclude-*, call
 * chains): cycles, or cpu-clock without a PMU. stacks: with call chains.
 */
ATTAR_API int attar_run_sampler(struct attar_run *run, bool stacks, attar_event_fn *fn);

/* ---- timers ---- */

/*
 * A timer on each CPU, which also fires while the CPU is idle, and events that the kernel counts
 * meanwhile. It fires in an interrupt: late if interrupts are disabled.
 */
struct attar_timer {
	uint64_t period; /* ns, at least 10,000 */
	/*
	 * Counted events, as for attar_run_count(), NULL: none. Filters only of the kernel. "" with
	 * a recording: all that it has.
	 */
	const char *events;
	bool stacks; /* samples have call stacks */
	/*
	 * Called for each sample; event->counts[i] is the count of event i on the CPU since the
	 * previous sample of the CPU, or since the start.
	 */
	attar_event_fn *on_event;
};

/*
 * Adds a timer, as its source number attar_run_sources() - 1. The run then watches CPUs
 * (unless attar_run_select_tasks() was called), and what runs in this
 * process too. -E2BIG: too many events; otherwise as attar_run_count(). Only from open().
 */
ATTAR_API int attar_run_timer(struct attar_run *run, const struct attar_timer *timer);

/* ---- recording ---- */

/* ---- other services for a profiler ---- */

/* The event catalog. Borrowed from the run; NULL if out of memory. */
ATTAR_API struct attar_catalog *attar_run_catalog(struct attar_run *run);

/* The symbol cache. Borrowed from the run. */
ATTAR_API struct attar_symbols *attar_run_symbols(struct attar_run *run);

/* The name of source i as opened ("cpu-clock"). */
ATTAR_API const char *attar_run_source_name(const struct attar_run *run, uint32_t i);

/* The requested attributes of source i. Borrowed from the run; NULL: no such source. */
ATTAR_API const struct perf_event_attr *attar_run_source_attr(
	const struct attar_run *run, uint32_t i);

/*
 * Called after the event function has got `event`. Returns 0 or a negative errno, as that function.
 */
typedef int attar_repeats_fn(struct attar_run *run, void *self, const struct attar_event *event,
	const struct attar_repeats *repeats);

/*
 * Called after the event function has got `event`. Returns 0 or a negative errno, as that function.
 */
typedef int attar_turns_fn(struct attar_run *run, void *self, const struct attar_event *event,
	const struct attar_turns *turns);

/*
 * For an event function that is given events of all tasks, see attar_run_select_tasks(): the event
 * concerns none of those that are selected, and --count does not count it.
 */
ATTAR_API void attar_run_pass_over(struct attar_run *run);

/* What the options select: the whole system, tasks or control groups. */
ATTAR_API enum attar_target_kind attar_run_target_kind(const struct attar_run *run);

/* The process of the command that the run starts, which may have ended; 0: none. */
ATTAR_API pid_t attar_run_command_pid(const struct attar_run *run);

/* The profiler of the run. */
ATTAR_API const struct attar_profiler *attar_run_profiler(const struct attar_run *run);

/*
 * Whether events come from the running system, which has more information about them; not from a
 * recording.
 */
ATTAR_API bool attar_run_is_live(const struct attar_run *run);

/* The interval of reports, ns; 0: one report at the end. */
ATTAR_API uint64_t attar_run_interval(const struct attar_run *run);

/*
 * The section of lines that are printed immediately, not with the next report. It is created, with
 * its columns, after the previous lines were printed. NULL if out of memory. Borrowed until the
 * event function returns.
 */
ATTAR_API struct attar_section *attar_run_lines(
	struct attar_run *run, const char *name, void (*columns)(struct attar_section *section));

/*
 * For lines of events: the columns time, comm, tid and cpu, and a new row with their cells. time,
 * ns, is the time of the event or of its start. Numbers that are unknown have empty cells.
 */
ATTAR_API void attar_run_event_columns(struct attar_section *lines);
ATTAR_API void attar_run_event_row(struct attar_run *run, struct attar_section *lines,
	const struct attar_event *ev, uint64_t time);

/* What only some outputs show: a profiler omits what none of them wants. */
enum attar_want {
	ATTAR_WANT_LINES,  /* the lines of attar_run_lines() */
	ATTAR_WANT_SPANS,  /* a time line: attar_run_add_span() */
	ATTAR_WANT_TREE,   /* a call tree */
	ATTAR_WANT_VALUES, /* the fields of single events as values: attar_row_value() */
};

/* Whether an output wants this. */
ATTAR_API bool attar_run_wants(const struct attar_run *run, enum attar_want want);

/* What ended a state of a thread, by waking it up. Borrowed for the call. */
struct attar_waker {
	const char *comm;            /* "[interrupt]" or similar, if it is not a thread */
	int32_t pid, tid;            /* 0: no thread */
	const attar_location *stack; /* innermost first */
	size_t depth;
};

/* A pair, state or call of known times, or an event: begin and end are equal. */
struct attar_span {
	uint64_t begin, end; /* ns of the stream's clock */
	/* Whose time it is. NULL, or an idle thread: the time of the CPU. */
	const struct attar_thread *thread;
	const char *track;    /* the name of a separate track, instead of the thread; NULL: none */
	int32_t cpu;          /* -1: unknown */
	const char *category; /* "state", "pair", "call", "event" or "sample" */
	const char *name;
	const char *detail; /* NULL: none */
	/* The record of a tracepoint, whose fields are the detail; format NULL: none. */
	const struct attar_format *format;
	const void *raw;
	size_t raw_size;
	uint64_t stack;  /* from attar_stacks_add_span(); 0: none */
	uint64_t weight; /* with which the stack was added */
	bool is_sample;  /* only says where the thread was: time lines do not draw it */
	const struct attar_waker *waker; /* NULL: unknown */
};

/*
 * Adds it to the time line of the report of the whole run. Text, record and waker are copied;
 * format is borrowed from the run. If there are too many (attar_run_hooks.want_spans), it is
 * counted. Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_run_add_span(struct attar_run *run, const struct attar_span *span);

/*
 * Adds stacks to a report as attar_stacks_report() does, with the tree also if an output is made
 * for trees, and sets the unresolved share (see below). stacks NULL: adds nothing. opts may be
 * NULL. Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_run_stacks(struct attar_run *run, struct attar_report *report,
	struct attar_stacks *stacks, enum attar_scope scope, const struct attar_stacks_opts *opts);

/*
 * Converts a time of the stream's clock to what columns of ATTAR_UNIT_TIME show: ns since 1970, or
 * with --monotonic and --tsc the time of that clock, plus --clock-offset. Columns that are added to
 * reports of the run have the unit of that clock.
 */
ATTAR_API uint64_t attar_run_realtime(const struct attar_run *run, uint64_t time);

/*
 * When the measurement began, ns of the stream's clock: of a recording, the time of its first
 * sample.
 */
ATTAR_API uint64_t attar_run_began(const struct attar_run *run);

/*
 * In the profiler's report(): the end of the time that the report covers, ns of the stream's clock.
 * All events before it have been delivered.
 */
ATTAR_API uint64_t attar_run_until(const struct attar_run *run);

#ifdef __cplusplus
}
#endif

#endif
