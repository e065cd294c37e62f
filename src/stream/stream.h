/* SPDX-License-Identifier: MIT */
/* Internals of a stream. */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include "attar/stream.h"
#include "base/map.h"
#include "record/sample.h"
#include "stream/deferred_callchain.h"
#include "stream/events.h"
#include "stream/shm_source.h"
#include "stream/merge.h"
#include "stream/procs.h"
#include "stream/replay.h"

enum {
	POLL_MS = 100, /* a blocking read also reads rings that have not reached the watermark */
	RECENT_IDS = 64,
};

#define NO_COUNTER UINT32_MAX /* as an index: no counter of the stream has the id */

/* For the comparison of a counter's counts with its samples, see missing.c. */
struct account {
	uint64_t since; /* ns: samples from this time on are compared */
	bool unfit;     /* they cannot be compared */
	bool defers;    /* its samples may have deferred user call chains */
	bool leads;     /* its samples have the counts of others, which have no samples */
	bool is_unused; /* of a recording: its samples and losses are not used */
};

/* The counts of one counter in the instances that write to one ring. */
struct ring_counts {
	uint64_t raw, lost, instances;
};

/* The name of a thread that the table of processes does not have, as /proc has it for a while. */
struct proc_name {
	uint64_t read_at; /* ns */
	pid_t tid;        /* 0: none */
	uint8_t size;
	char comm[16]; /* with a newline */
};

enum { PROC_NAMES = 256, PROC_NAME_NS = 1000000000 };

struct attar_stream {
	unsigned process;             /* the process that created it, see base/check_arg.h */
	struct attar_target *target;  /* NULL: a recording */
	struct stream_events *events; /* of attar_stream_events(); owned; NULL: none */
	const struct stream_events_ops *events_ops; /* with events */
	struct replay *replay;                      /* of a recording; owned; NULL: live */
	struct attar_counter **counters;            /* NULL: a recording */
	struct attar_layout *layouts;               /* one for each counter */
	uint32_t *numbers;                          /* of each counter: attar_event.counter */
	struct account *accounts;                   /* one for each counter */
	size_t n_counters;
	struct attar_ring **rings;
	size_t n_rings;
	struct cursor *cursors; /* one for each ring, or for each sequence of a recording */
	size_t n_cursors;
	struct merge merge;
	size_t side;    /* index of the counter that writes side-band records; SIZE_MAX: none */
	struct map ids; /* the kernel's event ids -> counter */
	/* cache of looked-up ids, indexed by id modulo RECENT_IDS */
	struct {
		uint64_t id;
		uint32_t counter;
	} recent_ids[RECENT_IDS];
	struct procs procs;
	struct deferred_callchains defer;
	struct attar_record record; /* being delivered */
	uint32_t record_counter;    /* the index of its counter */
	struct attar_stream_stats stats;
	uint64_t foreign; /* of stats.malformed: samples with the id of another program's event */
	uint64_t lost_recorded; /* according to LOST records of sampled events */
	uint64_t lost_side;     /* according to LOST records of the side-band event */
	uint64_t lost_stopped;  /* according to LOST records of rings written backward */
	uint64_t lost_in_pmu;   /* according to LOST_SAMPLES records: lost before the ring */
	uint64_t lost_counted;  /* of a recording: of sampled events, as counted at its end */
	uint64_t lost_unused;   /* the part of events that are not used */
	bool has_final_losses;  /* the recording has such counts, even if they are 0 */
	struct {
		uint64_t lost;       /* side-band records before the latest renewal */
		uint64_t not_before; /* ns: the time of the next renewal */
		bool due;            /* a renewal waits for that time */
		bool next_round;     /* a renewal waits for the end of this round */
	} renew;
	uint64_t horizon;      /* ns: deliver records up to this time */
	uint64_t newest;       /* ns: the newest time of all records seen */
	uint64_t delivered;    /* ns: the newest time delivered */
	uint64_t cpus_checked; /* ns: time of the last check for new CPUs */
	uint64_t start_time;   /* ns: samples from before it are early */
	uint64_t stop_time;    /* ns */
	bool in_round;
	bool last_round; /* the round began after the stop: there are no later records */
	bool drained;    /* the last round is over */
	bool settled;    /* missing events have been determined */
	struct ring_counts *counted; /* by counter and ring, at the stop; owned; NULL: none */
	VEC(struct attar_cpu_count) missing;
	bool front_done; /* the record in front was delivered: the next call drops it */
	bool started, stopped, has_clock;
	bool frozen;                             /* a snapshot is being delivered */
	bool fd_given;                           /* the caller polls the fd itself */
	struct proc_name proc_names[PROC_NAMES]; /* by tid modulo their number */
	pid_t skipped_pid; /* its samples are not delivered: the one that reads rings, or NO_PID */
	/* The fast path through samples of one event, see stream/sample_run.h. */
	stream_next_fn *next; /* what attar_stream_next() does */
	struct cursor *run;   /* whose run is followed; NULL: none */
	uint64_t run_limit;   /* ns: before this time no other ring has a record */
	int epoll_fd;
	int caller_fd;                       /* in epoll_fd, from attar_stream_wait(); -1: none */
	struct attar_shm_source *shm_source; /* NULL: none */
	uint64_t shm_source_horizon;         /* ns: all its events up to this time are visible */
	uint64_t shm_source_since;           /* the same in the previous round */
	uint64_t shm_source_lost;
	bool prepared;      /* by stream_prepare() */
	bool full_reported; /* it was logged that programs have more threads than the limit */
};

