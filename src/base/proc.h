/* SPDX-License-Identifier: MIT */
/* Lists processes, threads and file descriptors in /proc. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include <sys/types.h>

#include "base/buf.h"

/* Called for each number in a directory of /proc; a nonzero result ends the walk. */
typedef int proc_fn(void *ctx, int number);

/*
 * Calls fn for each process, including the caller's; for each thread of a process; for each open
 * file of a process. What appears or ends during the walk may be visited or not, and may have ended
 * when fn is called. Returns 0, the nonzero result of fn, or a negative errno with an error
 * message: -ENOENT if the process does not exist.
 */
int proc_each_process(proc_fn *fn, void *ctx);
int proc_each_thread(pid_t pid, proc_fn *fn, void *ctx);
int proc_each_fd(pid_t pid, proc_fn *fn, void *ctx);

/*
 * Appends a file of /proc with one short line, such as "stat", by one read(2). Returns 0, or a
 * negative errno without an error message.
 */
int proc_read_line(const char *path, struct buf *b);

/*
 * The directory of the threads of a process, kept open: the kernel finds their files there in less
 * time than by their paths. {0} before its first use.
 */
struct proc_tasks {
	pid_t pid; /* 0: none is open */
	int fd;
};

/* proc_read_line() of NAME of a thread of the process. */
int proc_tasks_read_line(
	struct proc_tasks *tasks, pid_t pid, pid_t tid, const char *name, struct buf *b);
void proc_tasks_close(struct proc_tasks *tasks);

/* The state letter of a process in /proc/PID/stat, as 'S'; 0: it does not exist. */
char proc_state(pid_t pid);

/*
 * The same of a thread. In /proc/TID/stat, which has sums of all threads of the process, it takes
 * time for each of them.
 */
char proc_thread_state(pid_t tid);

/* What the scheduler counts of a thread: ns on a CPU and in the run queue, and turns on a CPU. */
struct proc_sched {
	uint64_t ran, delay, turns;
};

/* From /proc/TID/schedstat. False: the thread has ended, or the kernel counts nothing. */
bool proc_read_sched(pid_t pid, pid_t tid, struct proc_sched *ret_sched);

/* The parent of a process; 0: it does not exist, or has none in this PID namespace. */
pid_t proc_parent(pid_t pid);

/* The real user ID of a thread. False: it does not exist. */
bool proc_user(pid_t tid, uid_t *ret_uid);

/*
 * When a process or thread started, in clock ticks since boot; 0: it does not exist. Its number can
 * be used again.
 */
uint64_t proc_started(pid_t tid);

/* Whether a thread has not exited; false for a zombie, which its parent may reap much later. */
bool proc_is_running(pid_t tid);

/*
 * A thread of the process that has not exited: the main thread, or another one if that has exited
 * before the process (pthread_exit(3) in main). 0: the process has ended.
 */
pid_t proc_running_thread(pid_t pid);

/*
 * The thread in whose directory of /proc the mappings, memory and files of the process can be read,
 * which is no longer possible by an exited main thread: proc_running_thread(), or else pid.
 */
pid_t proc_with_memory(pid_t pid);

/* Whether a thread belongs to the kernel. */
bool proc_is_kernel_thread(pid_t tid);

/*
 * Whether this process is in the first PID namespace: in any other one, the kernel's own numbers of
 * tasks, as in fields of tracepoints (common_pid, prev_pid), are not the TIDs of its tasks.
 */
bool proc_has_first_pids(void);

/* The number of a thread in its own PID namespace; 0: unknown. */
pid_t proc_number_inside(pid_t tid);

/* What to do if another process may not be read or traced; a static string. */
const char *proc_access_fix(void);

#endif
