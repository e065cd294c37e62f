/* SPDX-License-Identifier: MIT */
/*
 * attar/pairs.h - start and end events matched by key.
 *
 * A start is kept, with a block of bytes of the profiler, until the end with the same key arrives:
 * enter and exit of a system call by thread, issue and completion of a request by device and
 * sector.
 *
 *	struct attar_pairs_opts opts = {.size = sizeof(opts), .payload_size = sizeof(long)};
 *	struct attar_stamp at = attar_event_get_stamp(event);
 *	struct attar_pairs *pairs;
 *	const struct attar_start *started;
 *	struct attar_start *start;
 *
 *	attar_pairs_new(&opts, &pairs);
 *	...
 *	start = attar_pairs_start_u64(pairs, event->thread->serial, &at);
 *	if (start)
 *		*(long *)start->payload = syscall;
 *	...
 *	started = attar_pairs_end_u64(pairs, event->thread->serial, &at);
 *	if (started)
 *		add(*(long *)started->payload, at.time - started->time);
 *
 * An event can be the end of one pair and the start of the next (A > B > C): use one object for
 * each step, and call attar_pairs_end() on the first and attar_pairs_start() on the second.
 *
 * Every start and every end is counted exactly once: as part of a pair, as still open, or as
 * unpaired with a reason. Call attar_pairs_lost() for each period in which events were lost, when
 * the stream delivers it, and attar_pairs_exit() when a thread exits. A pair is never returned if
 * its start is not later than the end of such a period that was reported before its end event: an
 * end and a start in between could have been lost. Periods count for all keys, whatever CPU they
 * are of, since threads and requests migrate; with ATTAR_PAIRS_ONE_CPU only periods of the CPU of
 * the start. Pairs that were returned before a loss was reported are not revoked: the stream
 * delivers a loss at its begin, but the kernel reports it with the next event of the CPU, and a
 * live stream may have delivered later events of other CPUs by then.
 *
 * Memory of an open start: 120 bytes, the payload and the longest key (each rounded up to 8), and
 * 16 to 32 for the hash table. When opts.open_max starts are open, the oldest one is evicted.
 * Matching allocates nothing once the largest number of open starts was reached.
 */
#ifndef ATTAR_PAIRS_H
#define ATTAR_PAIRS_H

#include "attar/keytable.h"
#include "attar/stream.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_pairs;

/* attar_stamp.task: none, or unknown. */
#define ATTAR_NO_TASK UINT64_MAX

/* When and where an event occurred. */
struct attar_stamp {
	uint64_t time; /* ns */
	uint64_t task; /* attar_thread.serial or another identity that is not reused */
	int cpu;       /* -1: unknown */
};

/* The stamp of an event, of the thread that was running. */
static inline struct attar_stamp attar_event_get_stamp(const struct attar_event *event)
{
	struct attar_stamp stamp;

	stamp.time = event->time;
	stamp.task = event->thread ? event->thread->serial : ATTAR_NO_TASK;
	stamp.cpu = ATTAR_CAST(int, event->cpu);
	return stamp;
}

/* What a start does if its key has an open start. */
enum attar_pairs_policy {
	ATTAR_PAIRS_REPLACE, /* the newer start replaces the older one */
	ATTAR_PAIRS_FIRST,   /* the newer start is ignored */
	ATTAR_PAIRS_NESTED,  /* both are open; an end matches the newest one */
};

enum attar_pairs_flags {
	/*
	 * Both events of a pair are of the same task. With another task the key was reused, such as
	 * a tid: the open starts of the key are dropped as ATTAR_UNPAIRED_EXITED.
	 */
	ATTAR_PAIRS_SAME_TASK = 1 << 0,
	/* All events of a key are of the same CPU: the key contains it. */
	ATTAR_PAIRS_ONE_CPU = 1 << 1,
};

/* Why an event is not part of a pair: reasons of starts, then reasons of ends. */
enum attar_unpaired {
	ATTAR_UNPAIRED_OPEN,         /* start: still open at attar_pairs_close() */
	ATTAR_UNPAIRED_REPLACED,     /* start: a newer one replaced it */
	ATTAR_UNPAIRED_REPEATED,     /* start: one of the same key was open (ATTAR_PAIRS_FIRST) */
	ATTAR_UNPAIRED_DEEP,         /* start: opts.depth_max starts of the key were open */
	ATTAR_UNPAIRED_LOST,         /* start: its end, or another start, may have been lost */
	ATTAR_UNPAIRED_EXITED,       /* start: its task exited, or its key was reused */
	ATTAR_UNPAIRED_EVICTED,      /* start: too many were open, or out of memory */
	ATTAR_UNPAIRED_DROPPED,      /* start: attar_pairs_drop() */
	ATTAR_UNPAIRED_BACKWARD,     /* start: it is later than its end */
	ATTAR_UNPAIRED_END,          /* end: no start of its key is open, and no events were lost */
	ATTAR_UNPAIRED_END_LOST,     /* end: no start is open; it may have been lost */
	ATTAR_UNPAIRED_END_DEEP,     /* end: of a start that was not opened, ATTAR_UNPAIRED_DEEP */
	ATTAR_UNPAIRED_END_BACKWARD, /* end: it is earlier than its start */
	ATTAR_UNPAIRED_REASONS,
};

