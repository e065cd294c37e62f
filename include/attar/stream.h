/* SPDX-License-Identifier: MIT */
/*
 * attar/stream.h - events in time order, each with its thread.
 *
 * A stream merges the events of all sources and CPUs into one sequence in time order and keeps a
 * process table up to date: when an event is delivered, the table is in the state of that moment.
 *
 *	struct attar_stream *stream;
 *	attar_stream_live(target, counters, n, symbols, &opts, &stream);
 *	while ((r = attar_stream_next(stream, &event)) > 0)
 *		use(event);
 *
 * Sources are the kernel's rings, and shared memory that programs write to; in a run (attar/run.h)
 * also recordings (perf.data).
 *
 * Lifetime: the target, its counters, the symbols and an shm_source must outlive the stream.
 *
 * Errors: attar_stream_live(), attar_stream_add() and attar_stream_start() report invalid
 * arguments, unsuitable counters and exceeded limits. Later functions fail only if memory or a
 * system call fails, except for -EINTR and -ENOTCONN of attar_stream_read(). Lost, malformed and
 * throttled records are not errors: attar_stream_get_stats() counts them. In a child of the process
 * that created the stream, all functions that return an int fail with -ECHILD.
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
 * A running or recently exited process. The stream keeps all running ones and the processes of the
 * last 1,024 exited threads, so its memory does not grow with the number of tasks created.
 */
struct attar_process {
	pid_t pid;
	pid_t parent;     /* 0: unknown */
	const char *comm; /* of its first thread; borrowed as attar_thread.comm */
	struct attar_address_space *space;
	bool exited;
	bool scanned; /* its mappings were read from /proc, or copied from its parent */
	/* still runs, but the kernel ended its events at the exec of a set-user-ID program */
	bool unwatched;
	/*
	 * When it began, ns on the clock of the events: from the record of its fork, or from /proc,
	 * which is exact to 10 ms. 0: unknown.
	 */
	uint64_t started;
};

/* A thread. */
struct attar_thread {
	pid_t tid;
	/*
	 * At most 255 bytes. Borrowed until the next call on the stream: copy it to keep it.
	 * Threads with equal names do not always share one copy.
	 */
	const char *comm;
	struct attar_process *process;
	bool exited;
	uint64_t
		serial; /* number of the thread in order of appearance; unlike a tid never reused */
	uint64_t comm_hash; /* hash of comm, so that tables need not compute it */
	uint64_t started;   /* as attar_process.started */
};

/* attar_event.counter of records that were not written by a counter of the caller. */
#define ATTAR_NO_COUNTER UINT32_MAX

/* One event. Everything that it points to is borrowed until the next call on its stream. */
struct attar_event {
	const struct attar_record *record; /* PERF_RECORD_SAMPLE, or another kind */
	uint64_t time; /* ns, CLOCK_MONOTONIC (the kernel's own clock before 4.1) */
	/*
	 * Index of the stream's counter that wrote the record; ATTAR_NO_COUNTER for the stream's
	 * own side-band event. The kernel writes a LOST record together with the ring's next
	 * record: it has the counter of that record, and any event that writes to the ring may have
	 * lost records.
	 */
	uint32_t counter;
	uint32_t cpu; /* -1: unknown */
	/*
	 * SAMPLE: the thread that was running, never NULL. FORK: the new thread. COMM: the renamed
	 * thread, with its new name. EXIT: the thread that exited, NULL if unknown. Other records:
	 * NULL.
	 */
	struct attar_thread *thread;
	/*
	 * PERF_RECORD_LOST: the period in which records were lost on this CPU. record->lost.lost is
	 * the number of samples; before Linux 6.0, side-band records may be included.
	 */
	uint64_t lost_from, lost_to; /* ns */
	/* In a run: the fields of struct attar_input, for attar_arg_u64() and similar functions. */
	const struct attar_field *const *fields;
	/* In a run: of struct attar_timer, the counts since the previous sample of the CPU. */
	const uint64_t *counts;
};

/*
 * Samples after an event that are like it: of the same counter and thread, with as much raw data.
 * Their other fields may differ.
 */
struct attar_repeats {
	uint64_t n;      /* 1 or more */
	const void *raw; /* the raw data of the first one */
	size_t stride;   /* bytes from the raw data of one event to the raw data of the next */
};

