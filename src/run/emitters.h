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
	struct attar_run *run;                /* of the profiler that is an event */
	const struct attar_event_spec *spec;  /* that names it, borrowed from a list of the run */
	VEC(struct attar_event_spec *) shown; /* owned: for the run's profiler, of its sources */
	attar_event_fn *fn;                   /* of the run's profiler */
	bool stacks;
	uint32_t number;   /* of its first source, as last seen; see first_source() */
	uint64_t limit, n; /* -N, 0: none; events so far, if there is a limit */
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
 * To be called after all emitters were added: for profilers whose events have their own fields,
 * adds the sources after the first one; their events become events of the first one. 0 or a
 * negative errno.
 */
int emitters_add_rest(struct attar_run *run);

/*
 * To be called after emitters_add_rest(): prepares the selection of events by the run. An emitter
 * may need events of this process, such as
 * switches to other tasks, that the run's profiler does not take: only the emitter receives them.
 */
void emitters_keep_own(struct attar_run *run);

/*
 * Whether the emitter turns this event of its source into events of the run: 1, 0, or a negative
 * errno.
 */
int emitter_emits(struct attar_run *run, const struct source *s, const struct attar_event *event);

/*
 * After emitter_emits() has returned 1 for an event of a source: the number of emitted events, and
 * the i-th of them, whose record is stored in *record. Valid until the next emitter_emits().
 */
size_t emitter_events(const struct emitter *emitter);
struct attar_event emitter_get_event(struct attar_run *run, const struct source *s, size_t i,
	const struct attar_event *event, struct attar_record *record);

/*
 * To be called before each of them. At the limit of -N, it ends the samples. 0 or a negative errno.
 */
int emitter_count(struct attar_run *run, struct emitter *emitter);

/* Passes a record that is not a sample to all emitters. 0 or a negative errno. */
int emitters_tell(struct attar_run *run, const struct attar_event *event);

/* Frees the emitters; the sources of the run must have been freed. */
void emitters_free(struct attar_run *run);

#endif
