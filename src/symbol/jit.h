/* SPDX-License-Identifier: MIT */
/*
 * Finds the jit-PID.dump and perf-PID.map of a process. Any user can create such a file in /tmp, so
 * it is accepted only if it is a regular file owned by the user of the process or by root.
 */
#ifndef SYMBOL_JIT_H
#define SYMBOL_JIT_H

#include "symbol/jitdump.h"

struct jit {
	pid_t pid, inner; /* PID in our and in its own PID namespace; inner 0: never seen alive */
	uid_t uid;        /* the process's effective user while inner is known */
	char path[40];    /* as the process sees it; "" until the file was found */
	int fd;           /* the open file, -1 otherwise */
	bool was_asked;   /* for a map, see java_map.h */
	uint64_t checked; /* CLOCK_MONOTONIC in ns of the last check for new entries */
	uint64_t missed;  /* the same of the last search that found no file; 0: none */
	struct perfmap map;
	const char *dump_path; /* of the jitdump that the process has mapped; NULL: none */
	int dump_fd;           /* the open jitdump, -1 otherwise */
	uint16_t dumps;        /* jitdumps so far, modulo 2^16 */
	struct jitdump dump;
};

void jit_init(struct jit *jit, pid_t pid);

/* The process has mapped this jitdump. The path is borrowed until jit_done(). */
void jit_set_dump(struct jit *jit, const char *path);

/*
 * Finds and opens the files while the process is alive. Returns 0; -ENOENT if there is none, or
 * none is trusted.
 */
int jit_open(struct jit *jit);

/* Code of a JIT compiler. */
struct jit_code {
	struct perfmap_entry entry;
	bool in_dump; /* in the jitdump, otherwise in the perf map */
};

/*
 * Reads new entries and finds the newest one that contains address, in the jitdump, otherwise in
 * the perf map. False: there is none.
 */
bool jit_find(struct jit *jit, uint64_t address, struct jit_code *ret_code);

/* The path of the file that describes the code; borrowed. */
const char *jit_path(const struct jit *jit, const struct jit_code *code);

int jit_name(const struct jit *jit, const struct jit_code *code, struct buf *name);

/* As jitdump_line(); a perf map has no lines. */
int jit_line(const struct jit *jit, const struct jit_code *code, uint64_t address, struct buf *file,
	uint32_t *ret_line);

/* As jitdump_code(); a perf map has no code. */
int jit_bytes_at(const struct jit *jit, const struct jit_code *code, uint64_t address, void *bytes,
	size_t n, uint16_t *ret_machine);

/* Whether a file is open. */
static inline bool jit_is_open(const struct jit *jit)
{
	return jit->fd >= 0 || jit->dump_fd >= 0;
}

/* How many files are open. */
static inline unsigned jit_files(const struct jit *jit)
{
	return (unsigned)(jit->fd >= 0) + (jit->dump_fd >= 0);
}

/* Opens the files of the same process that are open in from, unless jit has its own. */
void jit_share(struct jit *jit, const struct jit *from);

/* The memory of the indexes, in bytes. */
size_t jit_bytes(const struct jit *jit);

/* Drops the indexes, which are read again by the next lookup. */
void jit_drop(struct jit *jit);

void jit_close(struct jit *jit);
void jit_done(struct jit *jit);

#endif
