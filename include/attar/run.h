/* SPDX-License-Identifier: MIT */
/*
 * attar/run.h - run a profiler, or write one.
 *
 * A profiler is one const struct: its name, its options, what it does with each event and how it
 * fills a report. A run joins it with a target, a stream, symbols, intervals and whoever takes the
 * reports. The descriptor is the single source: help, completion, manual pages and bindings are
 * read from it.
 *
 *	struct attar_run *run;
 *	attar_run_new("profile", &run);
 *	attar_run_set(run, "freq", "997");
 *	attar_run_set(run, "duration", "5s");
 *	attar_run_go(run, &hooks);
 *	attar_run_free(run);
 *
 * Unless said otherwise an int that is returned is 0, or a negative errno with its sentence in
 * attar_error().
 */
#ifndef ATTAR_RUN_H
#define ATTAR_RUN_H

#include "attar/event.h"
#include "attar/report.h"
#include "attar/stats.h"
#include "attar/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_run;

/* ---- options ---- */

enum attar_option_type {
	ATTAR_OPTION_FLAG,    /* bool; no value */
	ATTAR_OPTION_SWITCH,  /* int: -1 not given, 1 --name, 0 --no-name */
	ATTAR_OPTION_COUNT,   /* uint64_t */
	ATTAR_OPTION_TIME,    /* uint64_t, ns; a bare number counts in `bare` ns */
	ATTAR_OPTION_SIZE,    /* uint64_t, bytes */
	ATTAR_OPTION_PERCENT, /* double, 0..100 */
	ATTAR_OPTION_TEXT,    /* const char *; owned by the run; given again, the last one counts */
	ATTAR_OPTION_LIST,    /* struct attar_texts; each time it is given adds one */
	ATTAR_OPTION_JOINED,  /* const char *; owned by the run; given again, joined with a comma */
};

struct attar_texts {
	const char **at; /* owned by the run */
	size_t n;
};

struct attar_option {
	char letter;       /* 0: none */
	const char *name;  /* the long form, without -- */
	const char *value; /* what the value is called in help; NULL for a flag or switch */
	const char *help;  /* one line, no full stop; NULL: an old name of an option, not listed */
	enum attar_option_type type;
	size_t offset;     /* of the member in the struct that the table belongs to */
	uint64_t bare;     /* TIME: ns of a bare 1 */
	uint64_t min, max; /* COUNT, TIME, SIZE: what is allowed, 0 and 0: anything; PERCENT: min */
	const char *complete; /* what completes it: "file", "pid", "event", ...; NULL: nothing */
};

/* 1 when the member has that type, -1 when it has another. */
#ifdef __cplusplus
extern "C++" {
template <typename A, typename B> struct attar_same_type {
	enum { value = -1 };
};
template <typename A> struct attar_same_type<A, A> {
	enum { value = 1 };
};
}
#define ATTAR_HAS_TYPE(state_, member_, want_)                                                     \
	attar_same_type<decltype(static_cast<state_ *>(nullptr)->member_), want_>::value
#else
#define ATTAR_HAS_TYPE(state_, member_, want_)                                                     \
	(__builtin_types_compatible_p(__typeof__(((state_ *)0)->member_), want_) ? 1 : -1)
#endif

/*
 * A member's offset, or a compile error when it has another type than the option writes. The macros
 * below name members of struct attar_option in their order, as C++20 demands of such initializers.
 */
#define ATTAR_OFFSET(state_, member_, want_)                                                       \
	(offsetof(state_, member_) + 0 * sizeof(char[ATTAR_HAS_TYPE(state_, member_, want_)]))
#define ATTAR_FLAG(state_, member_, letter_, name_, help_)                                         \
	{                                                                                          \
		.letter = (letter_), .name = (name_), .help = (help_), .type = ATTAR_OPTION_FLAG,  \
		.offset = ATTAR_OFFSET(state_, member_, bool)                                      \
	}
#define ATTAR_SWITCH(state_, member_, name_, help_)                                                \
	{                                                                                          \
		.name = (name_), .help = (help_), .type = ATTAR_OPTION_SWITCH,                     \
		.offset = ATTAR_OFFSET(state_, member_, int)                                       \
	}
#define ATTAR_VALUE(kind_, ctype_, state_, member_, letter_, name_, value_, help_, ...)            \
	{                                                                                          \
		.letter = (letter_), .name = (name_), .value = (value_), .help = (help_),          \
		.type = ATTAR_OPTION_##kind_, .offset = ATTAR_OFFSET(state_, member_, ctype_),     \
		__VA_ARGS__                                                                        \
	}
