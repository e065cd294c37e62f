/* SPDX-License-Identifier: MIT */
/*
 * The parts of a run: what it can do besides delivering events. Each part is one file with private
 * state and the hooks that it needs; parts.c lists them in the order in which hooks are called.
 * Other files read the state of a part only if RUN_PARTS says that the part is SHARED.
 */
#ifndef RUN_PART_H
#define RUN_PART_H

#include "attar/run.h"

struct source;

/*
 * The list of all parts, in the order in which their hooks are called, which is the order of their
 * remarks. Push ends before the file of the recorder is complete, which can take long.
 */
#define RUN_PARTS(PART, SHARED)                                                                    \
	PART(POLL, part_poll)                                                                      \
	SHARED(STOP, part_stop)                                                                    \
	SHARED(OPTIONS, part_options)                                                              \
	PART(SAMPLE_FILTER, part_sample_filter)                                                    \
	PART(CATALOG, part_catalog)                                                                \
	SHARED(OPENING, part_opening)                                                              \
	SHARED(RINGS, part_rings)                                                                  \
	SHARED(TASK_WATCH, part_task_watch)                                                        \
	PART(SWITCH_CHECK, part_switch_check)                                                      \
	PART(SELECT, part_select)                                                                  \
	PART(OVERHEAD, part_overhead)                                                              \
	PART(IN_KERNEL, part_in_kernel)                                                            \
	SHARED(TEXTS, part_texts)                                                                  \
	PART(CALL_MEMORY, part_call_memory)                                                        \
	PART(KERNEL_STACKS, part_kernel_stacks)                                                    \
	PART(FLIGHT, part_flight)                                                                  \
	PART(PROBE_FILES, part_probe_files)                                                        \
	PART(KERNEL_GUARD, part_kernel_guard)                                                      \
	PART(SCANS, part_scans)                                                                    \
	SHARED(COUNTS, part_counts)                                                                \
	PART(CREATORS, part_creators)                                                              \
	SHARED(THREADS, part_threads)                                                              \
	PART(REPLAY, part_replay)                                                                  \
	PART(RANGE, part_range)                                                                    \
	SHARED(PULL, part_pull)                                                                    \
	PART(DATABASE, part_database)                                                              \
	SHARED(HOSTS, part_hosts)                                                                  \
	PART(EMITTERS, part_emitters)                                                              \
	PART(PROGRAMS, part_programs)                                                              \
	PART(NAMES, part_names)                                                                    \
	PART(GROUPS, part_groups)                                                                  \
	PART(RENEWAL, part_renewal)                                                                \
	PART(PUSH, part_push)                                                                      \
	PART(BLACKBOX, part_blackbox)                                                              \
	SHARED(RECORDER, part_recorder)                                                            \
	PART(RECORDED_EVENTS, part_recorded_events)                                                \
	PART(SPANS, part_spans)                                                                    \
	PART(USER_STACKS, part_user_stacks)                                                        \
	PART(EXPRESSIONS, part_expressions)                                                        \
	PART(ACTIONS, part_actions)                                                                \
	PART(RESULT_FILES, part_result_files)                                                      \
	PART(REQUESTS, part_requests)

#define PART_ID(id, part) PART_##id,
#define PART_NOTHING(id, part)
#define PART_SHARED_ID(id, part) PART_SHARED_##id = PART_##id,
enum part_id { RUN_PARTS(PART_ID, PART_ID) PART_COUNT };
enum part_shared_id { RUN_PARTS(PART_NOTHING, PART_SHARED_ID) };

/* All hooks are optional. Those that return an int return 0 or a negative errno with a message. */
struct run_part {
	size_t size; /* bytes of its state, which is zeroed when the run is created */

	/* The run was created, with its profiler. */
	int (*create)(struct attar_run *run, void *self);

	/* The options are known, and nothing is open. */
	int (*prepare)(struct attar_run *run, void *self);

	/* The profiler asks for a list of events, or one. 1: the part has added the sources. */
	int (*events)(struct attar_run *run, void *self, const char *text, bool stacks,
		attar_event_fn *fn);
	int (*event)(struct attar_run *run, void *self, const struct attar_event_spec *spec,
		bool stacks, attar_event_fn *fn);

	/* The newest source is the source of the event. */
	int (*added)(struct attar_run *run, void *self, const struct attar_event_spec *spec,
		attar_event_fn *fn);

	/* A source was added, or its format has become known. */
	int (*source)(struct attar_run *run, void *self, struct source *s);

	/* The profiler's open() has been called: the part may add sources. */
	int (*complete)(struct attar_run *run, void *self);

	/* A source is about to be opened with these attributes. */
	int (*attr)(struct attar_run *run, void *self, const struct source *s,
		struct perf_event_attr *attr);

