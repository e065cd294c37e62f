/* SPDX-License-Identifier: MIT */
/*
 * Limits the time for reading what processes have in /proc, because other users can have any number
 * of processes with 65,000 mappings or open files each: user_ns of CPU time for the processes of a
 * user other than root and the caller, SCAN_OTHERS times as much for the processes of all, and a
 * SCAN_SHARE of the time since the first reading. Where busy processes take the CPUs, it may take
 * four times as long. Processes that are read fast do not count. A message names the user whose
 * processes are not read.
 */
#ifndef BASE_SCAN_BUDGET_H
#define BASE_SCAN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"

enum {
	SCAN_USERS = 16,
	SCAN_FAST_NS = 100000,
	SCAN_STALL_NS = 25000000, /* it was waited for */
	SCAN_OTHERS = 4,
	SCAN_SHARE = 20, /* a twentieth */
	SCAN_WAIT = 4,   /* the time that counts as its CPU time, at least */
};

struct scan_budget {
	const char *what, *effect; /* of the message: "mappings", "code in ... has no names" */
	uint64_t user_ns;
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

/* Returns whether the process may be read now. If so, call scan_budget_end(). */
bool scan_budget_begin(struct scan_budget *budget, pid_t pid);

/* Whether reading the process, which has begun, may go on: it may have any number of files. */
bool scan_budget_goes_on(struct scan_budget *budget, pid_t pid);

/* Returns the CPU time that reading the process took, ns. */
uint64_t scan_budget_end(struct scan_budget *budget, pid_t pid);

/*
 * proc_each_fd() within the budget; 0 if the process was not read, or if no time was left before
 * its last file.
 */
int scan_budget_each_fd(struct scan_budget *budget, pid_t pid, proc_fn *fn, void *ctx);

#endif
