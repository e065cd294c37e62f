/* SPDX-License-Identifier: MIT */
/* The attribute args= of probes: what the event fetches. */
#ifndef EVENT_PROBE_ARGS_H
#define EVENT_PROBE_ARGS_H

#include "event/fetch.h"
#include "event/list.h"
#include "tracefs/dynamic_event.h"

/* Whether one of the arguments is C, whose meaning depends on the probed function. */
bool probe_args_are_c(const struct attar_event_option *option);

/*
 * Converts "(a=$arg1 b=+8(%si):u32 c=file->f_flags)", with or without the outer parentheses, to
 * what tracefs reads, with a blank before each argument. names has the function; its btf is set
 * here if it is needed. Returns 0 or a negative errno; the error message shows the place
 * in the event string.
 */
int probe_args_read(struct parser *parser, const struct attar_event_option *option, bool is_user,
	const struct fetch_names *names, struct buf *ret_fetch);

#endif