	/* The target, the sources and the stream are open; also when a command is run again. */
	int (*opened)(struct attar_run *run, void *self);

	/* May wait for the receiver of events. */
	int (*listen)(struct attar_run *run, void *self);

	/* The events are about to be enabled. */
	int (*begin)(struct attar_run *run, void *self);

	/* The events were enabled; a command has not begun. */
	int (*started)(struct attar_run *run, void *self);

	/* The rings of a live run are about to be read. */
	int (*round)(struct attar_run *run, void *self);

	/* Reads the rings. 1: the part has done so, and nothing is delivered. */
	int (*drain)(struct attar_run *run, void *self);

	/*
	 * A sample of a source that has the part's bit in source_use.steps. 1: the part has taken
	 * the sample, which goes no further.
	 */
	int (*sample)(struct attar_run *run, void *self, struct attar_event *event);

	/* A sample of a source with `pushes`, which filters have kept. */
	int (*kept)(struct attar_run *run, void *self, const struct attar_event *event);

	/* A record that is not a sample. 1: neither later parts nor the profiler see it. */
	int (*record)(struct attar_run *run, void *self, const struct attar_event *event);

	/* The rings of a live run were read: new programs, CPUs and threads are looked for. */
	int (*follow)(struct attar_run *run, void *self);

	/* A source is about to be enabled or disabled. */
	void (*toggled)(struct attar_run *run, void *self, uint32_t source, bool on);

	/* The events of a round of a live run were delivered. */
	int (*drained)(struct attar_run *run, void *self);

	/* A report is requested. 1: the part has made it. */
	int (*requested)(struct attar_run *run, void *self);

	/* After each reading of the rings of a live run. 1: the run is to end. */
	int (*turn)(struct attar_run *run, void *self, uint64_t now);

	/* The measurement has ended, and all events were delivered. */
	int (*ended)(struct attar_run *run, void *self);

	/* After it, the counts are read and the command is waited for. */
	int (*finish)(struct attar_run *run, void *self);

	/* A report begins: brings up to date what the profiler reads for it. */
	int (*read)(struct attar_run *run, void *self, struct attar_report *report);

	/* Adds sections to a report, after the sections of the profiler. */
	int (*report)(struct attar_run *run, void *self, struct attar_report *report,
		enum attar_scope scope);

	/* Adds to the statistics of the run's stream. */
	void (*stats)(struct attar_run *run, void *self, struct attar_stream_stats *stats);

	/* Adds remarks to a report, which has its notes. */
	void (*remark)(struct attar_run *run, void *self, struct attar_report *report,
		enum attar_scope scope);

	/* The run is to be freed: its stream, sources and target are so after it. */
	void (*detach)(struct attar_run *run, void *self);

	/* The stream, sources and target of the run have been freed. */
	void (*free)(struct attar_run *run, void *self);
};

struct run_parts {
	const struct run_part *const *list; /* PART_COUNT */
	void *state[PART_COUNT];            /* owned */
};

/* Allocates the states. 0 or -ENOMEM. */
int parts_init(struct run_parts *parts, const struct run_part *const *list);

/*
 * Calls a hook of each part that has it, until one of them does not return 0; its result, or 0.
 * Needs run/run.h.
 */
#define PARTS_CALL(run, hook, ...)                                                                 \
	({                                                                                         \
		struct attar_run *run_ = (run);                                                    \
		int r_ = 0;                                                                        \
                                                                                                   \
		for (int i_ = 0; r_ == 0 && i_ < PART_COUNT; i_++)                                 \
			if (run_->parts.list[i_]->hook)                                            \
				r_ = run_->parts.list[i_]->hook(                                   \
					run_, run_->parts.state[i_] __VA_OPT__(, ) __VA_ARGS__);   \
		r_;                                                                                \
	})

/* The same for hooks that return nothing. */
#define PARTS_TELL(run, hook, ...)                                                                 \
	do {                                                                                       \
		struct attar_run *run_ = (run);                                                    \
                                                                                                   \
		for (int i_ = 0; i_ < PART_COUNT; i_++)                                            \
			if (run_->parts.list[i_]->hook)                                            \
				run_->parts.list[i_]->hook(                                        \
					run_, run_->parts.state[i_] __VA_OPT__(, ) __VA_ARGS__);   \
	} while (0)

/* Passes a sample to the parts whose bits are set in steps. 1: one of them has taken it. */
int parts_sample(struct attar_run *run, uint64_t steps, struct attar_event *event);

/* The hooks of the same names; then parts_done() frees the states. */
void parts_detach(struct attar_run *run);
void parts_free(struct attar_run *run);
void parts_done(struct run_parts *parts);

#endif
