/* SPDX-License-Identifier: MIT */
/* A launched command: forked early and held before its exec until all events are open. */
#ifndef PERF_COMMAND_H
#define PERF_COMMAND_H

#include "base/base.h"

struct command {
	pid_t pid;      /* 0: no command */
	int go_fd;      /* a byte lets the child exec; if closed without it, the child exits */
	int failure_fd; /* delivers the errno of a failed exec */
	int pidfd;      /* since 5.3; -1: none */
	bool ended;
	int status;            /* as reported by a shell, after its exit; -1: unknown */
	bool has_times;        /* reaped by this library: times are known */
	uint64_t user, system; /* ns of CPU time */
	const char *name;      /* argv[0], borrowed from the caller's argv */
};

/* Settings of the child process. */
struct command_setup {
	const char *const *environment; /* additional "NAME=VALUE", ends with NULL; may be NULL */
	void (*prepare)(void *ctx);     /* called in the child before its exec; may be NULL */
	void *ctx;
};

int command_fork(struct command *c, char *const *argv, const struct command_setup *setup);

/*
 * Adds "NAME=VALUE", shorter than COMMAND_VARIABLE_MAX bytes, to the environment of a held command;
 * at most COMMAND_VARIABLES.
 */
enum { COMMAND_VARIABLES = 4, COMMAND_VARIABLE_MAX = 512 };
int command_add_environment(struct command *c, const char *variable);

/* Lets the child exec, once. Returns 0, or why it failed: -ENOENT, -ENOEXEC ... */
int command_start(struct command *c);

/* True if the command was forked and waits for command_start(). */
static inline bool command_is_held(const struct command *c)
{
	return c->go_fd >= 0;
}

/*
 * Reaps without blocking; true once the command has exited. If the calling program reaps all of its
 * children or ignores SIGCHLD, the CPU times are unknown, and before Linux 6.15 also the status.
 */
bool command_ended(struct command *c);

/* In a child of the process that forked the command: closes the file descriptors only. */
void command_disown(struct command *c);

/* Ends it if it runs: SIGTERM, SIGKILL a second later. Its CPU times are known then. */
void command_end(struct command *c);

/* Ends it and closes its file descriptors. */
void command_done(struct command *c);

#endif