/*
 * Opens the event that writes side-band records for a stream on the target. It is enabled when and
 * as the stream's first counter (NULL: none). overwritten: it writes to the same rings as counters
 * with attr.write_backward. Returns 0, with NULL if all tasks of the target have exited; or a
 * negative errno.
 */
int sideband_open(struct attar_target *target, const struct attar_counter *first, bool overwritten,
	struct attar_counter **ret_counter);

/*
 * The first part of attar_stream_start(), for callers that read facts of tasks before the events:
 * enables side-band records, then reads the names of running tasks. Returns 0 or a negative errno.
 */
int stream_prepare(struct attar_stream *s);

/*
 * Creates a stream of a recording, which is borrowed until the stream is freed. attar_event.counter
 * is the index of the recording's event.
 */
int stream_replay(struct recording *recording, struct attar_symbols *symbols,
	struct attar_stream **ret_stream);

/* Starts the comparison of the counter with its samples. 0 or -ENOMEM. */
int missing_begin(struct attar_stream *s, size_t counter);

/* Allocates counts of n_counters counters for the rings from first_ring on. 0 or -ENOMEM. */
int missing_grow(struct attar_stream *s, size_t first_ring, size_t n_counters);

/*
 * Reads the counts of all counters, which are disabled. Later ones can be of a thread that was
 * created, and inherited the event, at this moment: its samples may come too late.
 */
void missing_end(struct attar_stream *s);

/*
 * Compares all counters once the stream is drained. losses_counted: the kernel counts lost records.
 */
void missing_settle(struct attar_stream *s, bool losses_counted);

/* Adds missing events of a CPU. 0 or -ENOMEM. */
int missing_add(struct attar_stream *s, int cpu, uint64_t n);

/* See run_source_undelivered(); number: attar_event.counter. */
uint64_t stream_undelivered(const struct attar_stream *s, uint32_t number);

/*
 * Samples were taken from a ring without attar_stream_next(): of which counters is unknown. They
 * count for all of them.
 */
void missing_take_samples(struct attar_stream *s, size_t ring, uint64_t n);

/*
 * A sample of attar_event.counter `number` on a CPU did not arrive, but was made from other
 * records: it is not missing.
 */
void missing_take_made(struct attar_stream *s, uint32_t number, uint32_t cpu);

/* See struct attar_stream. */
uint64_t stream_foreign(const struct attar_stream *s);

/*
 * The index of the counter of a sample with the id of another program's event: the kernel passes
 * one struct perf_sample_data to all software events of the same kind on a task and sets the id for
 * the first of them only (seen on 6.18). When another program samples page faults too, our samples
 * may carry the id of its event. It is known if the stream has one software event; NO_COUNTER: it
 * has none, or several.
 */
uint32_t stream_software_event(const struct attar_stream *s);

/*
 * Add a running thread, or a process with all its threads, to the table, which otherwise begins
 * with the first thread of each process.
 */
void stream_learn_thread(struct attar_stream *s, pid_t pid, pid_t tid);
void stream_learn_process(struct attar_stream *s, pid_t pid);

