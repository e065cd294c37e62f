/* SPDX-License-Identifier: MIT */
/*
 * The rows of stat --per-thread: threads that ended, those not told apart, and counts that lack a
 * part.
 */
#ifndef PROFILERS_THREADCOUNTS_H
#define PROFILERS_THREADCOUNTS_H

#include "attar/run.h"
#include "stats/counter_table.h"

/*
 * Adds to the counts of the watched threads those of threads that were started meanwhile and have
 * ended. What is of unknown threads is taken from the count of the one that started them into a row
 * of its own: the sum of all rows is what was counted. 0 or -ENOMEM.
 */
int thread_counts_fill(struct attar_run *run, struct counter_table *t);

/*
 * Marks as partial what the kernel ended counting before its task ended. by_thread: keys are
 * threads.
 */
void thread_counts_mark(const struct attar_run *run, struct counter_table *t, bool by_thread);

/*
 * The tid and name of the thread that a key numbers; 0: of unknown ones. *ret_comm is NULL when not
 * known.
 */
pid_t thread_counts_name(const struct attar_run *run, int number, const char **ret_comm);

#endif
