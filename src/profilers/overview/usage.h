/* SPDX-License-Identifier: MIT */
/* What processes use, from /proc: CPU time, memory, descriptors. Read at several moments. */
#ifndef PROFILERS_OVERVIEW_USAGE_H
#define PROFILERS_OVERVIEW_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attar/run.h"

struct usage {
	pid_t pid, parent;
	bool is_selected; /* the rest is only read of such a process */
	char comm[16], state; /* state: of the main thread, as in proc_pid_stat(5) */
	uint64_t started;  /* ticks */
	uint64_t cpu;      /* ticks */
	uint64_t user;     /* ticks: of these, in user code */
	uint64_t children; /* ticks: of its children that have ended */
	uint64_t resident; /* bytes */
	uint64_t memory;   /* bytes: without files and shared memory */
	uint64_t threads, descriptors;
};

/* One reading, sorted by pid. {0}: none. */
struct usages {
	uint64_t time;      /* ns */
	bool only_selected; /* rows of others are left out */
	struct usage *at;
	size_t n;
};

/* NULL: not in this reading. */
const struct usage *usages_of(const struct usages *usages, pid_t pid);

/* The same, but NULL also for another process with this number. */
const struct usage *usages_same(const struct usages *usages, const struct usage *usage);

enum { USAGE_MIDDLES = 2 };

enum { USAGE_WORDS_BYTES = 256 };

/* The readings of a run. */
struct usage_readings {
	struct usages began, last, now, middle[USAGE_MIDDLES];
	struct usage longest;          /* the one with the most CPU time in middle */
	char words[USAGE_WORDS_BYTES]; /* its command line; "": none */
};

/* In each turn: reads what is due, 2 or 4 times as long after the start as before. 0 or -ENOMEM. */
int usage_turn(struct attar_run *run, struct usage_readings *readings);

/* At a report. */
int usage_report(struct attar_run *run, struct usage_readings *readings);
void usage_done(struct usage_readings *readings);

/* A reading between both, not near either of them; NULL: none. */
const struct usages *usage_between(
	const struct usage_readings *readings, uint64_t from, uint64_t to);

#endif
