/* SPDX-License-Identifier: MIT */
/*
 * What a thread did in a pause between two slices of time that were watched: estimated from the
 * ends of the slices next to the pause, and from what the kernel counted in it.
 */
#ifndef PROFILERS_OVERVIEW_PAUSE_ESTIMATE_H
#define PROFILERS_OVERVIEW_PAUSE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>

/* What the time of a thread is divided into, of which the kernel counts the first two. */
enum pause_time { TIME_RUNNING, TIME_READY, TIME_WAITS, TIMES };

enum pause_side { PAUSE_BEFORE, PAUSE_AFTER, PAUSE_SIDES };

/* How a part of the time next to a pause was spent. */
struct pause_row {
	enum pause_side side;
	enum pause_time time;
	bool is_timed;   /* waits for a time, which last as long however busy the machine is */
	double watched;  /* ns */
	double estimate; /* set: ns of the pause that were spent in the same way */
	/*
	 * Set: ns, signed: by how much the number of turns and the shares of time disagree, as they
	 * do in the same direction in each pause.
	 */
	double bias;
	double doubt; /* set: ns; the signed sum over the rows of one kind is their uncertainty */
};

struct pause_thread {
	double length;               /* of the pause, ns */
	double watched[PAUSE_SIDES]; /* length of each side, ns; 0: none */
	double turns[PAUSE_SIDES];   /* on a CPU */
	bool has_ended;              /* in the pause, so that the kernel tells no counts */
	bool is_counted;             /* the kernel counted the rest in the pause */
	double times[TIMES];         /* ns */
	double counted_turns;
};

/*
 * Sets the estimates of n rows, which are all of the thread. Those of each kind of time add up to
 * what the kernel counted, which also shows how much of the pause was as before it. A thread that
 * was not counted has the same shares as next to the pause, also if it ended in the pause: for each
 * such thread, others begin in it.
 */
void pause_estimate(const struct pause_thread *thread, struct pause_row *rows, size_t n);

#endif