/*
 * Samples after an event in which another event and its own take turns, as the entry and the exit
 * of system calls: one of the other event, one of its own, and so on. All are of the same thread
 * and CPU; samples of an event have as much raw data as the one before.
 */
struct attar_turns {
	uint64_t n;         /* of each event, 1 or more */
	const void *raw[2]; /* the raw data of the first ones: of the other event, of its own */
	size_t raw_size[2]; /* bytes */
	size_t stride;      /* bytes between the raw data of two samples of an event */
	ptrdiff_t time_at;  /* bytes from the raw data of a sample to its time, see below */
	/* In a run: the fields of the other event, as attar_event.fields. */
	const struct attar_field *const *fields;
};

/* The time in ns of the sample whose raw data this is. */
static inline uint64_t attar_turns_get_time(const struct attar_turns *turns, const void *raw)
{
	uint64_t time;

	memcpy(&time, ATTAR_CAST(const char *, raw) + turns->time_at, sizeof(time));
	return time;
}

/* ---- events emitted by programs through shared memory, see perfume/perfume.h ---- */

/*
 * An event that a program has registered. Borrowed for the call; its format until the shm_source is
 * freed.
 */
struct attar_user_event {
	const char *name;
	/* of the raw bytes of its samples, as for a tracepoint */
	const struct attar_format *format;
	const char *comm; /* of the program */
	pid_t pid;
};

/*
 * Called for a new event. Returns the number for its samples (attar_event.counter), or -1 to ignore
 * them.
 */
typedef int attar_new_event_fn(void *ctx, const struct attar_user_event *event);

struct attar_shm_source_opts {
	size_t size;          /* sizeof(struct attar_shm_source_opts) */
	const char *patterns; /* event names or globs, comma-separated; at most 511 bytes */
	/*
	 * Only these processes and their future children; borrowed for the call. If neither pids
	 * nor tids are given: all processes.
	 */
	const pid_t *pids;
	size_t n_pids;
	const pid_t *tids; /* only these threads; borrowed for the call */
	size_t n_tids;
	/* only programs started with attar_shm_source_variable() in their environment */
	bool only_started;
	attar_new_event_fn *on_new_event; /* called once per combination of name and fields */
	void *ctx;
};

struct attar_shm_source;

/*
 * Starts listening to events of programs: enables them in running programs and in those started
 * later, until attar_shm_source_free(). -EINVAL: opts lacks patterns or on_new_event, or the
 * patterns are too long.
 */
ATTAR_API int attar_shm_source_new(
	const struct attar_shm_source_opts *opts, struct attar_shm_source **ret_shm_source);

/* Disables the events and frees the source. Returns NULL. shm_source may be NULL. */
ATTAR_API struct attar_shm_source *attar_shm_source_free(struct attar_shm_source *shm_source);

/*
 * "NAME=VALUE" for the environment of a program to be launched: its events are then enabled from
 * its start. Borrowed until the shm_source is freed.
 */
ATTAR_API const char *attar_shm_source_variable(const struct attar_shm_source *shm_source);

struct attar_stream_opts {
	size_t size;       /* sizeof(struct attar_stream_opts) */
	size_t ring_bytes; /* size of each CPU's ring; 0: 512 KiB */
	/*
	 * Deliver samples taken while a thread of the calling process was running. Such samples can
	 * concern other tasks: without keep_own, a sched:sched_switch from this process to another
	 * thread and wakeups by this process are not delivered; attar_stream_stats.own counts them.
	 */
	bool keep_own;
	/*
	 * Rings overwrite their oldest records when full; their events are delivered only by
	 * attar_stream_snapshot(). Every counter needs attr.write_backward (Linux 4.7), which
	 * attar_stream_attr() does not set.
	 */
	bool overwrite;
	/*
	 * Write side-band records: names and mappings of processes, forks and exits. The stream
	 * opens a dummy event for them on the target, which writes to the rings of its counters, so
	 * that their losses are counted separately from the losses of samples. It needs one file
	 * descriptor per instance of the target. Without opts.overwrite, counters with
	 * attr.write_backward have separate rings: side-band records then get their own rings,
	 * which attar_stream_next() also reads between snapshots.
	 */
	bool track;
	/*
	 * Source of events emitted by programs, delivered in order with the events of the rings, as
	 * samples with raw bytes; their CPU is unknown (-1). Borrowed until the stream is freed.
	 * NULL: none.
	 */
	struct attar_shm_source *shm_source;
	/*
	 * Read the mappings of a process that already runs when the first address in it is located
	 * (attar_thread_locate(), attar_event_stack()), not when the stream starts: the mappings of
	 * all processes take some ten milliseconds. For events without user stacks; the process may
	 * have exited by then.
	 */
	bool lazy_maps;
};

