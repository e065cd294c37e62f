/* SPDX-License-Identifier: MIT */
/*
 * The hierarchy of control groups that perf events use: cgroup v1 with the controller perf_event,
 * otherwise v2. cgroups(7) describes /proc/PID/cgroup.
 */
#ifndef PERF_CGROUP_H
#define PERF_CGROUP_H

#include <sys/types.h>

#include "base/buf.h"

struct cgroup_hierarchy {
	struct buf where; /* its mount point */
	struct buf above; /* the path of what is mounted there, as in /proc/PID/cgroup: "/" */
	bool is_v1;
};

/* Frees it with cgroup_hierarchy_done(), also on failure. 0 or a negative errno. */
int cgroup_hierarchy_find(struct cgroup_hierarchy *ret_hierarchy);

void cgroup_hierarchy_done(struct cgroup_hierarchy *hierarchy);

/* The path of a group, as in /proc/PID/cgroup. name: relative to the mount point, or "/". */
void cgroup_path(const struct cgroup_hierarchy *hierarchy, const char *name, struct buf *path);

/* Whether a path names the group, or a group below it. */
bool cgroup_contains(const char *group, const char *path, size_t length);

/*
 * Appends the path of the group of a thread, and yields the number of the hierarchy; ret_number may
 * be NULL. Returns 0, or a negative errno without an error message, such as -ENOENT if the thread
 * has exited.
 */
int cgroup_of_thread(
	const struct cgroup_hierarchy *hierarchy, pid_t tid, struct buf *path, int *ret_number);

/* The same in the text of such a file. */
int cgroup_in_text(const struct cgroup_hierarchy *hierarchy, const char *text, struct buf *path,
	int *ret_number);

/*
 * Whether the paths of /proc are those from the root of the hierarchy, as in tracepoints. They are
 * not in a cgroup namespace.
 */
bool cgroup_paths_are_whole(void);

/*
 * Calls fn for each thread in a group and those below it. name as for cgroup_path(). Returns 0, a
 * negative result of fn, or a negative errno.
 */
typedef int cgroup_thread_fn(void *ctx, pid_t tid);
int cgroup_each_thread(const struct cgroup_hierarchy *hierarchy, const char *name,
	cgroup_thread_fn *fn, void *ctx);

#endif
