/* SPDX-License-Identifier: MIT */
/*
 * Finds the perf-PID.map of a process. Any user can create such a file in /tmp, so it is accepted
 * only if it is a regular file owned by the user of the process or by root.
 */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include "symbol/perfmap.h"

struct jit {
	pid_t pid, inner; /* PID in our and in its own PID namespace; inner 0: never seen alive */
	uid_t uid;        /* the process's effective user while inner is known */
	char path[40];    /* as the process sees it; "" until the file was found */
	int fd;           /* the open file, -1 otherwise */
	uint64_t checked; /* CLOCK_MONOTONIC in ns of the last check for new entries */
	struct perfmap map;
};

void jit_init(struct jit *jit, pid_t pid);

/*
 * Finds and opens the file while the process is alive. Returns 0; -ENOENT if there is no file or it
 * is not trusted.
 */
int jit_open(struct jit *jit);

/*
 * Reads new entries and returns the newest one that contains address; NULL: none.
 */
const struct perfmap_entry *jit_find(struct jit *jit, uint64_t address);

int jit_name(const struct jit *jit, const struct perfmap_entry *entry, struct buf *name);
void jit_close(struct jit *jit);
void jit_done(struct jit *jit);

#endif