/* Statistics of a stream, for a report's notes. */
struct attar_stream_stats {
	uint64_t samples; /* delivered */
	uint64_t own;     /* samples taken in threads of this process, not delivered */
	uint64_t early;   /* samples from before all instances were open, not delivered */
	/*
	 * Samples that could not be stored, or were overwritten unread. Exact since Linux 6.0;
	 * includes other records of the counters, such as THROTTLE and, with
	 * attar_stream_attr(attr, true), side-band records. Before 6.0 from LOST records, which the
	 * kernel cannot always write.
	 */
	uint64_t lost;
	/*
	 * Side-band records of opts.track that could not be stored: names may be missing. Before
	 * Linux 6.0 a loss is counted here if the next record written is a side-band record.
	 */
	uint64_t lost_side_band;
	/*
	 * Events that the kernel counted but neither delivered nor lost. Known after the stream was
	 * stopped and fully read, for events that the kernel counts one by one: tracepoints,
	 * probes, breakpoints, faults and switches. Not for clocks, hardware counters, events
	 * sampled by frequency, throttled or filtered by BPF, and overwritable rings. Before Linux
	 * 6.0 they are counted as lost.
	 */
	uint64_t missing;
	uint64_t throttled; /* times that the kernel throttled an event */
	/*
	 * Records that arrived after a newer one had been delivered, and are delivered with the
	 * time of that one: in recordings those that are late by more rounds than are waited for.
	 */
	uint64_t disordered;
	/*
	 * Losses that were delivered after newer events: what another CPU delivered between
	 * attar_event.lost_from and lost_to was delivered before. Usual on a live system, where a
	 * loss is known when the ring has space again.
	 */
	uint64_t late_losses;
	uint64_t malformed;  /* records that are invalid, or of no event of the stream */
	uint64_t wakeups;    /* times that a wait ended because of data */
	uint64_t stitched;   /* samples joined with a deferred user stack */
	uint64_t unstitched; /* samples whose deferred user stack never arrived, or too late */
	uint64_t forgotten;  /* bytes of records overwritten before a snapshot */
	uint64_t unwatched;  /* number of such processes, see struct attar_process */
};

struct attar_stream;

/* ---- events by name ---- */

enum attar_stream_flags {
	ATTAR_STREAM_STACKS = 1, /* all samples have call chains, not only of events/stack/ */
	/* Deliver what happens in the calling process, see attar_stream_opts.keep_own. */
	ATTAR_STREAM_KEEP_OWN = 2,
	/* Fail where an event can only be opened in a reduced form, see ATTAR_COUNTER_DEGRADE. */
	ATTAR_STREAM_EXACT = 4,
};

struct attar_stream_events_opts {
	size_t size;       /* sizeof(struct attar_stream_events_opts) */
	size_t ring_bytes; /* size of each CPU's ring; 0: 512 KiB */
	uint64_t freq;     /* Hz, of events that are not delivered one by one; 0: 4000 */
	/* Borrowed until the stream is freed. NULL: the stream creates its own. */
	struct attar_catalog *catalog;
	struct attar_symbols *symbols;
	/* As attar_catalog_opts.stop, if the stream creates the catalog. */
	const int *stop;
};

