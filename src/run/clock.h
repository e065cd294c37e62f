/* SPDX-License-Identifier: MIT */
/* The times of a run: its start, its intervals and its end. */
#ifndef RUN_CLOCK_H
#define RUN_CLOCK_H

#include "attar/run.h"

/* ns, CLOCK_MONOTONIC, unless stated otherwise. */
struct run_clock {
	uint64_t first_began;     /* start of the first run of the command */
	uint64_t began;           /* start of this run of the command */
	uint64_t interval_began;  /* end of the previous report */
	uint64_t tick;            /* end of the current interval; UINT64_MAX: none */
	uint64_t progress;        /* when the progress is shown next */
	uint64_t recent;          /* length of the interval being reported */
	uint64_t ended;           /* end of the measurement; 0: still running */
	uint64_t realtime_offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
};

/* Refuses options for clocks that times cannot be converted to. */
int clock_check(const struct attar_run *run);

/* Starts the clock of a run of the command. */
void clock_start(struct run_clock *c);

/* The same for a recording, whose first sample has this time. */
void clock_start_at(struct run_clock *c, uint64_t time);

/* Now, by the clock of the events. */
uint64_t run_now(const struct attar_run *run);

#endif
