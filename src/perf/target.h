/* SPDX-License-Identifier: MIT */
/* A resolved target as the counters see it: instances, each a thread or control group on a CPU. */
#ifndef PERF_TARGET_H
#define PERF_TARGET_H

#include "attar/perf.h"
#include "base/map.h"
#include "base/parse.h"
#include "perf/command.h"
#include "perf/hotplug.h"

struct attar_target {
	unsigned process; /* that created it, see base/check.h */
	enum attar_target_kind kind;
	bool inherit;
	bool skip_refused;
	bool any_cpu;
	bool self;                /* the calling thread */
	bool by_exec;             /* it is the command, whose exec sets its counters going */
	const int *stop;          /* borrowed; not 0: opening ends; NULL: never */
	bool every_cpu;           /* that is online, one by one or as any */
	parse_ints cpus;          /* ascending; -1 alone: any */
	struct hotplug hotplug;   /* their coming and going, if it listens */
	bool listens;             /* it watches CPUs, not tasks */
	parse_ints pids;          /* processes asked for: their new threads are ours */
	parse_ints tids;          /* TASKS: threads to open on */
	struct map known;         /* tid -> 1, for each of tids */
	parse_ints cgroups;       /* CGROUPS: open fds of their directories */
	VEC(char *) cgroup_names; /* of each of them, below the root */
	VEC(bool) cgroup_removed; /* each of them */
	uint64_t cgroups_looked;  /* ns: when it was last checked whether they exist */
	struct command command;
	int epoll_fd; /* of pidfds */
	parse_ints pidfds;
	size_t running; /* watched processes that have not ended */
	/*
	 * Of the run that opens several: events in all, those that are open, and the files that it
	 * opens after them. 0: not known.
	 */
	size_t events, events_open, files_later;
};

/*
 * Adds the threads that the target's processes have by now and the target does not know, to the end
 * of tids. The number added, or a negative errno.
 */
int target_rescan(struct attar_target *target);

/* The number of instances that a counter has on the target. */
size_t target_instances(const struct attar_target *target);

/* True if opening counters is to be canceled: see attar_target_opts.stop. */
bool target_stopped(const struct attar_target *target);

/*
 * Records that the tid has an instance in this target, or is covered by inheritance. Returns 0 or a
 * negative errno.
 */
int target_know(struct attar_target *target, pid_t tid);

/* False also for a zombie, which its parent may reap much later. */
bool target_is_running(pid_t pid);

/* Resolves "a,b*" below the control group roots: opens their directories and notes their names. */
int cgroup_open_list(struct attar_target *target, const char *names);

/*
 * True once all control groups of the target have been removed. Checks at most every 100 ms, and
 * logs the name of each removed group once.
 */
bool cgroup_all_removed(struct attar_target *target);

#endif
