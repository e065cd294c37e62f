/* SPDX-License-Identifier: MIT */
/* Describes the events of a run in a recording. */
#ifndef RUN_RECORDED_EVENTS_H
#define RUN_RECORDED_EVENTS_H

#include "attar/run.h"
#include "base/vec.h"
#include "recording/writer.h"

/* The text of a tracepoint's format file, which writers borrow. */
struct recorded_format {
	const struct attar_format *format;
	char *text; /* owned */
};

typedef VEC(struct recorded_format) recorded_formats;

/* Adds all events of the run's stream to a writer. 0 or -ENOMEM. */
int recorded_events_add(struct attar_run *run, struct recording_writer *w);

void recorded_events_done(struct attar_run *run);

#endif