/* The thread with this id, running or recently exited; NULL: it is not in the table. */
struct attar_thread *stream_thread(const struct attar_stream *s, pid_t tid);

/* The process with this pid; NULL: it is not in the table. */
struct attar_process *stream_process(const struct attar_stream *s, pid_t pid);

static inline uint64_t difference_or_0(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Whether the kernel counts the lost records of each event (PERF_FORMAT_LOST). */
bool stream_counts_losses(const struct attar_stream *s);

/* Leaves in a LOST record of the cursor's ring what was lost of samples. */
void stream_subtract_side_band(struct attar_stream *s, struct cursor *c);

/*
 * The kernel reports a loss with the next record of the ring. If there is none until the stop, this
 * makes a header for it the front of the cursor, whose ring has no more records. False: no sample
 * was lost after them.
 */
bool stream_has_final_loss(const struct attar_stream *s, struct cursor *c);

/*
 * Takes the record of a recording's end that has the number of records that the counter's event
 * lost. Returns whether other records did not report all of them, and sets the record's count to
 * the rest.
 */
bool stream_take_final_loss(struct attar_stream *s, uint32_t counter);

/* The samples of this event of a recording are not used: their losses are not counted. */
static inline void stream_leave_out(struct attar_stream *s, size_t counter)
{
	s->accounts[counter].is_unused = true;
}

/*
 * With each record other than a sample, or after a round; is_loss: there was a LOST record. Reads
 * names again if needed. recorded: what LOST records say of side-band records, for kernels that do
 * not count losses.
 */
void stream_renew_names(struct attar_stream *s, bool is_loss, uint64_t time, uint64_t recorded);

/* Before a round: reads names again if the CPUs had changed at the beginning of the last one. */
void stream_renew_names_of_cpus(struct attar_stream *s);

/* Whether a record reports that others were lost. */
static inline bool stream_is_loss(const struct perf_event_header *header)
{
	return header->type == PERF_RECORD_LOST || header->type == PERF_RECORD_LOST_SAMPLES;
}

/*
 * The time from which on the newest snapshot has all records, ns, before they are read; 0: nothing
 * was overwritten.
 */
uint64_t stream_snapshot_since(const struct attar_stream *s);

/*
 * Of the lost samples, the samples of rings that are written backward. These are overwritten, so
 * they lose samples only while they are stopped for a snapshot.
 */
uint64_t stream_lost_while_stopped(const struct attar_stream *s);

/* The time of the newest event delivered, ns. */
uint64_t stream_time(const struct attar_stream *s);

/* Between rounds: all records up to this time have been delivered, ns. */
uint64_t stream_horizon(const struct attar_stream *s);

/* Whether a stopped stream, or a recording, has no more events. */
bool stream_drained(const struct attar_stream *s);

/* Makes room in the arrays per counter for n counters. 0 or -ENOMEM. */
int stream_grow(struct attar_stream *s, size_t n);

/* attar_stream_next() without its checks. */
static inline int stream_next(struct attar_stream *s, struct attar_event *ret_event)
{
	return s->next(s, ret_event);
}

/* The same without the fast path. */
stream_next_fn stream_next_record;

/* The index of the counter that has the id, or NO_COUNTER. */
static inline uint32_t stream_counter_of(struct attar_stream *s, uint64_t id)
{
	typeof(&s->recent_ids[0]) recent = &s->recent_ids[id % RECENT_IDS];
	uint64_t *index;

	if (likely(recent->id == id && recent->counter != NO_COUNTER))
		return recent->counter;
	index = map_get(&s->ids, id);
	recent->id = id;
	return recent->counter = index ? (uint32_t)*index : NO_COUNTER;
}

/* Clears the cache of looked-up ids, when a counter may have new ones. */
void stream_forget_ids(struct attar_stream *s);

/* Adds the fd to those that wake the stream. */
int stream_watch(struct attar_stream *s, int fd);

/* Watches a ring, by its index. */
int stream_watch_ring(struct attar_stream *s, size_t ring);

/* Wakes the stream when a watched process exits. */
int stream_watch_target(struct attar_stream *s);

/* As attar_stream_wait(), but only for fds that are already watched; returns -EINTR on a signal. */
int stream_poll(struct attar_stream *s, int fd, int timeout_ms);

/* Adds CPUs that have come online, within POLL_MS. 0 or a negative errno. */
int stream_follow_cpus(struct attar_stream *s);

#endif
