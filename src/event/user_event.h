/* SPDX-License-Identifier: MIT */
/*
 * user_events:NAME: events that programs emit, by the kernel or without it. See perfume/perfume.h.
 */
#ifndef EVENT_USER_EVENT_H
#define EVENT_USER_EVENT_H

#include "collector.h"

#include "event/list.h"

#define USER_EVENTS "user_events"

struct tracepoint_parts {
	const char *filter;
	const struct attar_event_option *options;
	size_t n_options;
};

/*
 * The tracepoints of that name or pattern where the kernel has them, otherwise one spec of kind
 * USER. Takes the transport out of the parts.
 */
int userevent_add(struct parser *parser, const char *name, struct tracepoint_parts *parts);

/* What the kernel has of it. */
enum userevent_kernel {
	USEREVENT_KERNEL_YES,
	USEREVENT_KERNEL_NO,     /* compiled without CONFIG_USER_EVENTS, or too old */
	USEREVENT_KERNEL_UNSEEN, /* tracefs may not be looked into, or is not there */
};
enum userevent_kernel userevent_kernel(struct attar_catalog *catalog);

/*
 * Calls fn for each event that a program has registered in memory which it shares (of these
 * processes; none: of all), until it returns what is not 0. Listens to none of them. That result,
 * or a negative errno.
 */
int userevent_each(const pid_t *pids, size_t n_pids, perfume_registered_fn *fn, void *ctx);

/* The format of an event with these fields, as that of a tracepoint; owned by the caller. */
int userevent_format(
	const char *name, const char *fields, int id, struct attar_format **ret_format);

#endif
