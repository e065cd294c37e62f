/* SPDX-License-Identifier: MIT */
/*
 * forks.h - separate rows for the threads that appear while a task counts (includeNewFork).
 *
 * The counters of the threads at the open are inherited, so that their sum is exact. A thread that
 * waits for FORK records opens counters of each new thread, on the same CPUs. What these count is
 * moved from the rows of the threads that the counts were inherited from, at most what these have:
 * so the sum stays exact. The counters of a thread are closed when it ends; its row is in the next
 * read.
 */
#ifndef KPERF_FORKS_H
#define KPERF_FORKS_H

#include <stdbool.h>
#include <stdint.h>

struct kp_forks;
struct kp_list;
struct kp_task;
struct PmuAttr;

/* Follows the processes of the attributes. SUCCESS, or the code of the failed call. */
int kp_forks_open(struct kp_task *task, const struct PmuAttr *attr);

/* In what follows, forks may be NULL. */
void kp_forks_free(struct kp_forks *forks);

/* Enables or disables the counters of new threads. SUCCESS, or the code of the failed call. */
int kp_forks_switch(struct kp_forks *forks, bool on);

/* Reads what new threads counted. Before the task's counters are read, which include it. */
void kp_forks_read(struct kp_forks *forks);

/* Moves it out of the differences in the task's counters' `before`. */
void kp_forks_take(struct kp_forks *forks);

/* Adds the rows of new threads. SUCCESS, or the code of the failed call. */
int kp_forks_rows(struct kp_forks *forks, int64_t ts, struct kp_list *list);

#endif
