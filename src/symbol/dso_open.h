/* SPDX-License-Identifier: MIT */
/*
 * Opens the file that a process has mapped: while the process is alive through /proc/PID, which
 * works for deleted files and other mount namespaces; after it has exited, by path. The file is
 * accepted only if it has the identity of the mapping.
 */
#ifndef SYMBOL_DSO_OPEN_H
#define SYMBOL_DSO_OPEN_H

#include "symbol/dso.h"

enum { DSO_SEARCH_PIDS = 4 };

struct dso_search {
	const struct dso_key *key; /* path, dev, ino, generation */
	/* the process, then its ancestors, which usually share its mount namespace; 0: none */
	pid_t pids[DSO_SEARCH_PIDS];
	uint64_t start, end; /* the mapping; 0, 0: unknown */
};

/*
 * Opens the file for reading, without blocking. Returns an fd owned by the caller; -ESTALE if its
 * path has a different file; otherwise the last errno. Sets no error message.
 */
int dso_open(const struct dso_search *where);

/* Opens the root directory of a process with O_PATH; the caller owns the fd. */
int dso_open_root(pid_t pid);

/* Whether the process has a different root directory or mount namespace than the caller. */
bool dso_is_foreign(pid_t pid);

/*
 * Opens an absolute path with O_PATH; the caller owns the fd. Symbolic links are resolved within
 * root. root AT_FDCWD: the caller's root. flags: 0, or O_NOFOLLOW for the last component.
 */
int dso_open_path(int root, const char *path, int flags);

/*
 * Notes the owner of the open file, unless it is a copy of the one in key, and where the process
 * sees files. What is known already does not change. key may be NULL.
 */
void dso_note_owner(struct dso_origin *origin, int fd, const struct dso_key *key);
void dso_note_place(struct dso_origin *origin, const pid_t *pids, size_t n);

/*
 * Opens the root directory where files that the debug information names are looked up. Returns an
 * fd owned by the caller; -EACCES if it is unknown.
 */
int dso_open_origin(const struct dso_origin *origin);

/* Reopens an O_PATH fd for reading; -ENOEXEC if it is not a regular file. */
int dso_reopen(int handle);

/* Whether an open ELF file has the build ID. */
bool dso_is_build(int fd, const uint8_t *id, size_t size);

#endif
