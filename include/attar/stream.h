/* SPDX-License-Identifier: MIT */
/*
 * attar/stream.h - events in order of time, each with the task that it belongs to.
 *
 * A stream delivers what its source holds as one sequence, ordered over all CPUs, and keeps the
 * table of processes up to date as it goes: when an event is delivered, the table is as it was at
 * that moment.
 *
 *	struct attar_stream *stream;
 *	attar_stream_live(target, counters, n, symbols, &opts, &stream);
 *	while ((r = attar_stream_next(stream, &event)) > 0)
 *		use(event);
 *
 * The source is the kernel's rings, joined by what programs write to memory shared with us. (A
 * recording and scripted text are to be two further sources of the same events.)
 *
 * Life: the target, its counters, the symbols and an shm_source outlive the stream.
 *
 * Errors: what is wrong with the arguments, the counters or the limits is found by
 * attar_stream_live(), attar_stream_add() and attar_stream_start(). Later functions fail only where
 * memory or a system call fails, -EINTR and -ENOTCONN of attar_stream_read() apart. Lost, malformed
 * and throttled records are no errors: attar_stream_get_stats() counts them. In a child of the
 * process that created the stream, all functions that return an int fail with -ECHILD.
 */
#ifndef ATTAR_STREAM_H
#define ATTAR_STREAM_H

#include "attar/event.h"
#include "attar/perf.h"
#include "attar/record.h"
#include "attar/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A process, living or not long dead: the stream keeps those that live and those of the last 1,024
 * threads that ended, so its memory does not grow with the number of tasks that come and go.
 */
struct attar_process {
	pid_t pid;
	pid_t parent;     /* 0: unknown */
	const char *comm; /* of its first thread; borrowed like that of a thread */
	struct attar_address_space *space;
	bool exited;
	bool scanned; /* its mappings were read from /proc */
	/* It runs on unseen: at the exec of a set-user-ID program the kernel ends its events */
	bool unwatched;
};

/* A thread. */
struct attar_thread {
	pid_t tid;
	/*
	 * Its name, at most 255 bytes; borrowed until the next call on the stream: whoever needs it
	 * for longer copies it. Threads of one name do not always share one copy.
	 */
	const char *comm;
	struct attar_process *process;
	bool exited;
	uint64_t serial; /* counts threads ever seen: tids are used again, this is not */
	uint64_t
		comm_hash; /* of comm: the same for equal names, so that tables need not hash it again */
};

/* attar_event.counter of records that no counter of the caller wrote. */
#define ATTAR_NO_COUNTER UINT32_MAX

/* One event; everything it points to is borrowed until the next call on its stream. */
struct attar_event {
	const struct attar_record *record; /* PERF_RECORD_SAMPLE, or another kind */
	uint64_t time; /* ns, CLOCK_MONOTONIC (the kernel's own clock before 4.1) */
	/*
	 * Which of the stream's counters wrote the record: an index; ATTAR_NO_COUNTER for the
	 * stream's own side-band event. A LOST record is written together with the next record of
	 * the ring: it names the counter of that record, and any event that writes to the ring may
	 * have lost records.
	 */
	uint32_t counter;
	uint32_t cpu; /* -1: not known */
	/*
	 * Of a SAMPLE: the thread that was running, never NULL. Of a FORK the new thread, of a
	 * COMM the one that was renamed, with its new name; of an EXIT the one that ended, NULL if
	 * it was not known. NULL for other records.
	 */
	struct attar_thread *thread;
	/* For PERF_RECORD_LOST: the window in which the records were lost, on this CPU. */
	uint64_t lost_from, lost_to; /* ns */
};

/* ---- events of programs that need no kernel for it: shared memory, see perfume/perfume.h ---- */

/*
 * An event that a program has registered. Borrowed for the call, its format for the shm_source's
 * life.
 */
struct attar_user_event {
	const char *name;
	const struct attar_format
		*format;  /* of the raw bytes of its samples, as of a tracepoint's */
	const char *comm; /* of the program */
	pid_t pid;
};

/* Gives an event the number (attar_event.counter) of its samples; -1: they are not wanted. */
typedef int attar_new_event_fn(void *ctx, const struct attar_user_event *event);

struct attar_shm_source_opts {
	size_t size;          /* sizeof(struct attar_shm_source_opts) */
	const char *patterns; /* names of events, globs, separated by commas; at most 511 bytes */
	/*
	 * Only these processes, and what they fork; borrowed for the call. Without any, nor tids:
	 * all.
	 */
	const pid_t *pids;
	size_t n_pids;
	const pid_t *tids; /* and these threads alone of theirs; borrowed for the call */
	size_t n_tids;
	bool only_started; /* only what is started with attar_shm_source_variable() in its environment */
	attar_new_event_fn *on_new_event; /* called once for each name with its fields */
	void *ctx;
};

struct attar_shm_source;

