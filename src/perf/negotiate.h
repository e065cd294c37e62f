/* SPDX-License-Identifier: MIT */
/* What the running kernel takes of an event, found once, on the first place. */
#ifndef PERF_NEGOTIATE_H
#define PERF_NEGOTIATE_H

#include "perf/counter.h"

/* A thread or control group on a CPU. */
struct place {
	pid_t pid; /* or the fd of a control group's directory */
	int cpu;
	int group_fd; /* of the leader's event; -1: none */
	unsigned long flags;
};

/* The fd, or a negative errno without an error text. */
int place_open(struct attar_counter *c, const struct place *p);

/*
 * The same, for a counter that is open nowhere yet: gives up what flags allow to give up, by a ladder of one
 * thing at a time, and leaves what was opened in the end in the counter's attributes.
 */
int place_open_first(struct attar_counter *c, const struct place *p, unsigned flags);

#endif
