/* SPDX-License-Identifier: MIT */
/*
 * The waker of a task: the task in whose context sched:sched_waking occurs (sched_wakeup may occur
 * on another CPU), or an interrupt. The stack of an interrupt does not include the frames of the
 * task that it interrupted.
 */
#ifndef PROFILERS_SCHED_WAKERS_H
#define PROFILERS_SCHED_WAKERS_H

#include "attar/run.h"

enum { WAKER_COMM_BYTES = 16, WAKER_DEPTH_MAX = 64, WAKERS_SEEN = 1024 };

struct waker {
	char comm[WAKER_COMM_BYTES]; /* "[interrupt]"; "": unknown */
	int32_t pid, tid;            /* 0: an interrupt, or unknown */
	uint16_t depth;
	attar_location stack[WAKER_DEPTH_MAX];
};

/* Initialized to zeroes. */
struct wakers {
	struct {
		attar_location location;
		bool is_entry; /* of interrupts */
	} seen[WAKERS_SEEN];   /* by hash of the location */
};

/* The fields of inputs that use WAKERS_EVENT: the number of the task, and its flags. */
enum { WAKERS_TID, WAKERS_FLAGS };

#define WAKERS_EVENT .event = "sched:sched_waking", .fields = {"pid", "?common_flags"}

/* The waker of an event of such an input. Sets all but unused places of the stack. */
void wakers_read(struct wakers *wakers, struct attar_run *run, const struct attar_event *ev,
	struct waker *ret_waker);

#endif