#define ATTAR_COUNT(...)   ATTAR_VALUE(COUNT, uint64_t, __VA_ARGS__)
#define ATTAR_TIME(...)    ATTAR_VALUE(TIME, uint64_t, __VA_ARGS__)
#define ATTAR_SIZE(...)    ATTAR_VALUE(SIZE, uint64_t, __VA_ARGS__)
#define ATTAR_PERCENT(...) ATTAR_VALUE(PERCENT, double, __VA_ARGS__)
#define ATTAR_TEXT(...)    ATTAR_VALUE(TEXT, const char *, __VA_ARGS__)
#define ATTAR_LIST(...)    ATTAR_VALUE(LIST, struct attar_texts, __VA_ARGS__)
#define ATTAR_JOINED(...)  ATTAR_VALUE(JOINED, const char *, __VA_ARGS__)

/* ---- a profiler ---- */

enum attar_uses {
	ATTAR_USES_SAMPLING = 1, /* -F and -e of CPU sampling */
	ATTAR_USES_STACKS = 2,   /* which parts of a stack, and whose code */
	ATTAR_USES_RINGS = 4,    /* -m, --watermark, and -N: it takes samples */
	ATTAR_GIVES_TREE = 8,    /* a call tree where one is wanted, for folded stacks */
};

typedef int attar_event_fn(struct attar_run *run, void *self, const struct attar_event *event);

struct attar_example {
	const char *command; /* without the leading "attar " */
	const char *what;
};

struct attar_profiler {
	const char *name, *group;
	const char *summary; /* one line, begins in lower case, no full stop */
	unsigned uses;       /* enum attar_uses: further common options, and what it gives */
	const char *needs;   /* what must work, as `attar doctor` names it, separated by commas */
	size_t self_size;    /* bytes of the state that the run allocates, zeroed */
	const struct attar_option *options;   /* ends with a NULL name; offsets into the state */
	const struct attar_example *examples; /* ends with a NULL command */
	/* Sets what zero does not mean, before options are parsed. May be NULL. */
	void (*defaults)(void *self);
	/*
	 * Asks for its events: attar_run_source(), attar_run_sampler(), attar_run_count() and their
	 * like.
	 */
	int (*open)(struct attar_run *run, void *self);
	/* A window in which the kernel lost events. May be NULL. */
	attar_event_fn *lost;
	/*
	 * What is watched has ended, and counters have their last values; with attar_run_repeat(),
	 * once for each run of the command. May be NULL.
	 */
	int (*ended)(struct attar_run *run, void *self);
	/* Fills the report. */
	int (*report)(struct attar_run *run, void *self, struct attar_report *report,
		enum attar_scope scope);
	/* Drops what it holds itself. May be NULL. */
	void (*close)(void *self);
};

/* All profilers in alphabetical order, NULL after the last. */
ATTAR_API const struct attar_profiler *const *attar_profilers(void);
ATTAR_API const struct attar_profiler *attar_profiler_find(const char *name);

/* ---- what a profiler may ask of its run ---- */

/* What is said to be called only from open() fails with -EINVAL elsewhere. */

/*
 * Adds an event: fn gets each of its samples. attr says what to count or sample; the run adds what
 * a stream needs. name is copied. Only from open().
 */
ATTAR_API int attar_run_source(struct attar_run *run, const char *name,
	const struct perf_event_attr *attr, attar_event_fn *fn);

/*
 * Adds every event that the text names, sampled each time it happens (or as its own period says),
 * with its stack when stacks is set. Tracepoints carry their fields: attar_run_source_spec(). This
 * process' own are left out by the kernel where it can. Only from open().
 */
ATTAR_API int attar_run_events(
	struct attar_run *run, const char *text, bool stacks, attar_event_fn *fn);

/* What source number i was parsed from, borrowed from the run; NULL: it was not given as text. */
ATTAR_API const struct attar_event_spec *attar_run_source_spec(
	const struct attar_run *run, uint32_t i);

/*
 * Adds the event for CPU sampling that the run's options (-F, -e, --exclude-*, callchains) ask for:
 * cycles, or cpu-clock where there is no PMU. stacks: call chains are wanted.
 */
ATTAR_API int attar_run_sampler(struct attar_run *run, bool stacks, attar_event_fn *fn);

/* ---- counting ---- */

/*
 * Adds every event that the text names, to be counted and read at will rather than delivered; those
 * of a group are counted together. Events that this machine lacks are left out as long as another
 * can be counted: struct attar_run_counter tells why. Only from open().
 */
ATTAR_API int attar_run_count(struct attar_run *run, const char *text);

/* Watched threads are to be counted on each CPU by itself. Only from open(). */
ATTAR_API void attar_run_count_each_cpu(struct attar_run *run);

/*
 * The command is to be run n times, one after the other. -EINVAL: there is none. Only from open().
 */
ATTAR_API int attar_run_repeat(struct attar_run *run, uint64_t n);

