/* SPDX-License-Identifier: MIT */
/* What the running kernel takes of an event, found once, on the first instance. */
#ifndef PERF_NEGOTIATE_H
#define PERF_NEGOTIATE_H

#include "perf/counter.h"

/* A thread or control group on a CPU. */
struct instance {
	pid_t pid; /* or the fd of a control group's directory */
	int cpu;
	int group_fd; /* of the leader's event; -1: none */
	unsigned long flags;
};

/* The fd, or a negative errno without an error text. */
int instance_open(struct attar_counter *c, const struct instance *p);

/*
 * The same, for a counter that is open nowhere yet: gives up what flags allow to give up, by a ladder of one
 * thing at a time, and leaves what was opened in the end in the counter's attributes.
 */
int instance_open_first(struct attar_counter *c, const struct instance *p, unsigned flags);

#endif
