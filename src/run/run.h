/* SPDX-License-Identifier: MIT */
/* Internals of struct attar_run: the common options, sources, counters and state. */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <time.h>

#include "attar/run.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/parse.h"
#include "expr/filter.h"
#include "event/usdt.h"
#include "run/count_rows.h"
#include "run/counts.h"
#include "run/task_watch.h"
#include "run/starters.h"
#include "run/exited_threads.h"

enum {
	RUN_PAGE_BYTES = 4096,   /* the unit of -m, whatever the size of the machine's pages */
	RUN_DEFAULT_PAGES = 128, /* of each ring */
};

/* The options that all profilers share, see common_options.c. */
struct common_opts {
	/* targets */
	const char *cpus, *pids, *tids, *cgroups;
	bool all_cpus;
	/* sampling */
	const char *event;
	uint64_t freq;
	bool exclude_user, exclude_kernel;
	int user_callchain, kernel_callchain; /* switches */
	/* duration and limits */
	uint64_t interval, duration; /* ns */
	uint64_t count;              /* events, 0: no limit */
	/* ring buffers */
	uint64_t mmap_pages;
	double watermark; /* percent of a ring */
	/* output: used by the receiver of the reports */
	struct attar_texts outputs, flame_graphs;
	const char *format;
	uint64_t rows;
	bool verbose, quiet;
};

extern const struct attar_option common_target_options[];
extern const struct attar_option common_sampling_options[];
extern const struct attar_option common_stack_options[];
extern const struct attar_option common_run_options[];
extern const struct attar_option common_ring_options[];
extern const struct attar_option common_output_options[];
extern const struct attar_option common_tree_options[]; /* of profilers with ATTAR_GIVES_TREE */
void common_defaults(struct common_opts *opts);

struct source {
	char *name;
	struct perf_event_attr attr;
	attar_event_fn *fn;
	char *filter; /* applied by the kernel; NULL: none */
	struct attar_counter *counter;
	const struct attar_event_spec *spec; /* borrowed from one of the run's lists; NULL: none */
	bool is_fallback_allowed;            /* cpu-clock may replace it */
	struct usdt *usdt;   /* converts its records; NULL: they are delivered unchanged */
	struct filter *keep; /* applied in user space; NULL: every sample is kept */
	bool is_left_out;    /* matched by a pattern and refused: see run/leftout.h */
	bool only_unshared;  /* with usdt: only samples of processes in run->unshared count */
};

/* A source whose events may arrive through shared memory of user programs. */
struct user_source {
	uint32_t source;
	const char *pattern; /* borrowed from the source's spec */
};

struct attar_run {
	unsigned process; /* that created it, see base/check.h */
	const struct attar_profiler *profiler;
	void *self; /* the profiler's state */

	/* Configuration. */
	struct common_opts opts;
	struct attar_option_group groups[9]; /* at most 8, and the terminator */
	struct intern texts;                 /* option values and other names */
	VEC(struct attar_texts *) lists;     /* LIST members that hold memory */
	char *const *command;                /* borrowed; NULL: none */
	uint64_t rounds;                     /* how many times to run the command; 0: once */
	struct attar_run_hooks hooks;

	/* Open resources. */
	struct attar_catalog *catalog; /* NULL until first used */
	VEC(struct attar_event_list *) event_lists;
	struct attar_symbols *symbols;
	struct attar_target *target;
	VEC(struct source) sources;
	struct attar_stream *stream; /* NULL: nothing is sampled */
	int stop_fd;                 /* an eventfd: attar_run_stop() was called */
	int stop_asked;              /* the same, checked while opening or closing events; atomic */

	/* User events. */
	VEC(struct user_source) user_sources;
	struct attar_shm_source *shm_source;       /* NULL: none */
	VEC(struct attar_event_spec *) user_specs; /* of sources that were discovered later */
	VEC(struct attar_event_spec *) usdt_specs; /* of sources that are USDT probes */
	size_t n_opened;                           /* sources that existed at the start */
	struct map unshared; /* pids of processes that have the probe but no shared memory */
	struct intern noted; /* transports that have been logged */
	bool user_stacks;    /* their samples have stacks */
	bool kernel_may_come; /* user_events is supported, but a requested event is not registered yet */

	/* Counting. */
	counted_list counts;
	struct count_rows count_rows;
	bool count_each_cpu, count_each_thread;
	bool user_only;   /* no permission to count kernel code */
	struct map comms; /* tid -> its last known name, in texts */
	struct threads threads;
	struct starters starters;
	struct task_watch tasks;

