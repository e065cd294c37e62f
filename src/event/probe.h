/* SPDX-License-Identifier: MIT */
/* Probes: places in the kernel or in a file that become events. */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "event/list.h"
#include "tracefs/dynamic_event.h"

/* "kprobe:", "kretprobe:", "uprobe:", "uretprobe:" with parser->p behind the colon. */
int probe_parse(struct parser *parser, const char *word, size_t n);

/* True for one of these four words. */
bool probe_word(const char *word, size_t n);

/* True unless /proc/kallsyms can be read and lacks the function; ret_best: one like it, or "". */
bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128]);

#endif
