/* SPDX-License-Identifier: MIT */
/* A run from the inside: its common options and its parts. */
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
#include "run/counts.h"
#include "run/setuid.h"
#include "run/starters.h"
#include "run/exited_threads.h"

/* The options that every profiler shares, see common.c. */
struct common_opts {
	/* whom */
	const char *cpus, *pids, *tids, *cgroups;
	bool all_cpus;
	/* what is sampled */
	const char *event;
	uint64_t freq;
	bool exclude_user, exclude_kernel;
	int user_callchain, kernel_callchain; /* switches */
	/* how long */
	uint64_t interval, duration; /* ns */
	uint64_t count;              /* events, 0: no limit */
	/* rings */
	uint64_t mmap_pages;
	double watermark; /* percent of a ring */
	/* how results are shown: for whoever takes the reports */
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
void common_defaults(struct common_opts *opts);

struct source {
	char *name;
	struct perf_event_attr attr;
	attar_event_fn *fn;
	char *filter; /* for the kernel; NULL: none */
	struct attar_counter *counter;
	const struct attar_event_spec *spec; /* borrowed from one of the run's lists; NULL: none */
	bool is_fallback_allowed;            /* cpu-clock may stand in for it */
	struct usdt *usdt;   /* makes its records those of an event; NULL: as they are */
	struct filter *keep; /* applied by us, because the kernel does not; NULL: all are kept */
	bool is_left_out;    /* one of a pattern, refused: see run/leftout.h */
	bool only_unshared;  /* of usdt: those of run->unshared alone count */
};

/* A source whose events may come from the memory of programs. */
struct user_source {
	uint32_t source;
	const char *pattern; /* borrowed from the source's spec */
};

struct attar_run {
	unsigned process; /* that created it, see base/check.h */
	const struct attar_profiler *profiler;
	void *self; /* the profiler's state */

	/* What is asked for. */
	struct common_opts opts;
	struct attar_option_group groups[8];
	struct intern texts;             /* of option values, and further names */
	VEC(struct attar_texts *) lists; /* LIST members that hold memory */
	char *const *command;            /* borrowed; NULL: none */
	uint64_t rounds;                 /* how often the command is run; 0: once */
	struct attar_run_hooks hooks;

	/* What is opened for it. */
	struct attar_catalog *catalog; /* NULL until it is asked for */
	VEC(struct attar_event_list *) event_lists;
	struct attar_symbols *symbols;
	struct attar_target *target;
	VEC(struct source) sources;
	struct attar_stream *stream; /* NULL: nothing is sampled */
	int stop_fd;                 /* an eventfd: attar_run_stop() was called */
	int stop_asked;              /* the same for loops that open or close; atomic */

	/* Events of programs. */
	VEC(struct user_source) user_sources;
	struct attar_shm_source *shm_source;       /* of those; NULL: none */
	VEC(struct attar_event_spec *) user_specs; /* of sources that came to light later */
	VEC(struct attar_event_spec *) usdt_specs; /* of sources that are USDT probes */
	size_t n_opened;                           /* sources that were there at the start */
	struct map unshared;  /* pids of processes that have the probe but no shared memory */
	struct intern noted;  /* what the log was told about transports */
	bool user_stacks;     /* their samples have stacks */
	bool kernel_may_come; /* the kernel has user_events, but not all that was asked for yet */

	/* Counting. */
	counted_list counts;
	bool count_each_cpu, count_each_thread;
	bool user_only;   /* the kernel may not be watched */
	struct map comms; /* tid -> the name that it had, one of texts */
	struct threads threads;
	struct starters starters;
	struct setuid_watch setuid;

	/* What has come so far. */
	struct attar_report *lines; /* rows of single events, not yet shown */
	struct attar_section *lines_section;
	double unresolved; /* for the notes, see attar_run_unresolved() */
	uint64_t dropped;  /* of those that the stream delivered, by filters of ours */
	uint64_t seen_total, seen_reported, lost_reported, throttled_reported;
	uint64_t lost_side_band_reported;
	/* ns, CLOCK_MONOTONIC; began: this run of the command, first_began: the first of them */
	uint64_t first_began, began, interval_began;
	uint64_t opening_shown;   /* ns, when the progress of opening is shown next */
	uint64_t recent;          /* ns of the interval that is being reported */
	uint64_t ended;           /* of what is watched; 0: it runs */
	uint64_t realtime_offset; /* ns from CLOCK_MONOTONIC to 1970 */
	bool opening;             /* open() of its profiler is being called */
	bool went;                /* attar_run_go() was called */
	bool stopped;             /* by attar_run_stop() */
	int command_status;       /* as attar_run_command_status() gives it */

