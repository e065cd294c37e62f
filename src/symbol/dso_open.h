/* SPDX-License-Identifier: MIT */
/*
 * The very file that a process has mapped: while it lives through its /proc entry, so that neither
 * a deletion nor another mount namespace matters, and after its death by path. A file counts only
 * when its identity is the mapping's.
 */
#ifndef SYMBOL_DSO_OPEN_H
#define SYMBOL_DSO_OPEN_H

#include "symbol/dso.h"

enum { DSO_SEARCH_PIDS = 4 };

struct dso_search {
	const struct dso_key *key; /* path, dev, ino, generation */
	/* the process, then its ancestors, who share its view or nearly so; 0: none */
	pid_t pids[DSO_SEARCH_PIDS];
	uint64_t start, end; /* the mapping; 0, 0: unknown */
};

/*
 * Opens the file for reading without ever blocking on it. The fd is the caller's. -ESTALE when only
 * another file stands at its path, else the errno that came last; no error text.
 */
int dso_open(const struct dso_search *where);

/* The root directory of a process as a handle (O_PATH), the caller's. */
int dso_open_root(pid_t pid);

/* Does the process see other files than we, by its root or by its mount namespace? */
bool dso_is_foreign(pid_t pid);

/*
 * A handle (O_PATH) of an absolute path, the caller's; links in it do not lead out of root. root
 * AT_FDCWD: as we see it. flags: 0, or O_NOFOLLOW for a link at the end.
 */
int dso_open_path(int root, const char *path, int flags);

/* A handle's file, readable; -ENOEXEC when it is no regular one. */
int dso_reopen(int handle);

#endif
