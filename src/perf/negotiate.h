/* SPDX-License-Identifier: MIT */
/* Determines what the running kernel supports of an event, once, on its first instance. */
#ifndef PERF_NEGOTIATE_H
#define PERF_NEGOTIATE_H

#include "perf/counter.h"

/* A thread or control group on a CPU. */
struct instance {
	pid_t pid; /* or the fd of a control group's directory */
	int cpu;
	int group_fd; /* the leader's fd; -1: none */
	unsigned long flags;
};

/* Returns the fd, or a negative errno without an error message. */
int instance_open(struct attar_counter *c, const struct instance *p);

/*
 * The same for the first instance of a counter: drops what flags allow, one feature at a time, and
 * stores the attributes that were used in the counter.
 */
int instance_open_first(struct attar_counter *c, const struct instance *p, unsigned flags);

#endif
