/* SPDX-License-Identifier: MIT */
/* Probes: dynamic events on kernel functions or on code of a file. */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "event/list.h"
#include "event/pmu.h"
#include "tracefs/dynamic_event.h"

/* "kprobe:", "kretprobe:", "uprobe:", "uretprobe:" with parser->p after the colon. */
int probe_parse(struct parser *parser, const char *word, size_t n);

/* Adds the event of a probe, whose name is owned by the list. */
int probe_add(struct parser *parser, const struct probe *probe, const char *name);

/* Fails and lists the events of the recording. */
int probe_not_recorded(struct parser *parser);

/* True if word is one of these four. */
bool probe_word(const char *word, size_t n);

/*
 * The real path of a file: a path, or the name of a library in the standard directories or of a
 * program in PATH. Returns 0 and a path to be freed, or a negative errno.
 */
int probe_find_file(const char *name, char **ret_path);

/*
 * Adds an event of the uprobe or kprobe PMU for the probe, whose strings are owned by the list. It
 * fetches no arguments and exists as long as its file descriptor.
 */
int probe_add_by_pmu(struct parser *parser, const struct probe *probe, struct pmu *pmu);

/*
 * False if /proc/kallsyms is readable and does not have the function; ret_best: a similar name, or
 * "".
 */
bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128]);

#endif
