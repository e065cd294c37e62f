/* SPDX-License-Identifier: MIT */
/* The programs that ran longest, with their command lines; those that still run are among them. */
#ifndef PROFILERS_LIB_LONGEST_H
#define PROFILERS_LIB_LONGEST_H

#include "attar/run.h"
#include "attar/pairs.h"

enum { LONGEST_MAX = 100, LONGEST_TEXT = 512, LONGEST_COMM = 16 };

struct longest_program {
	uint64_t duration;
	int64_t pid, parent;
	bool is_running;
	char comm[LONGEST_COMM], command[LONGEST_TEXT]; /* command: cut */
};

struct longest {
	struct attar_pairs *running; /* by pid, payload struct longest_program */
	struct longest_program *at;  /* those that have ended, longest first */
	size_t n;
};

int longest_init(struct longest *l);

/* A process executes a program: its file, and its arguments without the first one. */
void longest_begin(struct longest *l, const struct attar_event *ev, int64_t pid, int64_t parent,
	const char *file, const char *arguments);

/* The process has ended. */
void longest_end(struct longest *l, const struct attar_event *ev, int64_t pid);

/* Adds a table of the longest ones up to now. Returns 0 or -ENOMEM. */
int longest_report(struct longest *l, struct attar_run *run, struct attar_report *report);

void longest_done(struct longest *l);

#endif
