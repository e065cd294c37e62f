/* SPDX-License-Identifier: MIT */
/* What the scheduler counts for each thread all the time, from /proc/TID/schedstat. */
#ifndef PROFILERS_SCHED_THREAD_SCHED_H
#define PROFILERS_SCHED_THREAD_SCHED_H

#include "attar/builtin.h"

struct thread_sched {
	pid_t tid;
	uint64_t time;       /* ns: when it was read */
	uint64_t ran, delay; /* ns: on a CPU, in the run queue */
	uint64_t turns;      /* on a CPU */
};

/* A file for thread_sched_read(), to be closed; -1: the thread has ended. */
int thread_sched_open(pid_t pid, pid_t tid);

/* False: the thread has ended, or the kernel counts nothing. */
bool thread_sched_read(int fd, struct thread_sched *sched);

/* One reading, of the selected threads, sorted by tid. */
struct thread_scheds {
	uint64_t time; /* ns; 0: none */
	struct thread_sched *at;
	size_t n;
};

/* Threads beyond a limit are left out. Empty if the kernel does not count. 0 or -ENOMEM. */
int thread_scheds_read(struct attar_run *run, struct thread_scheds *ret_scheds);

/* Likewise, from a recording of `attar record`: when it began, or when it ended. */
int thread_scheds_recorded(struct attar_run *run, bool at_end, struct thread_scheds *ret_scheds);

void thread_scheds_done(struct thread_scheds *scheds);

/* NULL: the reading does not have the thread. */
const struct thread_sched *thread_scheds_find(const struct thread_scheds *scheds, pid_t tid);

/* From one reading of a thread to the next. False: another thread has its number. */
bool thread_scheds_between(const struct thread_sched *first, const struct thread_sched *last,
	struct thread_sched *ret_change);

/* Between two readings. False: the thread is not in both. */
bool thread_scheds_change(const struct thread_scheds *from, const struct thread_scheds *to,
	pid_t tid, struct thread_sched *ret_change);

#endif