/* The reason as text, such as "replaced by a newer start"; a static string; "" if out of range. */
ATTAR_API const char *attar_unpaired_text(enum attar_unpaired reason);

struct attar_pairs_opts {
	size_t size; /* sizeof(struct attar_pairs_opts) */
	enum attar_pairs_policy policy;
	unsigned flags;      /* enum attar_pairs_flags */
	size_t payload_size; /* bytes stored with a start, at most 65,536 */
	size_t key_max;      /* longest key in bytes, at most ATTAR_KEY_MAX; 0: 8 */
	size_t open_max;     /* open starts, at least 8 and at most 2^24; 0: 65,536 */
	size_t depth_max;    /* ATTAR_PAIRS_NESTED: open starts of a key; 0: 16 */
};

/*
 * An open or just ended start. Borrowed until the next call on its pairs, except that an open one
 * stays valid while only attar_pairs_next_open() is called.
 */
struct attar_start {
	uint64_t time; /* of its stamp */
	int cpu;
	uint32_t depth; /* number of older open starts of the same key */
	uint64_t task;
	const void *key; /* key_size bytes */
	size_t key_size;
	void *payload; /* opts.payload_size bytes, aligned to 8; zeroed at the start */
};

/* Returns 0, -ENOMEM, or -EINVAL for an option out of range. opts may be NULL. */
ATTAR_API int attar_pairs_new(const struct attar_pairs_opts *opts, struct attar_pairs **ret_pairs);

/* Frees the pairs and all open starts. Returns NULL. Accepts NULL. */
ATTAR_API struct attar_pairs *attar_pairs_free(struct attar_pairs *pairs);

/*
 * Opens a start, whose payload the caller fills. Returns NULL, and counts the reason, if it is not
 * opened. A key of 8 bytes and the number in these bytes are the same key; longer keys than
 * opts.key_max are cut. Called per event: does not check its arguments.
 */
ATTAR_API struct attar_start *attar_pairs_start(
	struct attar_pairs *pairs, const void *key, size_t key_size, const struct attar_stamp *at);
ATTAR_API struct attar_start *attar_pairs_start_u64(
	struct attar_pairs *pairs, uint64_t key, const struct attar_stamp *at);

/*
 * Ends the newest open start of the key, and returns it. Returns NULL, and counts the reason, if
 * there is none. Called per event: does not check its arguments.
 */
ATTAR_API const struct attar_start *attar_pairs_end(
	struct attar_pairs *pairs, const void *key, size_t key_size, const struct attar_stamp *at);
ATTAR_API const struct attar_start *attar_pairs_end_u64(
	struct attar_pairs *pairs, uint64_t key, const struct attar_stamp *at);

/*
 * Events of a CPU (-1: of all, or unknown) from `from` to `to` (ns, both included) may have been
 * lost. Drops the open starts that are not later than `to`, and does not open such starts later.
 * Call it when the time of the events has reached `from`: at attar_event.lost_from and lost_to.
 */
ATTAR_API void attar_pairs_lost(struct attar_pairs *pairs, int cpu, uint64_t from, uint64_t to);

/* A task has exited: drops its open starts. Do not call it if another task may end them. */
ATTAR_API void attar_pairs_exit(struct attar_pairs *pairs, uint64_t task);

/* Drops the open starts of a key. Returns their number. */
ATTAR_API size_t attar_pairs_drop(struct attar_pairs *pairs, const void *key, size_t key_size);

/* The end of the measurement: drops all open starts. */
ATTAR_API void attar_pairs_close(struct attar_pairs *pairs);

/*
 * Iterates over the open starts, oldest first: returns the one after `start`, the first for NULL,
 * and NULL after the last.
 */
ATTAR_API const struct attar_start *attar_pairs_next_open(
	const struct attar_pairs *pairs, const struct attar_start *start);

/* starts = pairs + open + the reasons of starts; ends = pairs + the reasons of ends. */
struct attar_pairs_stats {
	uint64_t starts, ends, pairs;
	uint64_t open;   /* starts that are open now */
	uint64_t memory; /* bytes allocated */
	uint64_t unpaired[ATTAR_UNPAIRED_REASONS];
};

/* The statistics since the creation. */
ATTAR_API void attar_pairs_get_stats(
	const struct attar_pairs *pairs, struct attar_pairs_stats *ret_stats);

/* The statistics since the previous call of this function, or since the creation. */
ATTAR_API void attar_pairs_get_interval(
	struct attar_pairs *pairs, struct attar_pairs_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
