/* SPDX-License-Identifier: MIT */
/*
 * Detects watched processes whose events the kernel disabled because they executed a set-user-ID
 * program. A run with a stream learns it from the stream. A run that only counts opens one for this
 * purpose: a dummy event with small rings on the same tasks.
 */
#ifndef RUN_SETUID_H
#define RUN_SETUID_H

#include "attar/run.h"

struct setuid_watch {
	/* NULL, all three: the run has a stream, or watches no tasks, or it could not be opened */
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
	uint64_t before; /* such processes in earlier runs of the command */
};

/*
 * To be called after the run's own events are open. If rings cannot be mapped (locked memory,
 * descriptors), the run continues without the detection.
 */
void setuid_open(struct attar_run *run);

/* The number of files that setuid_open() will open; 0 if it is not needed. */
size_t setuid_files(const struct attar_run *run);

/* Processes pending records. */
void setuid_drain(struct attar_run *run);

/* Stops the stream and processes the remaining records, at the end of the measurement. */
void setuid_stop(struct attar_run *run);

/* To be called before the run's streams are freed. */
void setuid_close(struct attar_run *run);

/* How many such processes there are, in this run of the command. */
uint64_t setuid_count(const struct attar_run *run);

/* Adds a remark to the report that their events are missing. */
void setuid_remark(const struct attar_run *run, struct attar_report *report);

#endif
