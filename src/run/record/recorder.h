/* SPDX-License-Identifier: MIT */
/*
 * Writes the records of a run's rings to a perf.data file instead of delivering events. The bytes
 * go from the rings to the thread that writes as they are: nothing is decoded or ordered.
 */
#ifndef RUN_RECORD_RECORDER_H
#define RUN_RECORD_RECORDER_H

#include "attar/builtin.h"
#include "base/map.h"
#include "perfdata/writer.h"
#include "run/input/late_ids.h"
#include "run/record/recorded_groups.h"
#include "run/run.h"

struct run_recorder {
	bool is_on;       /* attar_run_record(): rings are copied instead of delivered */
	bool to_file;     /* also to a file, not only to receivers */
	size_t known_ids; /* of the stream, that the writer has */
	struct late_ids ids;
	uint64_t losses;                     /* LOST records so far */
	struct attar_run_record_opts opts;   /* strings are the run's */
	struct recording_writer *writer;     /* NULL: not opened yet, or closed */
	struct recording_writer_stats stats; /* final, after recorder_end() */
	bool is_full;                        /* the limit was reached */
	uint64_t left;                       /* samples until --count is reached, in this round */
	struct portable *portable;           /* NULL: no --portable */
	struct map lost;                     /* by event id: losses that earlier files have */
	struct recorded_groups groups;
};

SHARED_STATE(recorder_of, struct run_recorder, RECORDER)

static inline bool run_records(const struct attar_run *run)
{
	return recorder_of(run)->is_on;
}

/*
 * Gives the file and receivers the ids that events have got since the last call, such as the ids of
 * a CPU that has come online. 0 or a negative errno.
 */
int recorder_add_ids(struct attar_run *run);

/* Calls recorded_losses_add(), unless the recording has all samples of --count. */
int recorder_add_losses(struct attar_run *run, struct recording_writer *w, struct map *earlier);

#endif