/*
 * Opens events by name and starts a stream of them: the short way from "sched:*,user_events:tick"
 * to attar_stream_read().
 *
 *	struct attar_target_opts opts = {.size = sizeof(opts), .pids = "1234"};
 *	attar_target_new(&opts, &target);
 *	attar_stream_events(target, "sched:sched_switch/prev_state==2/stack/", 0, NULL, &stream);
 *	while ((r = attar_stream_read(stream, 1000, &event)) >= 0)
 *		if (r > 0 && event.record->type == PERF_RECORD_SAMPLE)
 *			use(attar_stream_spec(stream, event.counter)->name, &event);
 *
 * `events` is as for attar_event_list_parse() and docs/events.md. Tracepoints, probes, breakpoints,
 * events of programs and software events other than clocks are delivered each time they occur;
 * hardware events and clocks are sampled opts.freq times per second. An event may set its own
 * period or frequency; the samples of those that would be delivered each time have period 0 then.
 * The attributes stack, max-stack, alias and cpus take effect; the others are in
 * attar_event_spec.options. A filter runs in the kernel if its language expresses it exactly, and
 * otherwise in attar with the same result. Side-band records are delivered too, as with
 * attar_stream_opts.track. Of events that match a pattern, those that the kernel refuses are left
 * out, with a note in the log. tracefs is mounted if it is not.
 *
 * The same software event in several modes, as in "page-faults,page-faults:u", is opened once: the
 * kernel gives samples of one the id of the other. A sample is delivered once for each event that
 * has its mode. If their periods or attributes differ, this is impossible, and a warning is logged.
 *
 * Events of programs (user_events:NAME) are received by each transport that a program offers, also
 * from programs that start later; each is a new event with its own number.
 *
 * flags are of enum attar_stream_flags. opts may be NULL. The target is borrowed; if it launches a
 * command, call attar_target_start() afterwards. The stream owns the counters: they are closed by
 * attar_stream_free(). Errors are the errors of attar_event_list_parse(), attar_counter_open(),
 * attar_counter_filter() and attar_stream_live(). A profiler cannot be an event of a stream:
 * -EOPNOTSUPP if opts.catalog has it (attar_catalog_opts.profilers), otherwise its name is unknown.
 */
ATTAR_API int attar_stream_events(struct attar_target *target, const char *events, unsigned flags,
	const struct attar_stream_events_opts *opts, struct attar_stream **ret_stream);

/*
 * What an event of attar_stream_events() is: its name, format and attributes. number is
 * attar_event.counter, or counts up from 0 to list all; NULL after the last, for records that are
 * not of an event (ATTAR_NO_COUNTER), and for other streams. Borrowed until the stream is freed.
 */
ATTAR_API const struct attar_event_spec *attar_stream_spec(
	const struct attar_stream *stream, uint32_t number);

/* The symbols that the stream's threads are located in. Borrowed from the stream. */
ATTAR_API struct attar_symbols *attar_stream_symbols(const struct attar_stream *stream);

/* ---- a stream of counters ---- */

/*
 * Creates a stream of the counters, which are open on target, and maps their rings. Prepare the
 * counters' attributes with attar_stream_attr(). All pointers are borrowed until the stream is
 * freed; the array counters is copied. -EINVAL: a counter was opened without attar_stream_attr(),
 * the counters' records have their time at different offsets, or opts.overwrite is set and a
 * counter lacks attr.write_backward; otherwise as attar_rings_new().
 */
ATTAR_API int attar_stream_live(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, struct attar_symbols *symbols, const struct attar_stream_opts *opts,
	struct attar_stream **ret_stream);

/*
 * Sets what a stream needs in attr: identifier, time, tid, cpu, clock, and no wakeup per event.
 * With track this counter itself writes the side-band records, and a lost one counts as a lost
 * sample; opts.track of attar_stream_live() counts them separately.
 */
ATTAR_API void attar_stream_attr(struct perf_event_attr *attr, bool track);

/*
 * Requests deferred user call chains (since Linux 6.19): the kernel takes them when the thread
 * returns to user mode, not in the interrupt. Pages that are not in memory can then be read, and
 * one unwind serves all samples of a system call. The stream joins both halves: such a sample is
 * delivered when its second half arrives, with its own, earlier time, or without it when 4096
 * others wait, and at the end. Returns false and changes nothing if the kernel does not support it,
 * or attr requests no user call chains.
 */
ATTAR_API bool attar_stream_defer(struct perf_event_attr *attr);

