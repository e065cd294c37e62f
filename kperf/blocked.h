/* SPDX-License-Identifier: MIT */
/*
 * blocked.h - the time off the CPU as samples (blockedSample).
 *
 * The second event of such a task is a sample at each switch to another thread; a SWITCH record
 * shows when the thread runs again. The period of that sample becomes the time between them in the
 * unit of the first event: times its rate on the CPU, of the thread's last two samples.
 */
#ifndef KPERF_BLOCKED_H
#define KPERF_BLOCKED_H

struct attar_event;
struct kp_blocked;
struct kp_list;

/*
 * Takes an event after its row was added to the list, as the last one. Rows of a switch stay until
 * the thread runs again: the list's last row is removed, and added then. 0 or -ENOMEM.
 */
int kp_blocked_event(
	struct kp_blocked *blocked, const struct attar_event *event, struct kp_list *list);

#endif
