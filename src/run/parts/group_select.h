/* SPDX-License-Identifier: MIT */
/*
 * The members of the control groups of --cgroups, for profilers that select tasks from the events
 * of the whole system (attar_run_select_tasks()): an event of a control group is not counted if it
 * concerns a member but happens in another task, such as a wakeup or the switch to a member.
 *
 * Members are the threads that are listed in the groups and those below them when the events are
 * enabled, what they create, and what is moved into a group. Each thread of the process table has a
 * mark that says whether it is one.
 */
#ifndef RUN_PARTS_GROUP_SELECT_H
#define RUN_PARTS_GROUP_SELECT_H

#include "attar/run.h"
#include "base/parse.h"
#include "perf/cgroup.h"

enum group_mark { MARK_UNKNOWN, MARK_IN, MARK_OUT };

struct group_select {
	bool is_on; /* a profiler selects tasks, and --cgroups is given */
	struct cgroup_hierarchy hierarchy;
	int number;           /* of the hierarchy */
	VEC(char *) paths;    /* of the groups, as in /proc/PID/cgroup */
	bool has_whole_paths; /* tracepoints show whole paths, too */
	bool misses_moves;    /* the kernel has no event for moved tasks */
	uint64_t learned;     /* ns: when the members were listed */
	parse_ints listed;    /* their tids */
};

/* Opens the groups of --cgroups; the target ends when all have been removed. */
int groups_open_target(struct attar_run *run);

/* Whether a path is the path of a group, or below it. */
bool groups_have_path(const struct group_select *g, const char *path, size_t length);

/* Whether a thread is a member, from /proc; otherwise, as of a thread that has exited. */
enum group_mark groups_read_mark(
	const struct group_select *g, pid_t tid, enum group_mark otherwise);

/* Whether a thread is a member now. */
bool groups_have(const struct attar_run *run, const struct attar_thread *thread);

void groups_done(struct group_select *groups);

#endif