/*
 * Enables the counters, then reads the running processes from /proc. If the target is a command,
 * call this before attar_target_start(): counters opened with attr.enable_on_exec are enabled by
 * the exec of the command, all others by this call, so that they also count what the child does
 * before its exec. Counters of processes are enabled as by attar_counter_resume(). -EINVAL: the
 * stream was already started or stopped; otherwise as attar_counter_enable(), or -ENOMEM.
 */
ATTAR_API int attar_stream_start(struct attar_stream *stream);

/*
 * Adds a counter that was opened on the same target after the stream was created, and enables it.
 * Its samples get this number (attar_event.counter). Borrowed until the stream is freed. -EBUSY:
 * called in the middle of a round; call it after attar_stream_next() has returned 0. -EINVAL: the
 * counter was opened without attar_stream_attr(), its records have the time at a different offset,
 * or the stream was stopped.
 */
ATTAR_API int attar_stream_add(
	struct attar_stream *stream, struct attar_counter *counter, uint32_t number);

/* Disables the counters; events in the rings can still be read. 0 or a negative errno. */
ATTAR_API int attar_stream_stop(struct attar_stream *stream);

/*
 * Returns 1 and the next event in order; 0 if there is none now (after attar_stream_stop(): never
 * again). Releases the ring space of events already read. Never waits. -ENOMEM: events may be
 * missing from here on.
 */
ATTAR_API int attar_stream_next(struct attar_stream *stream, struct attar_event *ret_event);

/*
 * Waits until a ring has reached its watermark or the caller's fd (-1: none) is readable, at most
 * timeout_ms (-1: no limit). Returns 1 if rings should be read, 2 if the fd is readable, 0 on
 * timeout. All rings are read together, so one may be nearly empty when the kernel reports it: if
 * less than half of its watermark is unread, it does not end a wait that has a limit.
 */
ATTAR_API int attar_stream_wait(struct attar_stream *stream, int fd, int timeout_ms);

/*
 * Like attar_stream_next(), but waits for an event at most timeout_ms (-1: no limit, 0: does not
 * wait). Returns 1; 0 on timeout, or if the stream is stopped and empty; -ENOTCONN if all monitored
 * tasks have exited and the rings are empty; -EINTR on a signal. Rings are read when one reaches
 * its watermark, and at least every 100 ms.
 */
ATTAR_API int attar_stream_read(
	struct attar_stream *stream, int timeout_ms, struct attar_event *ret_event);

/*
 * One fd for all rings, for poll(2) or epoll(7): readable when a ring has reached its
 * watermark. Owned by the stream. Call attar_stream_next() until it returns 0 before each poll:
 * readiness is reported once (edge-triggered).
 */
ATTAR_API int attar_stream_fd(struct attar_stream *stream);

/*
 * Pauses the overwritable rings (the rings of counters with attr.write_backward, or all with
 * opts.overwrite) and lets attar_stream_next() deliver the records that no earlier snapshot
 * contained, in time order over all CPUs together with the records of other rings; when it returns
 * 0, the rings resume. Returns the number of records in them, at least 0; -EBUSY: the previous
 * snapshot has not been read to its end; -ESTALE: a ring without attr.write_backward has wrapped.
 */
ATTAR_API int attar_stream_snapshot(struct attar_stream *stream);

/* The statistics so far. Reads the kernel's counts of lost records: do not call it per event. */
ATTAR_API void attar_stream_get_stats(
	struct attar_stream *stream, struct attar_stream_stats *ret_stats);

/*
 * The location of a user-space code address of this thread. Part of the hot path: reads no symbols.
 */
ATTAR_API attar_location attar_thread_locate(struct attar_thread *thread, uint64_t ip);

/*
 * The stack of a sample as locations, innermost frame first: the kernel part of its call chain,
 * then the user part; without a call chain only the sampled address. The user part is taken from a
 * call stack of branches, if the sample has one, or unwound from registers and stack, or taken from
 * the call chain. Callers are located in the call, one byte before the return address. Writes at
 * most max locations and returns their number. The stack ends before the first caller that is
 * outside all code (an invalid frame pointer).
 */
ATTAR_API size_t attar_event_stack(
	const struct attar_event *event, attar_location *locations, size_t max);

/*
 * Unmaps the rings and frees the process table; the counters stay open. Returns NULL. stream may be
 * NULL.
 */
ATTAR_API struct attar_stream *attar_stream_free(struct attar_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
