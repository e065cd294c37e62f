/* SPDX-License-Identifier: MIT */
/*
 * Rows of single events, which are shown as they occur instead of with the next report.
 *
 * Rings are read first: rows wait in batches, each a separate report, and one batch is shown
 * whenever the rings are empty and the reader of the output accepts it. Reports of intervals wait
 * after the rows of their interval. When the batches have reached the size of --buffer, a batch is
 * shown before more is read from the rings: meanwhile the kernel counts the records that it cannot
 * store, and the command counts the lines that a stalled reader does not accept.
 *
 * In a flight recorder that holds lines (run/parts/flight.c), only what was released is shown, and
 * the oldest batch is dropped instead when the buffer is full.
 */
#ifndef RUN_LINES_H
#define RUN_LINES_H

#include "attar/run.h"
#include "base/vec.h"

struct lines_batch {
	struct attar_report *report;   /* NULL: none */
	struct attar_section *section; /* of report; NULL: a report of an interval */
	const char *name;              /* of the section; borrowed, only compared */
	void (*columns)(struct attar_section *section);
	enum attar_scope scope;
	size_t bytes; /* memory of report */
};

struct run_lines {
	struct lines_batch filling; /* the newest batch; it is not in the queue yet */
	struct lines_batch spare;   /* an empty batch for reuse */
	VEC(struct lines_batch) queue;
	size_t shown; /* batches of the queue that were shown: the oldest one is at[shown] */
	size_t waiting, peak; /* bytes of the batches in the queue */
	size_t largest;       /* bytes of the largest batch */
	bool is_full;         /* show a batch before the next event is delivered */
	bool holds;           /* only released batches are shown */
	bool was_released;    /* with holds: at least once */
	size_t released;      /* with holds: the batches of the queue before this one */
};

void lines_done(struct run_lines *lines);

/* Moves the newest rows to the queue, so that later ones follow what is queued next. */
int lines_close(struct attar_run *run);

/* Takes over a report that is to be shown after the queue. */
int lines_add_report(struct attar_run *run, struct attar_report *report, enum attar_scope scope);

/* Whether batches can be shown. */
static inline bool lines_are_queued(const struct run_lines *lines)
{
	return lines->shown < (lines->holds ? lines->released : lines->queue.n);
}

/* Whether a batch can be shown and the reader accepts it, see attar_run_hooks.ready. */
bool lines_can_show(const struct attar_run *run);

/* Whether batches wait to be released. */
static inline bool lines_hold_some(const struct run_lines *lines)
{
	return lines->holds && lines->released < lines->queue.n;
}

/* With holds: all rows so far may be shown. */
int lines_release(struct attar_run *run);

/* Makes room in the full buffer, by showing the oldest batch or dropping it. */
int lines_make_room(struct attar_run *run);

/* The rings are empty: shows the oldest batch, or the newest rows, if the reader accepts them. */
int lines_show_next(struct attar_run *run);

/* Shows everything, with holds everything that was released. */
int lines_show(struct attar_run *run);

#endif