	/* Results so far. */
	struct attar_report *lines; /* rows of single events, not yet shown */
	struct attar_section *lines_section;
	double unresolved; /* for the notes, see attar_run_unresolved() */
	uint64_t dropped;  /* samples that the stream delivered and a user-space filter dropped */
	uint64_t seen_total, seen_reported, lost_reported, throttled_reported;
	uint64_t lost_side_band_reported;
	/* ns, CLOCK_MONOTONIC; began: of this run of the command, first_began: of the first run */
	uint64_t first_began, began, interval_began;
	uint64_t opening_shown;   /* ns, when the progress of opening is shown next */
	uint64_t recent;          /* length of the interval being reported, ns */
	uint64_t ended;           /* end of the measurement, ns; 0: still running */
	uint64_t realtime_offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC, ns */
	bool opening;             /* inside open() of the profiler */
	bool went;                /* attar_run_go() was called */
	bool stopped;             /* by attar_run_stop() */
	int command_status;       /* see attar_run_command_status() */

	/* When attar_run_go() was entered. */
	struct timespec self_began; /* CPU time of this process */
	uint64_t self_entered;      /* ns, CLOCK_MONOTONIC */
	uint64_t ooms;              /* base_oom_count() */
};

/* Sets --exclude-* and the callchain options in attr. */
void run_stack_attr(const struct common_opts *opts, bool stacks, struct perf_event_attr *attr);

/* Parses an event list; the run owns the result. */
int run_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/* Returns -EINVAL from a public function that is not called from the profiler's open(). */
#define CHECK_OPENING(run)                                                                         \
	do {                                                                                       \
		if (!(run)->opening)                                                               \
			return run_not_opening(__func__);                                          \
	} while (0)
int run_not_opening(const char *function);

/* Like attar_run_source(), but may be called at any time. */
int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn);

/* Adds an event as a source; attr has the sampling settings, which the spec may override. */
int run_add_spec(struct attar_run *run, const struct attar_event_spec *spec,
	struct perf_event_attr *attr, attar_event_fn *fn);

/* Whether the target is the whole system: no process, thread, cgroup or command was given. */
bool run_watches_system(const struct attar_run *run);

/* Creates the target from the options; own_processes: only the processes of this user. */
int run_open_target(struct attar_run *run, bool own_processes);

/* -EOPNOTSUPP for a user event that the kernel does not have: only a stream delivers those. */
int run_user_refuse(const struct attar_event_spec *spec);

/*
 * Before event number `done` is opened: shows the progress. -ECANCELED: attar_run_stop() was
 * called.
 */
int run_opening(struct attar_run *run, size_t done);

/* Whether attar_run_stop() was called. */
bool run_stop_asked(const struct attar_run *run);

/*
 * How many tracepoints and probes are open that the kernel removes one by one, some 30 ms each,
 * when their last descriptor is closed; 0: this process must close them itself, because it has to
 * remove probes from tracefs afterwards.
 */
size_t run_slow_closes(const struct attar_run *run);

/* Opens one source on the run's target. */
int run_open_source(struct attar_run *run, struct source *s);

/* Closes and frees all sources. */
void run_sources_free(struct attar_run *run);

/* Removes the sources that are left out. */
void run_sources_drop(struct attar_run *run);

/* User events; see user_events.c. */
int run_user_source(struct attar_run *run, const struct attar_event_spec *spec);
int run_list_processes(const struct attar_run *run, parse_ints *pids); /* of --pids and --tids */
int run_user_open(struct attar_run *run);
void run_user_close(struct attar_run *run);
void run_user_started(struct attar_run *run);
/* Delivers a sample that is converted or filtered in user space. */
int run_user_deliver(struct attar_run *run, struct source *s, const struct attar_event *ev);
/* Opens user events that were registered with the kernel since the last call. */
int run_user_look(struct attar_run *run);
void run_user_ended(struct attar_run *run);
/* Variables for the environment of the command, terminated by NULL; at most 2. */
void run_user_environment(const struct attar_run *run, const char *environment[3]);

/* Adds a source for each USDT probe of the event in the files of the target; see usdt_source.c. */
int run_usdt_add(struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn);
/* The same for processes that share no memory with attar; finding none is not an error. */
int run_usdt_add_unshared(
	struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn);
/* Converts the record to one of the user event; false: do not deliver it. */
bool run_usdt_convert(struct attar_run *run, struct source *s, struct attar_record *record);

/* Fills the notes of a report: what was seen since the previous one, or since the start. */
void run_fill_notes(struct attar_run *run, struct attar_report *report, enum attar_scope scope);

#endif
