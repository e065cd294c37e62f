/* SPDX-License-Identifier: MIT */
/*
 * Writes the records of a run's rings to a perf.data file instead of delivering events. The bytes
 * go from the rings to the thread that writes as they are: nothing is decoded or ordered.
 */
#ifndef RUN_RECORDER_H
#define RUN_RECORDER_H

#include "attar/run.h"
#include "base/map.h"
#include "recording/writer.h"
#include "run/late_ids.h"

struct run_recorder {
	size_t known_ids; /* of the stream, that the writer has */
	struct late_ids ids;
	uint64_t losses;                     /* LOST records so far */
	bool wanted;                         /* attar_run_record() was called */
	struct attar_run_record_opts opts;   /* strings are the run's */
	struct recording_writer *writer;     /* NULL: not opened yet, or closed */
	struct recording_writer_stats stats; /* final, after recorder_end() */
	bool full;                           /* the limit was reached */
	uint64_t left;                       /* samples until --count is reached, in this round */
	struct portable *portable;           /* NULL: no --portable */
	struct map lost;                     /* by event id: losses that earlier files have */
};

/* Opens the file and writes what exists. To be called after the stream was started. */
int recorder_begin(struct attar_run *run);

/*
 * Gives the file and receivers the ids that events have got since the last call, such as those of a
 * CPU that has come online. 0 or a negative errno.
 */
int recorder_add_ids(struct attar_run *run);

/* Writes the contents of the rings. */
int recorder_drain(struct attar_run *run);

/* Completes the file. */
int recorder_end(struct attar_run *run);

/* True after the last sample of --count: later losses do not concern the recording. */
bool recorder_has_all(const struct attar_run *run);

/* Calls recorded_losses_add(), unless recorder_has_all(). */
int recorder_add_losses(struct attar_run *run, struct recording_writer *w, struct map *earlier);

void recorder_done(struct attar_run *run);

#endif
