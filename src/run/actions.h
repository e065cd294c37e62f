/* SPDX-License-Identifier: MIT */
/*
 * What the run does with an event besides delivering it: exec= evaluates an expression, trigger
 * makes a report, and events of a profiler (profile/-F 500/) are those that it emits. Sources with
 * one of these have source_act() as their function, so that others cost nothing.
 */
#ifndef RUN_ACTIONS_H
#define RUN_ACTIONS_H

#include "run/sources.h"

/* Sets the actions of a source from the attributes of its spec. 0 or a negative errno. */
int source_set_actions(struct attar_run *run, struct source *s);

/* The same for a source that appears during the run: ignores actions that are invalid for it. */
void source_set_actions_late(struct attar_run *run, struct source *s);

/* Makes source_act() its function. */
void source_wrap(struct source *s);

/* Its function in the profiler. */
attar_event_fn *source_fn(const struct source *s);

/* Calls the function of the profiler, and acts. */
attar_event_fn source_act;

#endif
