/* SPDX-License-Identifier: MIT */
/*
 * Stores in a recording what the recorded threads wait for at this moment: no event has it if the
 * wait outlasts the recording. And what the scheduler has counted for them, which no loss of events
 * changes.
 */
#ifndef RUN_RECORD_RECORDED_WAITS_H
#define RUN_RECORD_RECORDED_WAITS_H

#include "attar/run.h"
#include "perfdata/writer.h"

/* 0 or a negative errno. Threads that cannot be read in a limited time are counted. */
int recorded_waits_add(
	struct attar_run *run, struct recording_writer *w, enum recording_moment moment);

#endif
