/* SPDX-License-Identifier: MIT */
/*
 * Files that processes have mapped as code, open for a later struct attar_symbols: after a process
 * has exited, those that were deleted, are in memory or in a container cannot be opened by path.
 *
 *	kept_files_fork(&kept, pid, parent);	// as the records say
 *	kept_files_map(&kept, pid, &mapping);
 *	kept_files_look(&kept);			// repeatedly: for names of JIT compilers
 *	symbols->kept = &kept;			// opens them from now on
 *
 * Limit: max_open files. Above it, those are closed that their paths lead to.
 */
#ifndef SYMBOL_KEPT_FILES_H
#define SYMBOL_KEPT_FILES_H

#include "base/intern.h"
#include "symbol/dso.h"

/* A process with code of a JIT compiler whose names were not found yet. */
struct kept_jit {
	uint16_t dso;
	uint64_t due, wait; /* ns: when to look again, and how long after the last time */
};

struct kept_files {
	struct dsos dsos;   /* only fd, debug_fd, dropped (closed), tries and jit are used */
	struct map parents; /* of processes */
	struct intern texts;
	VEC(struct kept_jit) wanted;
	unsigned max_open, open, oldest;
};

int kept_files_init(struct kept_files *kept);
void kept_files_done(struct kept_files *kept);

/* A process was created. */
void kept_files_fork(struct kept_files *kept, pid_t pid, pid_t parent);

/* A process has mapped code. */
void kept_files_map(struct kept_files *kept, pid_t pid, const struct attar_mapping *mapping);

/* Opens files that JIT compilers have written meanwhile. */
void kept_files_look(struct kept_files *kept);

/*
 * Opens a file again, or its debug file in a container. Returns an fd of the caller, or a negative
 * number. kept may be NULL.
 */
int kept_files_open(const struct kept_files *kept, const struct dso_key *key);
int kept_files_open_debug(const struct kept_files *kept, const struct dso_key *key);

/* Opens the files with the names of JIT code again, if there are any. */
void kept_files_open_jit(const struct kept_files *kept, struct jit *jit);

#endif
