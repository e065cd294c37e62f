/* SPDX-License-Identifier: MIT */
/*
 * Profilers as events: profile/-F 500 -g/. Such a profiler has a separate run for its options and
 * state, which is never started; the sources that its open() requests become sources of the run.
 */
#ifndef RUN_EMITTERS_H
#define RUN_EMITTERS_H

#include "base/vec.h"
#include "run/sources.h"

struct emitter {
	struct attar_run *run;               /* of the profiler that is an event */
	const struct attar_event_spec *spec; /* that names it, borrowed from a list of the run */
};

typedef VEC(struct emitter *) emitters;

/* Adds the events of the profiler that the spec names. 0 or a negative errno. */
int emitter_add(struct attar_run *run, const struct attar_event_spec *spec, bool stacks,
	attar_event_fn *fn);

/*
 * After all were added. Such a profiler may need events of this process that are none of the other
 * one, such as switches to other tasks: they are delivered to it only.
 */
void emitters_keep_own(struct attar_run *run);

/* Whether the profiler makes this event of its source one of the run's: 1, 0 or a negative errno.
 */
int emitter_emits(struct attar_run *run, const struct source *s, const struct attar_event *event);

/* Tells their profilers about a record that is not a sample. 0 or a negative errno. */
int emitters_tell(struct attar_run *run, const struct attar_event *event);

/* Frees them; the sources of the run must have been freed. */
void emitters_free(struct attar_run *run);

#endif