/*
 * Listens to the events of programs. In programs that run already and those that start later they
 * are on from here on; attar_shm_source_free() switches them off again. -EINVAL: opts lacks
 * patterns or on_new_event, or the patterns are too long.
 */
ATTAR_API int attar_shm_source_new(
	const struct attar_shm_source_opts *opts, struct attar_shm_source **ret_shm_source);

/* NULL, for the caller's variable. Takes NULL. */
ATTAR_API struct attar_shm_source *attar_shm_source_free(struct attar_shm_source *shm_source);

/*
 * "NAME=VALUE" for the environment of a program to be launched, whose events are then on from the
 * first. Borrowed until the shm_source is freed.
 */
ATTAR_API const char *attar_shm_source_variable(const struct attar_shm_source *shm_source);

struct attar_stream_opts {
	size_t size;       /* sizeof(struct attar_stream_opts) */
	size_t ring_bytes; /* of each CPU; 0: 512 KiB */
	/*
	 * Deliver samples that were taken while a thread of this very process was running. They may
	 * be about others: without keep_own the sched:sched_switch from this process to another
	 * thread is left out, and so are the wakeups that it makes; attar_stream_stats.own counts
	 * them.
	 */
	bool keep_own;
	/*
	 * Full rings go on: only attar_stream_snapshot() gives their events. Every counter needs
	 * attr.write_backward, which attar_stream_attr() does not set, where the kernel has it
	 * (4.7).
	 */
	bool overwrite;
	/*
	 * Write side-band records: names and mappings of processes, forks and exits. The stream
	 * opens an event for them (a dummy) on the target, in the rings of its counters, so that
	 * their losses are counted apart from those of samples. It costs one file descriptor for
	 * each location of the target. Without opts.overwrite, counters with attr.write_backward
	 * keep their rings to themselves: side-band records then get rings of their own, which
	 * attar_stream_next() reads also between snapshots.
	 */
	bool track;
	/*
	 * Events of programs, to be delivered in order with those of the rings as samples with raw
	 * bytes; of their CPU nothing is known (-1). Borrowed for the stream's life. NULL: none.
	 */
	struct attar_shm_source *shm_source;
};

/* What went by, for a report's notes. */
struct attar_stream_stats {
	uint64_t samples; /* delivered */
	uint64_t own;     /* samples taken in threads of this process, not delivered */
	uint64_t early;   /* samples from before every location was open, not delivered */
	/*
	 * Samples that could not be stored, or were overwritten unread. Exact since Linux 6.0, to
	 * which the other records of the counters belong too, such as THROTTLE and, with
	 * attar_stream_attr(attr, true), side-band records. Before, LOST records tell, as far as
	 * they were written themselves.
	 */
	uint64_t lost;
	/*
	 * Side-band records of opts.track that could not be stored: names may be missing. Before
	 * Linux 6.0 losses count here when the record that was written next is a side-band record.
	 */
	uint64_t lost_side_band;
	/*
	 * Events that the kernel counted and neither delivered nor lost. Known once the stream is
	 * stopped and read to its end, for events that the kernel counts one by one: tracepoints,
	 * probes, breakpoints, faults and switches; not for clocks, hardware counters, what is
	 * sampled by frequency or was throttled, what a BPF program filters, and rings that are
	 * overwritten. Before Linux 6.0 they cannot be told from lost ones and count as such.
	 */
	uint64_t missing;
	uint64_t throttled;  /* times that the kernel stopped an event for its rate */
	uint64_t disordered; /* records that came after a later one had been delivered */
	uint64_t malformed; /* records that could not be parsed, or are of no event of the stream */
	uint64_t wakeups;   /* times that waiting ended for data */
	uint64_t stitched;  /* samples whose user stack came later and was joined */
	uint64_t unstitched; /* samples delivered without it: it never came, or too late */
	uint64_t forgotten;  /* bytes of records that were overwritten before a snapshot */
	uint64_t unwatched;  /* processes that are, see struct attar_process */
};

struct attar_stream;

/*
 * A stream over counters that are open on target: maps their rings. The counters' attributes are
 * those of attar_stream_attr(). All pointers are borrowed for the stream's life; counters is
 * copied. -EINVAL: a counter was opened without attar_stream_attr(), or the counters lay out the
 * time of their records differently, or opts.overwrite is set and a counter lacks
 * attr.write_backward; otherwise as attar_rings_new().
 */
ATTAR_API int attar_stream_live(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, struct attar_symbols *symbols, const struct attar_stream_opts *opts,
	struct attar_stream **ret_stream);

/*
 * Sets in attr what a stream needs: identifier, time, tid, cpu, clock, and no wakeup per event.
 * With track this very counter also writes the side-band records, and one that is lost counts as a
 * lost sample; opts.track of attar_stream_live() tells them apart.
 */
ATTAR_API void attar_stream_attr(struct perf_event_attr *attr, bool track);

