/* SPDX-License-Identifier: MIT */
/*
 * user_events:NAME: events emitted by programs, through the kernel or shared memory. See
 * perfume/perfume.h.
 */
#ifndef EVENT_USER_EVENT_H
#define EVENT_USER_EVENT_H

#include "collector.h"

#include "event/list.h"

#define USER_EVENTS "user_events"

/*
 * Adds the tracepoints of that name or pattern if the kernel has them, otherwise one spec of kind
 * ATTAR_EVENT_USER. Removes the transport from the parts.
 */
int userevent_add(struct parser *parser, const char *name, struct parts *parts);

/* Kernel support for user_events. */
enum userevent_kernel {
	USEREVENT_KERNEL_YES,
	USEREVENT_KERNEL_NO,     /* built without CONFIG_USER_EVENTS, or too old */
	USEREVENT_KERNEL_UNSEEN, /* unknown: tracefs is not readable or not mounted */
};
enum userevent_kernel userevent_kernel(struct attar_catalog *catalog);

/*
 * Calls fn for each event that programs have registered in shared memory (the processes of pids;
 * none: all processes), without enabling any. Stops at a nonzero result of fn and returns it.
 * Returns 0 or a negative errno otherwise.
 */
int userevent_each(const pid_t *pids, size_t n_pids, perfume_registered_fn *fn, void *ctx);

/* Creates a tracepoint format for an event with these fields; owned by the caller. */
int userevent_format(
	const char *name, const char *fields, int id, struct attar_format **ret_format);

#endif
