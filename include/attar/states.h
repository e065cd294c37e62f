/* SPDX-License-Identifier: MIT */
/*
 * attar/states.h - the time that threads, CPUs or other objects spend in each of their states.
 *
 * Each object has a key and one current state. A change of the state ends a segment: its duration
 * is added to a table (attar/keytable.h) with a sum and a histogram for each state, under the key
 * of the object or under the key of a group of objects, such as the name of their program.
 *
 *	enum { RUNNING, WAITING, STATES };
 *	struct attar_states_opts opts = {.size = sizeof(opts), .states = STATES, .group_max = 16};
 *	struct attar_stamp at = attar_event_get_stamp(event);
 *	struct attar_states *states;
 *	struct attar_state *state;
 *
 *	attar_states_new(&opts, &states);
 *	...
 *	state = attar_states_set_u64(states, event->thread->serial, RUNNING, &at);
 *	if (!state)
 *		return -ENOMEM;
 *	attar_state_set_group(states, state, comm, strlen(comm));
 *	...
 *	attar_states_close(states, end_of_run);
 *	attar_keytable_end_interval(attar_states_table(states));
 *
 * Call attar_states_lost() for each period in which events were lost, when the stream delivers it:
 * a segment that began before the end of such a period, and ends after it was reported, is dropped,
 * since other changes may have been lost. The state is then unknown until the next change. Periods
 * count for all keys; with ATTAR_STATES_ONE_CPU only periods of the CPU on which the segment began.
 *
 * Memory of an object: 104 bytes, its block, the longest key and the longest group (each rounded up
 * to 8), and 16 to 32 for the hash table. When opts.keys_max objects are known, the one whose state
 * has not changed for the longest time is forgotten. The table has its own bound. Changes allocate
 * nothing once all objects and durations of about their length are known.
 */
#ifndef ATTAR_STATES_H
#define ATTAR_STATES_H

#include "attar/keytable.h"
#include "attar/pairs.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attar_states;

/* Unknown, or ended. */
#define ATTAR_NO_STATE UINT32_MAX

enum attar_states_flags {
	/*
	 * A key is of one task at a time, but can be reused, such as a tid: a change by another
	 * task starts a new segment, and the segment of the previous task is dropped.
	 */
	ATTAR_STATES_SAME_TASK = 1 << 0,
	/* All events of a key are of the same CPU: the key contains it. */
	ATTAR_STATES_ONE_CPU = 1 << 1,
};

struct attar_states_opts {
	size_t size;       /* sizeof(struct attar_states_opts) */
	size_t states;     /* number of states, 1 to 32 */
	unsigned flags;    /* enum attar_states_flags */
	size_t value_size; /* bytes of the profiler's block of an object, at most 65,536 */
	size_t key_max;    /* longest key in bytes, at most ATTAR_KEY_MAX; 0: 8 */
	size_t group_max;  /* longest group in bytes, at most ATTAR_KEY_MAX; 0: no groups */
	size_t keys_max;   /* objects, at least 8 and at most 2^24; 0: 65,536 */
	size_t groups_max; /* rows of the table, see attar_keytable_opts.keys_max; 0: 16,384 */
};

/* An object. Borrowed until the next attar_states_set_u64() or _exit(). */
struct attar_state {
	const void *key; /* key_size bytes */
	size_t key_size;
	uint64_t since; /* when the state began, ns */
	int cpu;        /* of the change to it, and its task */
	uint32_t state; /* ATTAR_NO_STATE: unknown */
	uint64_t task;
	uint32_t ended; /* state of the segment that the last change ended; ATTAR_NO_STATE: none */
	uint64_t duration; /* of that segment, ns */
	void *value;       /* opts.value_size bytes, aligned to 8; new objects: zeroed */
};

/* Returns 0, -ENOMEM, or -EINVAL for an option out of range. */
ATTAR_API int attar_states_new(
	const struct attar_states_opts *opts, struct attar_states **ret_states);

/* Frees the states and their table. Returns NULL. Accepts NULL. */
ATTAR_API struct attar_states *attar_states_free(struct attar_states *states);

/*
 * An object is in this state from now on (ATTAR_NO_STATE: unknown). Adds the segment that ends to
 * the table, under the group of the object; a change to the present state does not end a segment.
 * Called per event: does not check its arguments. Returns the object; NULL: out of memory.
 */
ATTAR_API struct attar_state *attar_states_set_u64(
	struct attar_states *states, uint64_t key, uint32_t state, const struct attar_stamp *at);

/*
 * Sets the key under which the segments of an object are added, from the present one on: at most
 * opts.group_max bytes, longer ones are cut. Before that, and without opts.group_max, it is the key
 * of the object. Called per event: does not check its arguments.
 */
ATTAR_API void attar_state_set_group(struct attar_states *states, struct attar_state *state,
	const void *group, size_t group_size);

/* An object; NULL if it is not known. */
ATTAR_API struct attar_state *attar_states_get(
	struct attar_states *states, const void *key, size_t key_size);

/* Iterates over the objects, the one that changed longest ago first; NULL: the first, no more. */
ATTAR_API struct attar_state *attar_states_next(
	struct attar_states *states, const struct attar_state *state);

/*
 * An object has ended: adds its last segment to the table, and forgets it. Returns 0, also if it is
 * not known; -ENOMEM: the segment was not added.
 */
ATTAR_API int attar_states_exit(struct attar_states *states, const void *key, size_t key_size,
	const struct attar_stamp *at);

/*
 * Events of a CPU (-1: of all, or unknown) from `from` to `to` (ns, both included) may have been
 * lost. Call it when the time of the events has reached `from`: at attar_event.lost_from and
 * lost_to.
 */
ATTAR_API void attar_states_lost(struct attar_states *states, int cpu, uint64_t from, uint64_t to);

/*
 * Ends all segments at this time, and begins others in the same states: at the end of the
 * measurement, or to divide long segments between intervals. Returns 0; -ENOMEM: some segments were
 * not added.
 */
ATTAR_API int attar_states_close(struct attar_states *states, uint64_t time);

/*
 * The table: opts.states histograms, and opts.states + 1 sums, of the time in each state and in
 * all. Owned by the states.
 */
ATTAR_API struct attar_keytable *attar_states_table(const struct attar_states *states);

/* begun = segments + open + lost + unseen + reused + backward + evicted */
struct attar_states_stats {
	uint64_t begun;    /* segments that began */
	uint64_t segments; /* added to the table */
	uint64_t open;     /* not ended yet */
	uint64_t lost;     /* dropped because changes may have been lost */
	uint64_t unseen;   /* dropped because a change was not delivered */
	uint64_t reused;   /* dropped because another task had the same key */
	uint64_t backward; /* dropped because the next change was earlier */
	uint64_t evicted;  /* dropped because too many objects were known, or out of memory */
	uint64_t keys;     /* objects that are known */
	uint64_t memory;   /* bytes allocated, without the table */
	double lost_share; /* of the time of all segments, 0..1, the time of lost ones */
};

/* The statistics since the creation. */
ATTAR_API void attar_states_get_stats(
	const struct attar_states *states, struct attar_states_stats *ret_stats);

#ifdef __cplusplus
}
#endif

#endif
