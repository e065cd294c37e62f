/* SPDX-License-Identifier: MIT */
/* Probes: dynamic events on kernel functions or on code of a file. */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "event/list.h"
#include "tracefs/dynamic_event.h"

/* "kprobe:", "kretprobe:", "uprobe:", "uretprobe:" with parser->p after the colon. */
int probe_parse(struct parser *parser, const char *word, size_t n);

/* True if word is one of these four. */
bool probe_word(const char *word, size_t n);

/*
 * False if /proc/kallsyms is readable and does not have the function; ret_best: a similar name, or
 * "".
 */
bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128]);

#endif
