/* SPDX-License-Identifier: MIT */
/*
 * The rows of a time line in the order in which they are drawn: by process, thread or other track,
 * then by begin, the longest first, so that a span comes before those within it. Of equal ones the
 * last one added is first: what is within another ends before it.
 *
 *	struct span_rows rows _cleanup_(span_rows_done) = {0};
 *	if (span_rows_init(&rows, section) < 0) return -ENOMEM;
 *	for (size_t i = 0; i < rows.n; i++) ... rows.at[i] ...
 */
#ifndef REPORT_MODEL_SPANS_H
#define REPORT_MODEL_SPANS_H

#include "report/model/model.h"

struct span_row {
	uint64_t time, duration; /* ns */
	size_t number;           /* in the section */
	uint32_t track;          /* the same for all rows of a thread, of a CPU and so on */
	bool has_thread, has_node, is_sample;
	uint32_t pid, tid;  /* if has_thread; otherwise 0 */
	uint32_t node;      /* if has_node */
	uint64_t weight;    /* of the node; if has_node */
	int64_t cpu;        /* -1: unknown */
	const char *thread; /* strings are borrowed from the section */
	const char *category, *name, *detail;
	const char *waker, *waker_stack; /* "": unknown */
	uint32_t waker_pid, waker_tid;   /* 0: no thread */
};

struct span_rows {
	struct span_row *at;
	size_t n;
};

/* Reads and sorts all rows. Returns 0 or -ENOMEM. */
int span_rows_init(struct span_rows *rows, const struct attar_section *section);

/*
 * Makes one span of states that follow each other and have the same name: their time was divided
 * among samples or intervals. Without a node, if theirs differ. Removes rows that are samples.
 */
void span_rows_join(struct span_rows *rows);
void span_rows_done(struct span_rows *rows);

#endif
