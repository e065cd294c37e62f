/* SPDX-License-Identifier: MIT */
/*
 * Actions of a run on an event, besides delivering it: exec= evaluates an expression, trigger makes
 * a report, and a profiler that is an event (profile/-F 500/) emits its events. Only sources with
 * an action have source_act() as their function, so that the others have no overhead.
 */
#ifndef RUN_SOURCE_ACTIONS_H
#define RUN_SOURCE_ACTIONS_H

#include "run/events/sources.h"

/* Sets the actions of a source from the attributes of its spec. 0 or a negative errno. */
int source_set_actions(struct attar_run *run, struct source *s);

/* Likewise for a source that appears during the run: ignores actions that are invalid for it. */
void source_set_actions_late(struct attar_run *run, struct source *s);

/* Makes source_act() the function of the source. */
void source_wrap(struct source *s);

/* The profiler's function for the source. */
attar_event_fn *source_fn(const struct source *s);

/* Calls the profiler's function and performs the actions of the source. */
attar_event_fn source_act;

/* The profiler's function, then the actions of the source. */
int source_perform(
	struct attar_run *run, void *self, struct source *s, const struct attar_event *event);

#endif
