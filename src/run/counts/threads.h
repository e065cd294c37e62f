/* SPDX-License-Identifier: MIT */
/*
 * The rows of per-thread counts: exited threads, counts of unknown threads, and partial counts.
 */
#ifndef RUN_COUNTS_THREADS_H
#define RUN_COUNTS_THREADS_H

#include "attar/run.h"
#include "sections/count_table.h"

/*
 * Adds rows for threads that were created during the run and have exited. Counts of unknown threads
 * are moved from the count of their creator to a separate row: the sum of all rows is the total
 * count. 0 or -ENOMEM.
 */
int thread_counts_fill(struct attar_run *run, struct count_table *t);

/*
 * Marks counts as partial whose event the kernel disabled before the task exited. by_thread: keys
 * are threads.
 */
void thread_counts_mark(const struct attar_run *run, struct count_table *t, bool by_thread);

/*
 * The tid and name of the thread with this key; tid 0: unknown threads. *ret_comm is NULL if the
 * name is unknown.
 */
pid_t thread_counts_name(const struct attar_run *run, int number, const char **ret_comm);

/* Sets *ret_number to the key of another thread with a tid that is a key already. 0 or -ENOMEM. */
int thread_counts_reuse(struct attar_run *run, pid_t tid, int *ret_number);

/* Whether it is the number of the row [unassigned], which is always the last key of a table. */
bool thread_counts_is_unassigned(int number);

#endif
