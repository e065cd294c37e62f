/* SPDX-License-Identifier: MIT */
/* Lists processes, threads and file descriptors in /proc. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <sys/types.h>

#include "base/base.h"

/* Called for each number in a directory of /proc; a nonzero result ends the walk. */
typedef int proc_fn(void *ctx, int number);

/*
 * Calls fn for each process, including the caller's; for each thread of a process; for each open
 * file of a process. What appears or ends during the walk may be visited or not, and may have ended
 * when fn is called. Returns 0, the nonzero result of fn, or a negative errno with an error text:
 * -ENOENT if the process does not exist.
 */
int proc_each_process(proc_fn *fn, void *ctx);
int proc_each_thread(pid_t pid, proc_fn *fn, void *ctx);
int proc_each_fd(pid_t pid, proc_fn *fn, void *ctx);

/* The state letter of a process in /proc/PID/stat, as 'S'; 0: it does not exist. */
char proc_state(pid_t pid);

/* Whether a thread belongs to the kernel. */
bool proc_is_kernel_thread(pid_t tid);

/* What to do if another process may not be read or traced; a static string. */
const char *proc_access_fix(void);

#endif
