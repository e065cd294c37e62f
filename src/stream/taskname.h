/* SPDX-License-Identifier: MIT */
/*
 * Names of tasks from /proc, as the kernel's own records have them. For its workers /proc appends
 * what they work on ("kworker/0:1-events"), and of its other threads it shows names of any length;
 * the task's own name, which records and tracepoints have, is "kworker/0:1" and has at most 15
 * bytes.
 */
#ifndef STREAM_TASKNAME_H
#define STREAM_TASKNAME_H

#include "base/buf.h"

/* Bytes of a task's name (TASK_COMM_LEN - 1). */
enum { TASKNAME_MAX = 15 };

/* Flags of a task in /proc/PID/stat (PF_* of linux/sched.h). */
enum { TASKNAME_WORKER = 0x20, TASKNAME_KERNEL_THREAD = 0x200000 };

/*
 * How many bytes of the name that /proc shows are the task's own. Other than the kernel's tasks:
 * all.
 */
size_t taskname_length(const char *shown, uint64_t flags);

/*
 * Sets b to the name of thread tid of process pid; tid's own leader when pid is unknown (0). A
 * negative errno, without an error text, when the thread has ended.
 */
int taskname_read(pid_t pid, pid_t tid, struct buf *b);

#endif
