/* SPDX-License-Identifier: MIT */
/* A resolved target: the instances of its counters, each a thread or control group on a CPU. */
#ifndef PERF_TARGET_H
#define PERF_TARGET_H

#include "attar/perf.h"
#include "base/map.h"
#include "base/parse.h"
#include "perf/command.h"
#include "perf/hotplug.h"

struct attar_target {
	unsigned process; /* that created it, see base/check_arg.h */
	enum attar_target_kind kind;
	bool inherit;
	bool only_threads; /* inherited by them, not by processes */
	bool descendants;  /* of pids, too */
	bool skip_refused;
	bool skip_ended;
	bool any_cpu;
	bool self;                /* the calling thread */
	bool by_exec;             /* it is the command, whose exec enables the counters */
	const int *stop;          /* borrowed; nonzero cancels opening; NULL: never */
	bool every_cpu;           /* all online CPUs: listed in cpus, or any */
	parse_ints cpus;          /* ascending; -1 alone: any */
	struct hotplug hotplug;   /* changes of the online CPUs, if listens is set */
	bool listens;             /* counters are on CPUs, not tasks */
	parse_ints pids;          /* requested processes: their new threads are included */
	parse_ints tree;          /* pids and their descendants; empty: pids alone */
	parse_ints tids;          /* TASKS: threads to open on */
	struct map known;         /* tid -> its index in tids */
	size_t n_asked;           /* of tids: those that must permit it, see target_refuses() */
	struct map refused;       /* tid -> 1: other threads that did not permit it */
	parse_ints ended_pids, ended_tids; /* requested, but they had exited */
	/* CGROUPS: fds of their directories; SYSTEM: those whose removal ends the target */
	parse_ints cgroups;
	VEC(char *) cgroup_names; /* of each: its path below the root */
	VEC(bool) cgroup_removed; /* of each */
	uint64_t cgroups_looked;  /* ns: when it was last checked whether they exist */
	struct command command;
	int epoll_fd; /* of pidfds */
	parse_ints pidfds;
	size_t end_pidfds; /* the target ends with the processes of pidfds from this one on */
	size_t exits;      /* of these, those that have become readable */
	size_t running;    /* watched processes that have not exited */
	parse_ints end_pids, end_tids; /* see target_end_with() */
	struct map started;            /* id of a task whose end is waited for -> proc_started() */
	/*
	 * For messages on the limit of open files: number of events of the run, number of those
	 * already open, and files that the run opens after them. 0: unknown.
	 */
	size_t events, events_open, files_later;
	bool data_mappings; /* side-band records include mappings of data */
};

/*
 * Appends to tids the threads that the target's processes have created since the last scan. Returns
 * the number added, or a negative errno.
 */
int target_rescan(struct attar_target *target);

/*
 * The requested processes, with their descendants if the target watches these, as found by the
 * last scan, or with `again` by a new one. NULL if out of memory.
 */
const parse_ints *target_processes(struct attar_target *target, bool again);

/*
 * Adds the CPUs of a list, which must be online; list NULL: all that are. Returns 0 or a negative
 * errno.
 */
int target_parse_cpus(const char *list, parse_ints *cpus);

/* The number of instances that a counter has on the target. */
size_t target_instances(const struct attar_target *target);

/* True if opening counters is to be canceled: see attar_target_opts.stop. */
bool target_stopped(const struct attar_target *target);

/* Appends a thread to tids, unless it is there. Returns 0 or a negative errno. */
int target_add_tid(struct attar_target *target, pid_t tid);

/*
 * Whether the target goes on without a thread that does not permit to be watched: one of a child
 * of another user. It is noted in target->refused.
 */
bool target_refuses(struct attar_target *target, pid_t tid);

/*
 * The target ends when all these processes and threads have exited, although its events are those
 * of others, too. -ESRCH: one does not exist, or with skip_ended none does.
 */
int target_end_with(struct attar_target *target, const parse_ints *pids, const parse_ints *tids);

/* Resolves "a,b*" below the control group roots: opens their directories and notes their names. */
int cgroup_open_list(struct attar_target *target, const char *names);

/*
 * True once all control groups of the target have been removed. Checks at most every 100 ms, and
 * logs the name of each removed group once.
 */
bool cgroup_all_removed(struct attar_target *target);

#endif
