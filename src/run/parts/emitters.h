/* SPDX-License-Identifier: MIT */
/*
 * Profilers as events: profile/-F 500 -g/. Such a profiler has a separate run for its options and
 * state, which is never started; the sources that its open() requests become sources of the run.
 */
#ifndef RUN_PARTS_EMITTERS_H
#define RUN_PARTS_EMITTERS_H

#include "base/buf.h"
#include "base/vec.h"
#include "run/events/sources.h"

struct emitter {
	struct attar_run *run;                /* of the profiler that is an event */
	const struct attar_event_spec *spec;  /* that names it, borrowed from a list of the run */
	VEC(struct attar_event_spec *) shown; /* owned: for the run's profiler, of its sources */
	attar_event_fn *fn;                   /* of the run's profiler */
	bool stacks;
	uint32_t number; /* of its first source, as last seen; see first_source() */
	/*
	 * Whether it turns an event of its source into events of the run: 1, 0, or a negative
	 * errno; and then, the actions of these.
	 */
	int (*emits)(
		struct attar_run *run, const struct source *s, const struct attar_event *event);
	int (*act)(struct attar_run *run, void *self, struct source *s,
		const struct attar_event *event);
	uint64_t limit, n; /* -N, 0: none; events so far, if there is a limit */
	uint64_t n_taken;  /* events of its sources so far */
	bool has_made;     /* any event */
};

#endif
