/* SPDX-License-Identifier: MIT */
/*
 * Watched processes whose events the kernel has ended because they executed a set-user-ID program.
 * A run with a stream learns it there. A run that only counts opens a stream for it: of an event
 * that never happens, with small rings, on the same tasks.
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
 * After the run's own events. Without rings (locked memory, descriptors) the run goes on without.
 */
void setuid_open(struct attar_run *run);

/* Takes what has come. */
void setuid_drain(struct attar_run *run);

/* The same for the last time, when what is watched has ended. */
void setuid_stop(struct attar_run *run);

/* Before the run's streams are freed. */
void setuid_close(struct attar_run *run);

/* How many such processes there are, in this run of the command. */
uint64_t setuid_count(const struct attar_run *run);

/* Into the report: that what they did is missing. */
void setuid_remark(const struct attar_run *run, struct attar_report *report);

#endif
