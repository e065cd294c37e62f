/* SPDX-License-Identifier: MIT */
/* The times of a run: its start, its intervals and its end; and the clock that is shown. */
#ifndef RUN_CLOCK_H
#define RUN_CLOCK_H

#include "attar/run.h"

enum { CLOCK_PAIRS = 64 };

/* Readings of two clocks at the same moment. */
struct clock_pair {
	uint64_t time; /* ns, CLOCK_MONOTONIC */
	uint64_t tsc;
};

/* ns, CLOCK_MONOTONIC, unless stated otherwise. */
struct run_clock {
	bool has_turned;          /* see turns_first() */
	bool has_enough;          /* no further events are to be delivered */
	uint64_t first_began;     /* start of the first run of the command */
	uint64_t began;           /* start of this run of the command */
	uint64_t interval_began;  /* end of the previous report */
	bool has_requested;       /* intervals, that ended with a requested report */
	uint64_t tick;            /* when the interval is reported; UINT64_MAX: never */
	uint64_t delay;           /* of tick after the end of the interval */
	uint64_t progress;        /* when the progress is shown next */
	uint64_t recent;          /* length of the interval being reported */
	uint64_t until;           /* end of the time being reported */
	uint64_t ended;           /* end of the measurement; 0: still running */
	uint64_t cut;             /* later samples are left out; 0: none are */
	uint64_t realtime_offset; /* CLOCK_REALTIME minus CLOCK_MONOTONIC */
	uint64_t offset;          /* --clock-offset, modulo 2^64 */
	/* with --tsc and --kvmclock: the newest ones, pair i at i modulo CLOCK_PAIRS */
	struct clock_pair pairs[CLOCK_PAIRS];
	size_t n_pairs;            /* ever taken */
	struct kvmclock *kvmclock; /* of the guest of --kvmclock; NULL: not shown */
};

/* Checks the options that select the displayed clock. Waits for the clock of a guest. */
int clock_check(struct attar_run *run);
void clock_done(struct run_clock *c);

/* Creates a report of the run's profiler, with times of that clock. NULL: out of memory. */
struct attar_report *clock_new_report(const struct attar_run *run);

/*
 * Converts a time of the run's clock to ns since 1970, regardless of the clock that the options
 * select. If a recording has no date, the time is by its clock.
 */
uint64_t run_wall_time(const struct attar_run *run, uint64_t time);

/* Starts the clock of a run of the command. */
void clock_start(struct run_clock *c);

/*
 * Updates the offset of the time of day after it was set or after the machine was suspended, since
 * CLOCK_MONOTONIC stops while it is. Later reports and lines use the new offset.
 */
void clock_follow(struct run_clock *c);

/* Like clock_start(), for a recording whose first sample has this time. */
void clock_start_at(struct run_clock *c, uint64_t time);

/* The current time, by the clock of the events. */
uint64_t run_now(const struct attar_run *run);

#endif
