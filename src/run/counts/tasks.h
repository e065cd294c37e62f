/* SPDX-License-Identifier: MIT */
/*
 * The state of its tasks that a run which only counts must track: whether the kernel disabled
 * events because a process executed a set-user-ID program, and with per-thread counts which threads
 * are created and exit. It is read from the side-band records of a dummy event on the same tasks,
 * in separate rings. A run that samples gets this from its stream.
 */
#ifndef RUN_COUNTS_TASKS_H
#define RUN_COUNTS_TASKS_H

#include "attar/run.h"
#include "run/run.h"
#include "base/map.h"

struct task_watch {
	/* NULL, all three: the run samples, or watches no tasks, or it could not be opened */
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
	struct map creators; /* id of an instance of counter -> tid of its watched thread */
	uint64_t before;     /* such processes in earlier runs of the command */
	uint64_t created;    /* processes created by watched ones, in all runs */
};

SHARED_STATE(task_watch_of, struct task_watch, TASK_WATCH)

/*
 * To be called before the counters are opened, so that no new thread is missed. If rings cannot be
 * mapped (locked memory, descriptors), a run without per-thread counts continues without the
 * detection; with them it is an error.
 */
int task_watch_open(struct attar_run *run);

/* The number of files that task_watch_open() opens after the counts; 0 if it is not needed. */
size_t task_watch_files(const struct attar_run *run);

/* Processes pending records. 0 or -ENOMEM. */
int task_watch_drain(struct attar_run *run);

/*
 * Counts the processes that watched ones create, by the records of the task watch, or of the stream
 * of a run that samples tasks.
 */
void task_watch_see(struct attar_run *run, const struct attar_record *rec);

/* Stops the stream and processes the remaining records, at the end of the measurement. */
int task_watch_stop(struct attar_run *run);

/* The watched thread whose records, and the records of its new threads, have the id; -1: none. */
pid_t task_watch_creator(const struct attar_run *run, uint64_t id);

/* To be called before the run's streams are freed. */
void task_watch_close(struct attar_run *run);

/* The number of processes with disabled events, in this run of the command. */
uint64_t task_watch_disabled(const struct attar_run *run);

/*
 * Whether calls may be missing from the counts or samples of a uprobe. In a task that inherits one,
 * the kernel (seen on 6.18) misses calls while other processes start and end.
 */
bool task_watch_misses_calls(const struct attar_run *run, const struct attar_event_spec *spec);

/* Adds remarks to the report on the events that are missing. */
void task_watch_remark(const struct attar_run *run, struct attar_report *report);

#endif
