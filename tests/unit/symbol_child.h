/* SPDX-License-Identifier: MIT */
/* A running symbol_target and the addresses that it prints of its functions. */
#ifndef SYMBOL_CHILD_H
#define SYMBOL_CHILD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int in; /* closing it ends the child */
	int out;
	unsigned n;
	struct child_function {
		char name[64];
		uint64_t address;
	} functions[8];
};

/* Runs in the child before it becomes program; false: it exits instead, and child_start() returns
 * false. */
typedef bool child_prepare_fn(void *ctx);

bool child_start(struct child *child, const char *program, child_prepare_fn *prepare, void *ctx);
void child_stop(struct child *child);

/* Returns the path of another file in this test's build folder, in a static buffer. */
const char *child_path(const char *name);

/* A new empty directory under /tmp, in a static buffer; child_clean() removes it and all below. */
const char *child_directory(void);
void child_clean(void);

/*
 * Copies a file of the build folder to a descriptor, or to a new program: in an emulated guest, a
 * shell and cp take 200 ms.
 */
bool child_copy(const char *name, int to);
bool child_copy_file(const char *name, const char *path);

/* Runs a shell command, formatted as by printf(); true if it exits with 0. */
bool child_shell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