/* An event that is counted. Borrowed from the run, until the command is run again. */
struct attar_run_counter {
	const char *name;
	const struct attar_event_spec *spec;
	const char *refused; /* why it is not counted here, a sentence; NULL: it is */
	const struct attar_counter *counter; /* its instances: attar_counter_instance_at() */
	size_t n_instances;
	/* Of each instance, since the start and since the report before; read for each report. */
	const struct attar_value *values, *recent;
	int error; /* the negative errno of refused; 0: none */
};

/* Counter number i in the order in which they were named; NULL after the last. */
ATTAR_API const struct attar_run_counter *attar_run_get_counter(
	const struct attar_run *run, size_t i);

/* ns from the start (of this run of the command) to now, or to the end of what is watched. */
ATTAR_API uint64_t attar_run_elapsed(const struct attar_run *run);

/* ns since the report before, or since the start: what `recent` values were counted in. */
ATTAR_API uint64_t attar_run_recent(const struct attar_run *run);

/* What attar_run_count_rows() separates counts by. */
enum attar_count_by {
	ATTAR_COUNT_TOTAL, /* nothing: one row (default) */
	ATTAR_COUNT_BY_CPU,
	ATTAR_COUNT_BY_THREAD,
	ATTAR_COUNT_BY_SOCKET, /* of processors */
	ATTAR_COUNT_BY_CGROUP,
};

/*
 * Requests separate counts. ATTAR_COUNT_BY_THREAD: threads that are created during the run are
 * separate too if the kernel reports their counts (Linux 6.12; not with intervals); otherwise they
 * are counted with their creators, and a note is logged. Only from open().
 */
ATTAR_API int attar_run_count_by(struct attar_run *run, enum attar_count_by by);

/* The counts of one CPU, thread, socket or control group. */
struct attar_count_row {
	int number; /* of the CPU, socket or control group (attar_run_cgroup()); otherwise 0 */
	pid_t tid;  /* 0: counts that cannot be assigned to a thread, or not by thread */
	const char *comm;                 /* the thread's name; "": unknown, or not by thread */
	const struct attar_count *counts; /* one for each attar_run_get_counter() */
};

/*
 * The counts as rows in the order of their numbers or tids. ATTAR_SCOPE_INTERVAL: since the
 * previous report; ATTAR_SCOPE_WHOLE: of all ended runs of the command, to be called from ended()
 * or later. Owned by the run and valid until the next call. Returns 0 or -ENOMEM.
 */
ATTAR_API int attar_run_count_rows(struct attar_run *run, enum attar_scope scope,
	const struct attar_count_row **ret_rows, size_t *ret_n);

/* CPU time that the ended command has used, as attar_target_command_times() gives it. */
ATTAR_API int attar_run_command_times(
	const struct attar_run *run, uint64_t *ret_user, uint64_t *ret_system);

/*
 * The name of the target's control group number i, as attar_counter_instance tells it; "" for none.
 */
ATTAR_API const char *attar_run_cgroup(const struct attar_run *run, int i);

/* ---- more that a profiler may ask ---- */

/* What events this system has. Borrowed from the run; NULL when out of memory. */
ATTAR_API struct attar_catalog *attar_run_catalog(struct attar_run *run);

/* The cache of names. Borrowed from the run. */
ATTAR_API struct attar_symbols *attar_run_symbols(struct attar_run *run);

/* The name of source number i as it was opened ("cpu-clock"). */
ATTAR_API const char *attar_run_source_name(const struct attar_run *run, uint32_t i);

/* The attributes that source number i was requested with. Borrowed from the run; NULL: none. */
ATTAR_API const struct perf_event_attr *attar_run_source_attr(
	const struct attar_run *run, uint32_t i);

/* What the options select: the whole system, tasks or control groups. */
ATTAR_API enum attar_target_kind attar_run_target_kind(const struct attar_run *run);

/* The profiler of the run. */
ATTAR_API const struct attar_profiler *attar_run_profiler(const struct attar_run *run);

/* The interval of reports, ns; 0: one report at the end. */
ATTAR_API uint64_t attar_run_interval(const struct attar_run *run);

/* The sampling frequency asked for, per second. */
ATTAR_API uint64_t attar_run_freq(const struct attar_run *run);

/*
 * The section of lines that are shown at once rather than at the next report; made, with its
 * columns, when the last lines have been shown. NULL when out of memory. Borrowed until the event
 * function returns.
 */
ATTAR_API struct attar_section *attar_run_lines(
	struct attar_run *run, const char *name, void (*columns)(struct attar_section *section));

/* Somebody takes trees: a page, folded stacks. A profiler may leave them out otherwise. */
ATTAR_API bool attar_run_wants_tree(const struct attar_run *run);

