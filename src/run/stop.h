/* SPDX-License-Identifier: MIT */
/* Requests to stop a run, also from signal handlers and other threads. */
#ifndef RUN_STOP_H
#define RUN_STOP_H

#include "attar/run.h"
#include "run/run.h"

struct run_stop {
	int fd;    /* an eventfd that attar_run_stop() writes */
	int asked; /* attar_run_stop() was called; atomic, also for opening and closing events */
	bool seen; /* the loop ended because of it */
};

SHARED_STATE(stop_of, struct run_stop, STOP)

/* Closes the descriptor. */
void stop_done(struct run_stop *stop);

/* Whether attar_run_stop() was called. */
bool run_stop_asked(const struct attar_run *run);

#endif
