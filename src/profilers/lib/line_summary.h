/* SPDX-License-Identifier: MIT */
/*
 * The summary at the end of a stream of lines: the ten processes, and the ten paths, hosts or other
 * things, with the most lines. A stream of a few lines has none.
 *
 *	line_summary_init(&s->summary, true);
 *	...
 *	line_summary_add(&s->summary, comm, pid, duration);
 *	line_summary_add_thing(&s->summary, 0, path, strlen(path), duration);
 *	...
 *	line_summary_report(&s->summary, run, report, scope, "process", &"PATH", 1);
 */
#ifndef PROFILERS_LIB_LINE_SUMMARY_H
#define PROFILERS_LIB_LINE_SUMMARY_H

#include "attar/run.h"
#include "attar/keytable.h"

enum { LINE_SUMMARY_THINGS = 4 };

struct line_summary {
	struct attar_keytable *processes, *things[LINE_SUMMARY_THINGS];
	bool has_times, is_wanted; /* is_wanted: also of a few lines */
	uint64_t lines, whole;     /* since the previous report, before it */
};

/* has_times: lines have durations. Returns 0 or -ENOMEM. */
int line_summary_init(struct line_summary *s, bool has_times);

/*
 * Adds a line: the name and ID of its process (below 0: unknown), and its duration. 0 or -ENOMEM.
 */
int line_summary_add(struct line_summary *s, const char *comm, int64_t pid, uint64_t duration);

/* Adds what the line is about: n bytes of text. i: which of several things it is. 0 or -ENOMEM. */
int line_summary_add_thing(
	struct line_summary *s, size_t i, const char *thing, size_t n, uint64_t duration);

/*
 * Adds tables to a report that covers more than 20 lines. who: what the processes are; things: what
 * the lines are about, n names.
 */
int line_summary_report(struct line_summary *s, struct attar_run *run, struct attar_report *report,
	enum attar_scope scope, const char *who, const char *const *things, size_t n);

void line_summary_done(struct line_summary *s);

#endif
