/* SPDX-License-Identifier: MIT */
/*
 * The perf-PID.map of one process: where it stands and whether to believe it. Anybody can write a
 * file of that name into /tmp, so it counts only as a plain file that belongs to the process's user
 * or to root.
 */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include "symbol/perfmap.h"

struct jit {
	pid_t pid, inner; /* as we and as the process itself see it; inner 0: never seen alive */
	uid_t uid;        /* the process's effective user while inner is known */
	char path[40];    /* as the process sees it; "" until the file was found */
	int fd;           /* the open file, -1 otherwise */
	uint64_t checked; /* ns of the monotonic clock: when its growth was last looked for */
	struct perfmap map;
};

void jit_init(struct jit *jit, pid_t pid);

/*
 * Looks for the file while the process lives and opens it. 0; -ENOENT: none is there, or none to
 * trust.
 */
int jit_open(struct jit *jit);

/*
 * The newest entry that covers address after a look at what was appended; NULL when there is none.
 */
const struct perfmap_entry *jit_find(struct jit *jit, uint64_t address);

int jit_name(const struct jit *jit, const struct perfmap_entry *entry, struct buf *name);
void jit_close(struct jit *jit);
void jit_done(struct jit *jit);

#endif
