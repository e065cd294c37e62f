/* SPDX-License-Identifier: MIT */
/*
 * Limits the overhead of a measurement: while expensive sources cost more than their share of a
 * CPU, they are paused. What attar uses without them is not part of the cost: a pause would not
 * save it.
 */
#ifndef PROFILERS_OVERVIEW_DUTY_CYCLE_H
#define PROFILERS_OVERVIEW_DUTY_CYCLE_H

#include "attar/run.h"

enum { DUTY_SOURCES_MAX = 12 };

/* Set `share` first; the rest is zeroed. */
struct duty {
	double share; /* of a CPU, 0..1 */

	uint32_t sources[DUTY_SOURCES_MAX];
	size_t n;
	uint64_t began;       /* ns; 0: not yet */
	uint64_t used_then;   /* CPU time of attar at that time, or at the last change, ns */
	uint64_t on_since;    /* since the last pause */
	uint64_t paused_at;   /* ns; 0: not paused */
	uint64_t watched;     /* ns, up to on_since */
	uint64_t paused;      /* ns, up to paused_at */
	uint64_t used_on;     /* CPU time while the sources were enabled, up to used_then */
	uint64_t used_off;    /* and while they were paused */
	uint64_t events_then; /* so far, at on_since */
	bool is_read;         /* so were the events before the pause */
	bool is_heavy;        /* reading took a large part of a CPU before the last pause */
	bool is_flooded;      /* so the next pause begins at the next event */
	bool is_live;         /* a recording has no turns */
	uint64_t in_turn;     /* events, since the last turn */
	int nice;             /* of this thread before the first turn */
	bool is_raised;       /* its priority is */
};

/* Adds the sources from number `first` to the newest one. Only from open(). */
void duty_add(struct duty *duty, struct attar_run *run, uint32_t first);

/* To be called from close(). */
void duty_done(struct duty *duty);

/* For is_flooded: pauses the sources. Returns 0 or a negative errno. */
int duty_pause(struct duty *duty, struct attar_run *run);

enum { DUTY_TURN_MAX = 20000 /* events, about 20 ms of CPU time */ };

/*
 * To be called for each event. When reading takes a large part of a CPU, events arrive as fast as
 * they are read, until the rings are full: the sources are paused before the rest is read. So they
 * are if a turn does not end, because others delay attar.
 */
static inline int duty_event(struct duty *duty, struct attar_run *run)
{
	bool is_late = ++duty->in_turn > DUTY_TURN_MAX && duty->is_live && !duty->paused_at;

	return duty->is_flooded || is_late ? duty_pause(duty, run) : 0;
}

enum duty_change { DUTY_SAME, DUTY_PAUSED, DUTY_RESUMES };

/*
 * For attar_profiler.turn: pauses the sources, or enables them again. events: so far, of the
 * sources and others; fewer than 1,000 a second are not paused. DUTY_RESUMES: there are no events
 * from *ret_from to *ret_to, ns; all earlier events have been delivered. Returns enum duty_change
 * or a negative errno.
 */
int duty_turn(struct duty *duty, struct attar_run *run, uint64_t events, uint64_t *ret_from,
	uint64_t *ret_to);

/* The end of the time that was watched, at most `until`: times of states end there. */
uint64_t duty_until(const struct duty *duty, uint64_t until);

/* How long the sources were enabled from `began` up to `until`, ns. */
uint64_t duty_watched(const struct duty *duty, uint64_t began, uint64_t until);

#endif
