/* SPDX-License-Identifier: MIT */
/*
 * Delivers the events of a run to its profiler, in order of time, with the reports of the intervals
 * between them. The functions return 0 or a negative errno.
 */
#ifndef RUN_DELIVER_H
#define RUN_DELIVER_H

#include "attar/run.h"

/* Delivers the events that the rings or the recording contain now. */
int run_drain(struct attar_run *run);

/* Delivers them once, without what follows a round. Not negative, or a negative errno. */
int run_deliver_round(struct attar_run *run);

/* Delivers a sample that a part has made, as if the source had had it. */
int run_deliver_made(struct attar_run *run, struct attar_event *ev);

/* Calls the functions of the profiler for a record that is not a sample. */
int run_tell_profiler(struct attar_run *run, const struct attar_event *ev);

#endif
