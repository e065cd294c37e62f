/* SPDX-License-Identifier: MIT */
/*
 * Limits the time for reading mappings of processes in /proc, because other users can have any
 * number of processes with 65,000 mappings each: SCAN_USER_NS of CPU time for the processes of a
 * user other than root and the caller, SCAN_OTHERS_NS for those of all of them, and a SCAN_SHARE of
 * the time since the first reading. Where busy processes take the CPUs, it may take four times as
 * long. Processes whose mappings are read fast do not count.
 */
#ifndef STREAM_SCAN_BUDGET_H
#define STREAM_SCAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SCAN_USERS = 16,
	SCAN_FAST_NS = 100000,
	SCAN_USER_NS = 50000000,
	SCAN_OTHERS_NS = 4 * SCAN_USER_NS,
	SCAN_SHARE = 20, /* a twentieth */
	SCAN_WAIT = 4,   /* the time that counts as its CPU time, at least */
};

struct scan_budget {
	uint64_t began; /* ns; 0: nothing was read yet */
	uint64_t spent; /* ns, for all users other than root and the caller */
	struct scan_user {
		uid_t uid;
		uint64_t spent; /* ns */
		bool told;
	} users[SCAN_USERS]; /* further users share the last place */
	unsigned n_users;
	uint64_t cpu_at, at; /* of scan_budget_begin(): CPU time and time, ns */
};

/* Returns whether the mappings of the process may be read now. If so, call scan_budget_end(). */
bool scan_budget_begin(struct scan_budget *budget, pid_t pid);

/* Returns the CPU time that reading the mappings of the process took, ns. */
uint64_t scan_budget_end(struct scan_budget *budget, pid_t pid);

#endif
