/* SPDX-License-Identifier: MIT */
/*
 * The control groups and users of tasks, for profilers that ask for them (run_want_names()). Each
 * thread has the number of its group: from /proc at its first event, from its creator, from
 * cgroup:cgroup_attach_task, and again from /proc at an exec.
 */
#ifndef RUN_PARTS_NAMES_H
#define RUN_PARTS_NAMES_H

#include "attar/builtin.h"
#include "perfdata/task_groups.h"

/* Whether the profiler has asked for names. */
bool names_are_on(const struct attar_run *run);

/* The same before the profiler is asked, by an option. */
void names_begin(struct attar_run *run);

/* As run_want_names(), also when the run has begun. */
int names_ask(struct attar_run *run);

/* Reads the groups of all processes, and their names. 0 or a negative errno. */
int names_read_all(struct attar_run *run);

/* The number of the group of a process, from /proc; 0: it has ended. */
uint32_t names_group_of_process(struct attar_run *run, pid_t pid);

/* As run_group_text(), without the IDs of containers that have the same name. */
const char *names_plain(const struct attar_run *run, enum run_name kind, uint32_t group);

/* The process and its group, for a recording; until the next call. */
void names_describe(
	struct attar_run *run, pid_t pid, uint32_t group, struct recording_group *ret_group);

/*
 * What a thread is in; "": nothing. It need not have had an event. Until the next call. Called per
 * event.
 */
const char *names_of_tid(const struct attar_run *run, enum run_name kind, pid_t tid);

/* Changes when a thread gets into another group, or a group another name. */
uint64_t names_state(const struct attar_run *run, const struct attar_thread *thread);

/* A task is moved into another group, as the event of the kernel says. */
void names_see_move(struct attar_run *run, pid_t tid, const char *path, size_t length);

#endif
