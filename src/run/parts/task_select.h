/* SPDX-License-Identifier: MIT */
#ifndef RUN_PARTS_TASK_SELECT_H
#define RUN_PARTS_TASK_SELECT_H

#include "attar/run.h"
#include "base/parse.h"
#include "run/parts/group_select.h"

enum { SELECT_BITS = 64 };

/* Tasks that are selected from the events of the whole system, or of a recording. */
struct run_select {
	pid_t own_pid; /* of this process: getpid(2) is a system call */
	/* run_emits(): it is the run of an emitter, whose events go there; NULL: it is not */
	struct attar_run *emits_to;
	bool is_on;            /* by the profiler: attar_run_select_tasks() was called */
	bool by_emitter;       /* instead, by a profiler that is an event: see select_has() */
	bool command_runs;     /* by_emitter: the exec of the command was seen */
	bool has_own_tasks;    /* of such a profiler: its options have --pids or --tids */
	bool keeps_own;        /* attar_run_keep_own() was called */
	bool hides_own;        /* it was called by a profiler that is an event, not by the other */
	bool watches_cpus;     /* run_watch_cpus() was called */
	bool exceeds_command;  /* ... with a command, but neither --all-cpus nor --cpus */
	bool has_names;        /* --comm, --container, --unit or --port */
	parse_ints pids, tids; /* of --pids and --tids */
	parse_ints cpus;       /* of --cpus, see select_parse_cpus() */
	bool adds_all_cpus;    /* by the profiler: attar_run_all_cpus() */
	bool has_all_cpus;     /* a source has all CPUs despite --cpus */
	uint64_t bit;          /* of its processes in process.selected; 0: they are not marked */
	/* ns: when the tasks of --pids and --tids were looked up; 0: tasks of a recording */
	uint64_t learned;
	struct group_select groups; /* of --cgroups */
};

/* Parses --pids and --tids. 0 or a negative errno. */
int select_parse(struct attar_run *run);

/*
 * For a profiler that is an event and follows tasks by events of the whole system: the run selects
 * tasks as with attar_run_select_tasks(), but its profiler only gets the events of these. 0 or a
 * negative errno.
 */
int select_tasks_for_emitter(struct attar_run *run);

/* Whether the run's profiler gets the events of the thread. */
bool select_has(const struct attar_run *run, const struct attar_thread *thread);

/* In a recording: whether the options for targets select the event; its CPU; its task. */
bool select_has_event(const struct attar_run *run, const struct attar_event *ev);
bool select_has_cpu_of(const struct attar_run *run, const struct attar_event *ev);
bool select_has_task_of(const struct attar_run *run, const struct attar_event *ev);

/* With by_emitter: sees the exec of the command. */
void select_see_record(struct attar_run *run, const struct attar_event *event);

/* Parses --cpus, which the target checks unless sources have all CPUs. 0 or a negative errno. */
int select_parse_cpus(struct attar_run *run);

/* The command's PID, 0: none is watched; with --pids and --tids, it only sets the duration. */
pid_t select_command_pid(const struct attar_run *run);

/* Makes the threads of the selected processes known to the stream, before their first event. */
void select_learn(struct attar_run *run);

/* Keeps events of this process if --pids or --tids names it or its threads. */
void select_keep_named(struct attar_run *run);

/*
 * Waits until the new process is ready to execute the command: what it does before is not part of
 * the command. For profilers of tasks that use events of the whole system from the start on.
 */
void select_await_command(const struct attar_run *run);

void select_done(struct run_select *select);

#endif
