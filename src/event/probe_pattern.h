/* SPDX-License-Identifier: MIT */
/*
 * Probes of all functions that match a pattern: uprobe:http_*@FILE, kprobe:tcp_{send,recv}msg. They
 * are the places of one event of tracefs, each with a number that its records have, so that all are
 * opened and closed together; closing an event of its own takes tens of milliseconds for each.
 */
#ifndef EVENT_PROBE_PATTERN_H
#define EVENT_PROBE_PATTERN_H

#include "event/list.h"
#include "tracefs/dynamic_event.h"

/* The number of bytes of a function's name, which may be a pattern. */
size_t probe_pattern_span(const char *text);

/* Whether the name of a function is a pattern: it has *, ? or [] or alternatives in braces. */
bool probe_pattern_is(const char *func);

/* Whether a file has a function that matches. Returns 1 or 0; -ENOMEM, -ENOEXEC, open(2). */
int probe_pattern_is_in(const char *path, const char *file_name, const char *pattern);

/*
 * Adds an event for each function that matches probe->func: in probe->link, or of the kernel. name
 * is the event as it is written. args is for arguments that are not in probe->fetch, because they
 * depend on the function; or NULL. Functions that cannot be probed are skipped, with a note. Fails
 * with -ENOENT if no function matches, -E2BIG if more do than the catalog allows.
 */
int probe_pattern_add(struct parser *parser, const char *at, const struct probe *probe,
	const struct attar_event_option *args, const char *name);

/* The same for the events of a recording whose names match. */
int probe_pattern_add_recorded(struct parser *parser, const char *name);

#endif
