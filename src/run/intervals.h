/* SPDX-License-Identifier: MIT */
/* Reports: of intervals, of the whole run, and those that are requested during a run. */
#ifndef RUN_INTERVALS_H
#define RUN_INTERVALS_H

#include "attar/run.h"

/* The end of --duration, in ns of the run's clock. 0: none. */
uint64_t run_duration_end(const struct attar_run *run);

/*
 * Sets the end of the interval: `until`, or the end of the run. For a recording, both are times of
 * its events.
 */
void run_set_tick(struct attar_run *run, uint64_t until);

/*
 * Creates the report of a scope; until: the end of the time that is reported. The caller frees it.
 * 0 or a negative errno, as all of the following.
 */
int run_make_report(struct attar_run *run, enum attar_scope scope, uint64_t until,
	struct attar_report **ret_report);

/* Creates the report and calls the hook, at once or after the lines that are queued. */
int run_report(struct attar_run *run, enum attar_scope scope, uint64_t until);

/* Calls the report hook, if there is one. */
int run_give_report(struct attar_run *run, const struct attar_report *out, enum attar_scope scope);

/*
 * Reports the interval, or several that passed without a report. All events before `time` have been
 * delivered. An event belongs to the interval that contains its timestamp, a count to the one in
 * which it was read.
 */
int run_report_interval(struct attar_run *run, uint64_t time);

/*
 * Reports, on request, the time since the previous report. All events before `now` have been
 * delivered, and perhaps some later ones.
 */
int run_report_request(struct attar_run *run, uint64_t now);

/*
 * Reports the time since the previous report, on request of the event that is being delivered,
 * which belongs to this interval.
 */
int run_report_now(struct attar_run *run, uint64_t time);

#endif
