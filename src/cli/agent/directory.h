/* SPDX-License-Identifier: MIT */
/*
 * The directory in which the profilers of an agent write their metrics: the directory of systemd
 * (RUNTIME_DIRECTORY), or a temporary one. A process locks its temporary directory, so that the
 * next agent of this user knows which were left over by agents that were killed, and removes them.
 */
#ifndef CLI_AGENT_DIRECTORY_H
#define CLI_AGENT_DIRECTORY_H

struct agent_directory {
	char *path; /* owned; NULL: none */
	int lock;   /* the locked directory; -1: it is not ours to remove */
};

/* Returns 0 or a negative errno with an error message. */
int agent_directory_open(struct agent_directory *directory);

/* Removes a temporary directory with its files. */
void agent_directory_close(struct agent_directory *directory);

#endif