/*
 * Asks for user call chains that are taken when the thread goes back to its user code (since 6.19),
 * not in the interrupt: pages that are not in memory can be read then, and one walk serves all
 * samples of a system call. The stream joins the halves: such a sample comes when its second half
 * does, with its own, earlier time; without it once 4096 others wait, and at the end. False, and
 * nothing is changed: the kernel cannot, or attr asks for no user call chains.
 */
ATTAR_API bool attar_stream_defer(struct perf_event_attr *attr);

/*
 * Enables the counters; events count from here on. Then reads what runs already from /proc. For a
 * target that is a command, call it before attar_target_start(): a counter that was opened with
 * attr.enable_on_exec is then enabled by the exec of the command, any other here, so that it counts
 * what the child does before its exec too. -EINVAL: the stream was started or stopped already;
 * otherwise as attar_counter_enable(), or -ENOMEM.
 */
ATTAR_API int attar_stream_start(struct attar_stream *stream);

/*
 * Joins a counter that was opened on the same target after the stream: enabled from here on, its
 * samples get that number (attar_event.counter). Borrowed for the stream's life. Not while a round
 * is being delivered: after a 0 of attar_stream_next() (-EBUSY). -EINVAL: the counter was opened
 * without attar_stream_attr() or lays out the time differently, or the stream was stopped.
 */
ATTAR_API int attar_stream_add(
	struct attar_stream *stream, struct attar_counter *counter, uint32_t number);

/* Disables the counters; what the rings hold is still to be delivered. 0 or a negative errno. */
ATTAR_API int attar_stream_stop(struct attar_stream *stream);

/*
 * The next event in order, 1; 0 when there is none for now (after attar_stream_stop(): ever).
 * Returns to the kernel what was read. Never waits. -ENOMEM: events may be missing from here on.
 */
ATTAR_API int attar_stream_next(struct attar_stream *stream, struct attar_event *ret_event);

/*
 * Waits until a ring has reached its watermark or the fd of the caller (-1: none) is readable, at
 * most timeout_ms (-1: for ever). 1: rings should be read; 2: the fd is readable; 0: neither.
 */
ATTAR_API int attar_stream_wait(struct attar_stream *stream, int fd, int timeout_ms);

/*
 * The next event, waiting for it at most timeout_ms (-1: for ever, 0: not at all). 1; 0 when the
 * time is up, or the stream is stopped and empty; -ENOTCONN: nobody is left to make events and the
 * rings are empty; -EINTR: a signal came. Events are looked for at each watermark, and each 100 ms
 * for those that did not reach it.
 */
ATTAR_API int attar_stream_read(
	struct attar_stream *stream, int timeout_ms, struct attar_event *ret_event);

/*
 * One fd for all rings, for poll(2), epoll(7) and the like: readable when a ring has reached its
 * watermark. Owned by the stream. Call attar_stream_next() until it gives 0 before each poll:
 * readiness is told once.
 */
ATTAR_API int attar_stream_fd(struct attar_stream *stream);

/*
 * Stops the rings that are overwritten (those of counters with attr.write_backward, or all by
 * opts.overwrite) and lets attar_stream_next() deliver what they hold and no snapshot had, in order
 * of time over all CPUs together with what came into other rings; after its 0 they go on. How many
 * records they hold, at least 0; -EBUSY: the snapshot before has not been read to its end; -ESTALE:
 * a ring without attr.write_backward was written around.
 */
ATTAR_API int attar_stream_snapshot(struct attar_stream *stream);

/* Its rings; number i, NULL from the last on; borrowed from the stream. */
ATTAR_API size_t attar_stream_rings(const struct attar_stream *stream);
ATTAR_API struct attar_ring *attar_stream_ring(const struct attar_stream *stream, size_t i);

/* What went by so far. Asks the kernel for its count of lost records: not for every event. */
ATTAR_API void attar_stream_get_stats(
	struct attar_stream *stream, struct attar_stream_stats *ret_stats);

/*
 * On which CPUs the `missing` events of attar_stream_get_stats() were, after its call; how many
 * CPUs. *ret_counts is borrowed until the stream is freed.
 */
ATTAR_API size_t attar_stream_get_missing(
	struct attar_stream *stream, const struct attar_cpu_count **ret_counts);

/*
 * The location of a code address of this thread's user space. Part of the hot path: reads no names.
 */
ATTAR_API attar_location attar_thread_locate(struct attar_thread *thread, uint64_t ip);

/*
 * The stack of a sample as locations, leaf first: the kernel's part of its call chain, then the
 * user's; without a chain the sampled address alone. At most max of them; the number. A caller
 * outside of all code is no caller (the frame pointer was none): the stack ends before it.
 */
ATTAR_API size_t attar_event_stack(
	const struct attar_event *event, attar_location *locations, size_t max);

/*
 * Unmaps the rings and forgets all processes; the counters stay open. NULL, for the caller's
 * variable. Takes NULL.
 */
ATTAR_API struct attar_stream *attar_stream_free(struct attar_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
