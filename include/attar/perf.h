/* SPDX-License-Identifier: MIT */
/*
 * attar/perf.h - perf_event_open(2): whom to watch, what to count or sample, where records arrive.
 *
 * A struct attar_target says whom: the whole system, CPUs, processes with all their threads and those
 * that they create later, threads, control groups, or a command to launch. A struct attar_counter is one
 * event opened on a whole target: as many file descriptors as the target has places. A struct attar_ring
 * is one buffer of records, shared by every counter of a CPU.
 *
 *	struct attar_target *target;
 *	struct attar_target_opts opts = {.size = sizeof(opts), .pids = "1234"};
 *	attar_target_new(&opts, &target);
 *	struct attar_counter *counter;
 *	attar_counter_open(target, &attr, "cycles", 0, &counter);
 *	...
 *	attar_counter_close(counter);
 *	attar_target_free(target);
 *
 * Life: a target outlives its counters, counters outlive the rings that they write to.
 */
#ifndef ATTAR_PERF_H
#define ATTAR_PERF_H

#include <linux/perf_event.h>

#include "attar/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- whom to watch ---- */

enum attar_target_kind {
	ATTAR_TARGET_SYSTEM,  /* CPUs, whoever runs there */
	ATTAR_TARGET_TASKS,   /* threads, and what they create later */
	ATTAR_TARGET_CGROUPS, /* control groups, on CPUs */
};

struct attar_target_opts {
	size_t size;      /* sizeof(struct attar_target_opts) */
	const char *cpus; /* "0-3,8"; NULL: every CPU that is online */
	const char *pids; /* "1,2": processes with all their threads; NULL: none */
	const char *tids; /* "1,2": single threads; NULL: none */
	const char *
		cgroups; /* names below the cgroup root, globs allowed, separated by commas; NULL: none */
	char *const *command; /* argv of a command to launch, NULL-terminated; NULL: none */
	bool system_wide;     /* watch the CPUs, not the command, while the command runs */
	bool no_inherit;      /* threads and processes created later are not followed */
	bool skip_refused;    /* leave out threads that may not be watched, as long as one may */
};

struct attar_target;

/*
 * Resolves whom to watch. A command is forked at once and waits, stopped before its exec, for
 * attar_target_start(). -ESRCH: a pid or tid does not exist; -ERANGE: there is no such CPU; -ENODEV: it
 * is offline; -ENOENT: no such cgroup.
 */
ATTAR_API int attar_target_new(
	const struct attar_target_opts *opts, struct attar_target **ret_target);

/* Ends a command that still runs (SIGTERM, then SIGKILL after a second) and frees. Takes NULL. */
ATTAR_API struct attar_target *attar_target_free(struct attar_target *target);

ATTAR_API enum attar_target_kind attar_target_kind_of(const struct attar_target *target);

/* Lets a launched command go on to its exec. 0; -ENOENT: there is no such command; -ENOEXEC: it cannot be executed. */
ATTAR_API int attar_target_start(struct attar_target *target);

/* The pid of the launched command, 0 without one. */
ATTAR_API pid_t attar_target_command_pid(const struct attar_target *target);

/*
 * True once nobody is left to watch: the command has exited, or every process given by pid. A target of
 * CPUs or control groups never ends by itself. poll() on attar_target_fd() tells when to ask.
 */
ATTAR_API bool attar_target_ended(struct attar_target *target);

/* An epoll fd that becomes readable when a watched process ends; -1 when none can. Owned by the target. */
ATTAR_API int attar_target_fd(const struct attar_target *target);

/* The exit status of the ended command as a shell gives it (128 + n for signal n); -1 without one. */
ATTAR_API int attar_target_command_status(const struct attar_target *target);

/* The CPUs of the target, ascending; borrowed from the target. */
ATTAR_API const int *attar_target_cpus(const struct attar_target *target, size_t *ret_n);

/* ---- what to count or sample ---- */

struct attar_counter;

enum attar_counter_flags {
	/*
	 * When the event as asked for is refused, open less instead and say so in one log line: user code
	 * only where the kernel may not be watched; without what this kernel does not know.
	 */
	ATTAR_COUNTER_DEGRADE = 1,
};

/*
 * Opens the event on every place of the target, all or nothing. attr is borrowed for the call; its size
 * is negotiated here. name is for messages and reports; copied. On failure the error text names the event,
 * the reason and the remedy.
 */
ATTAR_API int attar_counter_open(struct attar_target *target, const struct perf_event_attr *attr,
	const char *name, unsigned flags, struct attar_counter **ret_counter);
ATTAR_API struct attar_counter *attar_counter_close(struct attar_counter *counter);

ATTAR_API const char *attar_counter_name(const struct attar_counter *counter);

/* The attributes that it was opened with in the end; borrowed from the counter. */
ATTAR_API const struct perf_event_attr *attar_counter_attr(const struct attar_counter *counter);

/*
 * Lets only those events of a tracepoint through that match the kernel's filter language ("prev_pid == 7 &&
 * prio < 10"). -EINVAL: the kernel does not take the filter.
 */
ATTAR_API int attar_counter_filter(struct attar_counter *counter, const char *filter);

ATTAR_API int attar_counter_enable(struct attar_counter *counter);
ATTAR_API int attar_counter_disable(struct attar_counter *counter);

/* The records that the kernel could not store for this event so far; 0 where it does not tell (before 6.0). */
ATTAR_API uint64_t attar_counter_lost(const struct attar_counter *counter);

/* ---- where records arrive ---- */

struct attar_ring;

/*
 * Maps the rings that the counters write to: one for each CPU of the target, shared by all counters.
 * bytes is the wish for each ring, rounded up to a power of two of pages; where the limit on locked memory
 * refuses it, smaller ones are taken and a log line says so. ret_rings is an array of *ret_n rings, owned by
 * the caller: attar_rings_free(). Counters must have PERF_SAMPLE_IDENTIFIER when there are several.
 */
ATTAR_API int attar_rings_new(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, size_t bytes, struct attar_ring ***ret_rings, size_t *ret_n);
ATTAR_API void attar_rings_free(struct attar_ring **rings, size_t n);

/* The fd to poll for the ring's watermark; owned by its counter. */
ATTAR_API int attar_ring_fd(const struct attar_ring *ring);
ATTAR_API int attar_ring_cpu(const struct attar_ring *ring);
ATTAR_API size_t attar_ring_size(const struct attar_ring *ring); /* bytes */

/*
 * Reading: attar_ring_begin() looks how far the kernel has written; attar_ring_next() gives the records up to
 * there, one by one, oldest first, NULL after the last. attar_ring_release() gives the space of all records
 * before the newest one back to the kernel, attar_ring_end() that of the newest too. A record is borrowed
 * until its space is given back, one that wraps around the ring's edge only until the next attar_ring_next().
 */
ATTAR_API void attar_ring_begin(struct attar_ring *ring);
ATTAR_API const struct perf_event_header *attar_ring_next(struct attar_ring *ring);
ATTAR_API void attar_ring_release(struct attar_ring *ring);
ATTAR_API void attar_ring_end(struct attar_ring *ring);

#ifdef __cplusplus
}
#endif

#endif
