/* SPDX-License-Identifier: MIT */
/*
 * trace.h - what PmuTrace*() and UTrace*() have in common: a task whose samples become rows of a
 * separate type, in an array that the caller gets.
 */
#ifndef KPERF_TRACE_H
#define KPERF_TRACE_H

#include "task.h"

/* The rows of a read in progress; the first member of the task's `own`. */
struct kp_rows {
	void *array;
	size_t row_size, n, room;
};

/* A zeroed row at the end; NULL if out of memory. Valid until the next one. */
void *kp_rows_add(struct kp_rows *rows);

/* The name of the event's thread, in memory of the rows; NULL if out of memory. */
const char *kp_rows_comm(struct kp_list *memory, const struct attar_event *event);

/* Opens the target and the events of a task that has no pd yet, for attributes of its kind. */
typedef int kp_trace_open_fn(struct kp_task *task, const void *attr);

/* A new task. Returns its pd; or -1, and the call has failed. */
int kp_trace_open(enum kp_kind kind, const struct attar_catalog_opts *opts, kp_trace_open_fn *open,
	const void *attr);

/*
 * The rows that fn makes of the samples since the previous call; NULL without any. *ret_n is their
 * number; or -1, and the call has failed.
 */
void *kp_trace_read(int pd, enum kp_kind kind, kp_sample_fn *fn, int *ret_n);

#endif
