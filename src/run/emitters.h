/* SPDX-License-Identifier: MIT */
/*
 * Profilers as events: profile/-F 500 -g/. Such a profiler has a separate run for its options and
 * state, which is never started; the sources that its open() requests become sources of the run.
 */
#ifndef RUN_EMITTERS_H
#define RUN_EMITTERS_H

#include "base/buf.h"
#include "base/vec.h"
#include "run/sources.h"

struct emitter {
	struct attar_run *run;               /* of the profiler that is an event */
	const struct attar_event_spec *spec; /* that names it, borrowed from a list of the run */
	VEC(struct attar_event_spec *) shown; /* owned: for the run's profiler, of its sources */
	attar_event_fn *fn;                   /* of the run's profiler */
	bool stacks;
	uint32_t number; /* of its first source, as last seen; see first_source() */
};

typedef VEC(struct emitter *) emitters;

/* Of such a run: the events that its profiler has made of the current one, attar_run_emit(). */
struct run_emitted {
	struct attar_format *format; /* NULL: its events are those of its sources, unchanged */
	struct buf records;          /* n, of format->size bytes */
	size_t n;
};

void run_emitted_done(struct run_emitted *emitted);

/* Adds the events of the profiler that the spec names. 0 or a negative errno. */
int emitter_add(struct attar_run *run, const struct attar_event_spec *spec, bool stacks,
	attar_event_fn *fn);

/*
 * After all were added, adds those sources whose events become events of another source of the same
 * profiler: all but the first one, if events have fields of their own. 0 or a negative errno.
 */
int emitters_add_rest(struct attar_run *run);

/*
 * After that. Such a profiler may need events of this process that are none of the other
 * one, such as switches to other tasks: they are delivered to it only.
 */
void emitters_keep_own(struct attar_run *run);

/* Whether the profiler makes this event of its source one of the run's: 1, 0 or a negative errno.
 */
int emitter_emits(struct attar_run *run, const struct source *s, const struct attar_event *event);

/*
 * After emitter_emits() has returned 1 for an event of a source: the number of events; the i-th
 * one, of which record is a part. Both are valid until its next call.
 */
size_t emitter_events(const struct emitter *emitter);
struct attar_event emitter_get_event(struct attar_run *run, const struct source *s, size_t i,
	const struct attar_event *event, struct attar_record *record);

/* Tells their profilers about a record that is not a sample. 0 or a negative errno. */
int emitters_tell(struct attar_run *run, const struct attar_event *event);

/* Frees them; the sources of the run must have been freed. */
void emitters_free(struct attar_run *run);

#endif
