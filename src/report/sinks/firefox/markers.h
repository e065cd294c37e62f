/* SPDX-License-Identifier: MIT */
/*
 * Rows of a time line as markers of the Firefox Profiler, in the format of
 * report/sinks/firefox/firefox.c.
 */
#ifndef REPORT_SINKS_FIREFOX_MARKERS_H
#define REPORT_SINKS_FIREFOX_MARKERS_H

#include "base/buf.h"
#include "base/intern.h"
#include "report/model/spans.h"

enum { FIREFOX_STACK_CATEGORIES = 6 }; /* of frames, before categories of markers */

/* Milliseconds since the report began. */
double firefox_ms(uint64_t time, uint64_t began);

/* Appends what describes the data of markers, and the categories, each after a comma. */
void firefox_marker_schema(struct buf *b);
void firefox_marker_categories(struct buf *b);

/*
 * Appends the table of the rows that are not samples, and a comma. Names are added to the strings
 * of the thread. Returns 0 or -ENOMEM.
 */
int firefox_markers(struct buf *b, struct intern *strings, const struct span_row *rows, size_t n,
	uint64_t began);

#endif