	/* When attar_run_go() was entered. */
	struct timespec self_began; /* CPU time of this process */
	uint64_t self_entered;      /* ns, CLOCK_MONOTONIC */
	uint64_t ooms;              /* base_oom_count() */
};

/* What --exclude-* and the callchain options say, into attr. */
void run_stack_attr(const struct common_opts *opts, bool stacks, struct perf_event_attr *attr);

/* The events of a text, kept by the run. */
int run_parse_events(
	struct attar_run *run, const char *text, const struct attar_event_list **ret_list);

/* Returns from a public function with -EINVAL unless open() of the profiler has called it. */
#define CHECK_OPENING(run)                                                                         \
	do {                                                                                       \
		if (!(run)->opening)                                                               \
			return run_not_opening(__func__);                                          \
	} while (0)
int run_not_opening(const char *function);

/* attar_run_source() at any time. */
int run_add_source(struct attar_run *run, const char *name, const struct perf_event_attr *attr,
	attar_event_fn *fn);

/* Adds one of them as a source; attr holds how it is sampled unless the spec says otherwise. */
int run_add_spec(struct attar_run *run, const struct attar_event_spec *spec,
	struct perf_event_attr *attr, attar_event_fn *fn);

/* No process, thread or control group is named, nor is a command the one to watch. */
bool run_watches_system(const struct attar_run *run);

/* Resolves the target that the options describe; narrows it to what this user may see. */
int run_open_target(struct attar_run *run, bool own_processes);

/* -EOPNOTSUPP for an event that the kernel knows nothing of: only a stream has those. */
int run_user_refuse(const struct attar_event_spec *spec);

/* Before event number `done` is opened: shows the progress. -ECANCELED: attar_run_stop() was called. */
int run_opening(struct attar_run *run, size_t done);

/* Whether attar_run_stop() was called. */
bool run_stop_asked(const struct attar_run *run);

/*
 * How many tracepoints and probes are open that the kernel removes one by one, some 30 ms each, when
 * their last descriptor is closed; 0: this process must close them itself, because it has to remove
 * probes from tracefs afterwards.
 */
size_t run_slow_closes(const struct attar_run *run);

/* Opens one source on the run's target. */
int run_open_source(struct attar_run *run, struct source *s);

/* How source number i is opened. */
static inline const struct perf_event_attr *run_source_attr(const struct attar_run *run, uint32_t i)
{
	return &run->sources.at[i].attr;
}

/* Closes and frees all sources. */
void run_sources_free(struct attar_run *run);

/* Removes the sources that are left out. */
void run_sources_drop(struct attar_run *run);

/* Events of programs; see userevents.c. */
int run_user_source(struct attar_run *run, const struct attar_event_spec *spec);
int run_list_processes(const struct attar_run *run, parse_ints *pids); /* of --pids and --tids */
int run_user_open(struct attar_run *run);
void run_user_close(struct attar_run *run);
void run_user_started(struct attar_run *run);
/* What is converted or filtered by us. */
int run_user_deliver(struct attar_run *run, struct source *s, const struct attar_event *ev);
/* Takes up what the kernel has got of them meanwhile. */
int run_user_look(struct attar_run *run);
void run_user_ended(struct attar_run *run);
/* For the environment of a command; at least 3 instances. Ends with NULL. */
void run_user_environment(const struct attar_run *run, const char *environment[3]);

/* A source for each USDT probe of the event in the files of what is watched; see usdt.c. */
int run_usdt_add(struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn);
/* The same for processes that share no memory with us; none are no mistake. */
int run_usdt_add_unshared(
	struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn);
/* The record as that of the event; false: it is not to be delivered. */
bool run_usdt_convert(struct attar_run *run, struct source *s, struct attar_record *record);

/* Fills the notes of a report from what was seen since the one before (or the start). */
void run_fill_notes(struct attar_run *run, struct attar_report *report, enum attar_scope scope);

#endif
