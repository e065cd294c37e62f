/* SPDX-License-Identifier: MIT */
/*
 * What /proc/TID/stat says about tasks. Names are as they appear in the kernel's records: for
 * workers, /proc appends their current work ("kworker/0:1-events"), and it shows longer names of
 * other kernel threads; the task's own name, as in records and tracepoints, is "kworker/0:1" and
 * has at most 15 bytes.
 */
#ifndef STREAM_TASK_NAME_H
#define STREAM_TASK_NAME_H

#include "base/buf.h"

/* Maximum length of a task's name in bytes (TASK_COMM_LEN - 1). */
enum { TASK_NAME_MAX = 15 };

/* Flags of a task in /proc/PID/stat (PF_* of linux/sched.h). */
enum { TASK_NAME_WORKER = 0x20, TASK_NAME_KERNEL_THREAD = 0x200000 };

/*
 * The number of bytes of the name shown by /proc that are the task's own name. All, unless it is a
 * kernel thread.
 */
size_t task_name_length(const char *shown, uint64_t flags);

/* What else the file says. */
struct task_facts {
	pid_t parent;     /* of its process; 0: none here */
	uint64_t started; /* ns, CLOCK_MONOTONIC; exact to 10 ms */
	bool is_kernel;   /* a kernel thread */
};

/*
 * Sets b to the name of thread tid of process pid; pid 0: unknown, tid is then looked up as
 * /proc/TID. ret_facts may be NULL. Returns a negative errno, without an error message, if the
 * thread has exited.
 */
int task_name_read(pid_t pid, pid_t tid, struct buf *b, struct task_facts *ret_facts);

#endif
