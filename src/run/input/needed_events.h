/* SPDX-License-Identifier: MIT */
/* The events that a profiler needs, and that the user has not named. */
#ifndef RUN_INPUT_NEEDED_EVENTS_H
#define RUN_INPUT_NEEDED_EVENTS_H

#include "attar/run.h"

/*
 * Whether the tracepoint "system:name" exists; a filter may follow the name. Other events are only
 * looked for in recordings.
 */
bool needed_event_exists(struct attar_run *run, const char *event);

/*
 * To be called after one of the inputs, which end with a NULL event, was refused with the error r.
 * If the recording lacks events that are not optional, names them all instead, with the command
 * that records what the profiler needs. A negative errno.
 */
int needed_events_refused(struct attar_run *run, const struct attar_input *inputs, int r);

/* Likewise after the events of an option of the preset were refused. */
int needed_events_preset_refused(struct attar_run *run, int r);

/* Whether the list is one that the preset itself specifies. */
bool needed_events_of_preset(const struct attar_run *run, const char *list);

/*
 * For profilers of tasks: a recording of perf sched has sched_waking instead of sched_wakeup. It
 * names the woken task in the same fields, and is used for sched_wakeup then. Its CPU may differ.
 */
void needed_events_take_wakings(struct attar_run *run);

/* Adds a remark that sched_waking was used. */
void needed_events_remark(const struct attar_run *run, struct attar_report *report);

#endif
