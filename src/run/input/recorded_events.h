/* SPDX-License-Identifier: MIT */
/* Describes the events of a run in a recording. */
#ifndef RUN_INPUT_RECORDED_EVENTS_H
#define RUN_INPUT_RECORDED_EVENTS_H

#include "attar/run.h"
#include "base/map.h"
#include "perfdata/writer.h"

/* Adds all events of the run's stream to a writer. 0 or -ENOMEM. */
int recorded_events_add(struct attar_run *run, struct recording_writer *w);

/*
 * At the end of a recording: adds what each instance of an event has lost. The kernel reports a
 * loss in a ring with its next record only, which the last ones do not have. `earlier` has the
 * losses up to the start of the recording, by id, and gets the losses of now. 0 or -ENOMEM.
 */
int recorded_losses_add(
	struct recording_writer *w, const struct attar_stream *stream, struct map *earlier);

/* Only sets `earlier`, at the start of a recording. 0 or -ENOMEM. */
int recorded_losses_begin(const struct attar_stream *stream, struct map *earlier);

#endif
