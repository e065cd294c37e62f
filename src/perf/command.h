/* SPDX-License-Identifier: MIT */
/* A launched command: forked early, held before its exec until everything is open. */
#ifndef PERF_COMMAND_H
#define PERF_COMMAND_H

#include "base/base.h"

struct command {
	pid_t pid;      /* 0: no command */
	int go_fd;      /* a byte lets the child go on to its exec; closed without one, it exits */
	int failure_fd; /* delivers the errno of a failed exec */
	int pidfd;      /* since 5.3; -1: none */
	bool ended;
	int status;            /* as a shell gives it, once ended; -1: not known */
	bool has_times;        /* it was reaped here */
	uint64_t user, system; /* ns of CPU time */
	const char *name;      /* argv[0], borrowed from the caller's argv */
};

/* How the child's process differs from ours. */
struct command_setup {
	const char *const *environment; /* "NAME=VALUE" beside ours, ends with NULL; may be NULL */
	void (*prepare)(void *ctx);     /* called in the child before its exec; may be NULL */
	void *ctx;
};

int command_fork(struct command *c, char *const *argv, const struct command_setup *setup);

/* Lets it go on to its exec, once; 0, or why that failed: -ENOENT, -ENOEXEC ... */
int command_start(struct command *c);

/* It has been forked, and waits for command_start(). */
static inline bool command_is_held(const struct command *c)
{
	return c->go_fd >= 0;
}

/*
 * Reaps without waiting; true once it has ended. Where the program reaps all of its children itself, or
 * ignores SIGCHLD, the CPU times are not known, and before Linux 6.15 neither is the status.
 */
bool command_ended(struct command *c);

/* In a child of the process that forked it: closes the file descriptors and lets it run. */
void command_disown(struct command *c);

/* Ends it if it runs: SIGTERM, SIGKILL a second later. */
void command_done(struct command *c);

#endif
