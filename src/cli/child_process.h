/* SPDX-License-Identifier: MIT */
/* Starts a process of the command: a profiler of the agent or of a host, or ssh. */
#ifndef CLI_CHILD_PROCESS_H
#define CLI_CHILD_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct child_process {
	const char *path; /* searched in PATH if it has no '/' */
	char *const *argv;
	int fds[3];            /* its standard files; -1: /dev/null */
	bool has_own_group;    /* Ctrl-C is for attar, which ends the process */
	bool ends_with_parent; /* with SIGTERM */
	const char *failure;   /* what it writes to stderr if path cannot be executed; NULL: none */
};

/* Returns its PID, or a negative errno. It exits with 127 if path cannot be executed. */
pid_t child_process_start(const struct child_process *child);

#endif
