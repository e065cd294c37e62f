/* SPDX-License-Identifier: MIT */
/* The memory of other processes, which may be hostile. */
#ifndef BASE_PROC_MEMORY_H
#define BASE_PROC_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/*
 * Reads up to n bytes, fewer if a page cannot be read. Returns their number, or a negative errno
 * without an error message: -ETIMEDOUT if the memory is in a file whose server does not answer, or
 * if several reads before were too late.
 *
 * Whoever serves the pages of a mapping, as a FUSE file system or by userfaultfd(2), decides how
 * long a read takes, and only SIGKILL ends it, if anything. So a child process reads, and is given
 * up if it is too late.
 */
ssize_t proc_memory_read(pid_t tid, uint64_t address, void *bytes, size_t n);

/*
 * The first hold starts a child process, which reads until the last release. Without one, each read
 * starts its own.
 */
void proc_memory_hold(void);
void proc_memory_release(void);

#endif