/*
 * Somebody takes the fields of single events as values: JSON. A profiler leaves them out otherwise.
 */
ATTAR_API bool attar_run_wants_values(const struct attar_run *run);

/* Somebody reads the lines of single events, attar_run_lines(). */
ATTAR_API bool attar_run_wants_lines(const struct attar_run *run);

/*
 * The share of samples (0..1) whose innermost frame has no name, for the notes of the report being
 * filled.
 */
ATTAR_API void attar_run_unresolved(struct attar_run *run, double share);

/* ns since 1970 of a time on the stream's clock. */
ATTAR_API uint64_t attar_run_realtime(const struct attar_run *run, uint64_t time);

/* ---- running one ---- */

/* Who takes what a run delivers. Every member may be NULL. */
struct attar_run_hooks {
	size_t size; /* sizeof(struct attar_run_hooks) */
	void *ctx;
	/* Takes a report, borrowed for the call. A negative errno ends the run. */
	int (*report)(void *ctx, const struct attar_report *report, enum attar_scope scope);
	/* Called about every second: how long it runs, what was seen and lost. */
	void (*progress)(void *ctx, uint64_t elapsed_ns, uint64_t seen, uint64_t lost);
	bool want_whole;     /* with intervals: a report of the whole run at the end too */
	bool want_tree;      /* call trees, though nobody asked for them by an option */
	bool want_values;    /* fields of single events as values too, attar_row_value() */
	bool no_line_output; /* nobody reads the lines of single events: they need not be made */
	/* Called at each turn of the run, about ten times a second or more. */
	void (*turn)(void *ctx);
	/*
	 * Called about ten times a second when opening events takes longer than a second: how many
	 * of how many events are open.
	 */
	void (*opening)(void *ctx, uint64_t done, uint64_t all);
	/* In the process of a launched command, see attar_target_opts.prepare. */
	void (*prepare)(void *ctx);
};

/*
 * A new run of the named profiler, its options at their defaults. -ENOENT: the text suggests the
 * nearest.
 */
ATTAR_API int attar_run_new(const char *profiler, struct attar_run **ret_run);

/* Ends it, with a command that it launched. NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_run *attar_run_free(struct attar_run *run);

/* Options under one heading of the help. */
struct attar_option_group {
	const char *title;
	const struct attar_option *options; /* ends with a NULL name */
};

/*
 * What a run takes: its profiler's options, then common ones; ends with a NULL title. Owned by the
 * run.
 */
ATTAR_API const struct attar_option_group *attar_run_option_groups(const struct attar_run *run);

/*
 * Adds options of the caller under a heading of the help, such as where to write reports:
 * attar_run_set() sets them, too, as members of *state. All are borrowed until attar_run_free();
 * texts and lists in *state are owned by the run. Returns 0; -EEXIST: a name or letter is already
 * used; -ENOSPC: too many groups; -EINVAL: the run has been started.
 */
ATTAR_API int attar_run_add_options(struct attar_run *run, const char *title,
	const struct attar_option *options, void *state);

/*
 * Sets an option by its long name ("no-" before a switch turns it off); value is copied, and NULL
 * for flags.
 * -ENOENT: no such option; -EINVAL, -ERANGE: the value is wrong. The text names the option.
 */
ATTAR_API int attar_run_set(struct attar_run *run, const char *name, const char *value);

/* The command to launch; argv is borrowed until the run is freed. */
ATTAR_API void attar_run_command(struct attar_run *run, char *const *argv);

/*
 * Runs until its end: the target's, the duration's, attar_run_stop(). Once for each run: afterwards
 * it, attar_run_set() and attar_run_command() fail with -EINVAL. hooks are copied, and may be NULL.
 * 0, or the negative errno of what could not be opened, or of a hook. -ECANCELED: attar_run_stop()
 * was called before everything was open, and nothing was measured.
 */
ATTAR_API int attar_run_go(struct attar_run *run, const struct attar_run_hooks *hooks);

/* Asks a run to finish and report. Safe in signal handlers and from other threads. */
ATTAR_API void attar_run_stop(struct attar_run *run);

/* Whether the measurement has ended, so that only the last reports follow. */
ATTAR_API bool attar_run_ended(const struct attar_run *run);

/*
 * The number of open tracepoints and probes that the kernel removes one by one, some 30 ms each,
 * when their last descriptor is closed. 0 if this process must close them itself, because it
 * removes probes from tracefs afterwards.
 */
ATTAR_API size_t attar_run_slow_closes(const struct attar_run *run);

/* The exit status of the launched command, as attar_target_command_status() gives it. */
ATTAR_API int attar_run_command_status(const struct attar_run *run);

#ifdef __cplusplus
}
#endif

#endif
