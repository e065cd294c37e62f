/* SPDX-License-Identifier: MIT */
#include "run/deliver.h"

#include "base/check_arg.h"
#include "perf/modes.h"
#include "run/counts/counts.h"
#include "run/input/hosts.h"
#include "run/input/range.h"
#include "run/input/recorded_names.h"
#include "run/input/replay.h"
#include "run/intervals.h"
#include "run/poll.h"
#include "run/run.h"
#include "run/parts/actions.h"
#include "run/events/sources.h"
#include "run/parts/timer.h"
#include "stream/stream.h"

/* Samples that a profiler gets together: few enough to stay in the caches. */
enum { SEVERAL_MAX = 128 };

/* ---- one event ---- */

int run_tell_profiler(struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_profiler *profiler = run->profiler;
	int r = profiler->record ? profiler->record(run, run->self, ev) : 0;

	if (r < 0)
		return r;
	switch (ev->record->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		return profiler->lost ? profiler->lost(run, run->self, ev) : 0;
	case PERF_RECORD_EXIT:
		return profiler->exited ? profiler->exited(run, run->self, ev) : 0;
	default:
		return 0;
	}
}

/* To the event function, and nowhere else. */
static inline int deliver_direct(
	struct attar_run *run, const struct source *s, struct attar_event *ev)
{
	run->notes.delivered++;
	ev->fields = s->use->fields;
	return s->use->fn(run, run->self, ev);
}

/* To a source that converts or filters the sample in attar. */
static int deliver_taken(
	struct attar_run *run, const struct source *s, const struct attar_event *ev)
{
	struct attar_record record = *ev->record;
	struct attar_event event = *ev;

	event.record = &record;
	if (source_takes(&run->sources, s, &record, &event))
		return deliver_direct(run, s, &event);
	run->notes.dropped++;
	return 0;
}

static int deliver_to(struct attar_run *run, const struct source *s, struct attar_event *ev)
{
	if (s->use->is_stopped || !modes_have(s->modes, ev->record->misc))
		return 0;
	ev->counter = (uint32_t)(s - run->sources.list.at);
	return s->keep ? deliver_taken(run, s, ev) : deliver_direct(run, s, ev);
}

/*
 * To the source with this number and the others of its list. In the notes it is one event:
 * delivered if one of them takes it.
 */
static int deliver_shared(struct attar_run *run, uint32_t number, struct attar_event *ev)
{
	const uint64_t delivered = run->notes.delivered, dropped = run->notes.dropped;
	int r;

	if (run->sources.list.at[number].spec->place) {
		number = source_at_place(&run->sources, number, ev->record);
		return number == NO_SOURCE ? 0 : deliver_to(run, &run->sources.list.at[number], ev);
	}
	do {
		r = deliver_to(run, &run->sources.list.at[number], ev);
		number = run->sources.list.at[number].shared.next;
	} while (r >= 0 && number && !run_has_enough(run));
	run->notes.dropped = dropped + (run->notes.delivered == delivered);
	return r;
}

/* Whether samples may go past the event function. */
static bool can_skip_fn(const struct source *s)
{
	return s->use->is_direct && s->use->fn != source_act;
}

/* Delivers an event that the profiler does not know of. */
static int deliver_internal(struct attar_run *run, const struct source *s, struct attar_event *ev)
{
	run->notes.dropped++;
	ev->fields = s->use->fields;
	return s->keep && !source_keeps(s->keep, ev) ? 0 : s->use->fn(run, run->self, ev);
}

/*
 * Marks the sources whose samples need nothing but deliver_direct() in this round. False: there can
 * be none, as the numbers of events are not numbers of sources.
 */
static bool mark_direct_sources(struct attar_run *run)
{
	if (run->replay || hosts_are_used(hosts_of(run)))
		return false;
	vec_each (&run->sources.list, s) {
		s->use->is_direct = !s->use->steps && !s->shared.next && !s->usdt && !s->keep &&
				    !s->use->timer && !s->use->is_internal;
	}
	vec_each (&run->sources.list, s) {
		s->use->several.is_on =
			s->use->several.repeats
				? can_skip_fn(s)
				: s->use->several.turns && can_skip_fn(s) &&
					  can_skip_fn(&run->sources.list.at[s->use->several.other]);
	}
	return true;
}

static __attribute__((noinline)) int deliver(struct attar_run *run, struct attar_event *ev)
{
	int r;

	if (unlikely(hosts_of(run)->current != NULL))
		return hosts_deliver(run, ev);
	if (likely(ev->record->type == PERF_RECORD_SAMPLE)) {
		struct source *s;

		if (unlikely(run->replay != NULL))
			return replay_deliver(run, ev);
		s = &run->sources.list.at[ev->counter];
		r = unlikely(s->use->steps) ? parts_sample(run, s->use->steps, ev) : 0;
		if (r)
			return MIN(r, 0);
		if (unlikely(s->use->is_internal))
			return deliver_internal(run, s, ev);
		if (unlikely(s->shared.next))
			return deliver_shared(run, ev->counter, ev);
		if (unlikely(s->usdt || s->keep))
			return deliver_taken(run, s, ev);
		if (unlikely(s->use->timer != NULL) &&
			timer_take_counts(run, s->use->timer, ev) < 0)
			return -ENOMEM;
		return deliver_direct(run, s, ev);
	}
	if (unlikely(run->select.by_emitter))
		select_see_record(run, ev);
	if (run->replay)
		recorded_names_see(run, ev->record);
	r = PARTS_CALL(run, record, ev);
	if (r == 0)
		r = run_tell_profiler(run, ev);
	return MIN(r, 0);
}

int run_deliver_made(struct attar_run *run, struct attar_event *ev)
{
	run->notes.made++;
	return deliver(run, ev);
}

void attar_run_pass_over(struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", );

	run->notes.passed_over++;
}

/* ---- all events, in order of time ---- */

/*
 * The first sample of a recording starts the clock. Counts begin earlier: with the first record
 * that has a time, such as the name of the command.
 */
static int deliver_first(struct attar_run *run, struct attar_event *ev)
{
	if (ev->record->type == PERF_RECORD_SAMPLE || (counts_of(run)->list.n && ev->time)) {
		clock_start_at(&run->clock, ev->time);
		run_set_tick(run, ev->time + run->opts.interval);
	}
	return deliver(run, ev);
}

/*
 * The event of a recording before anything has begun. 1: it is from before the range of --from, and
 * was taken; 0: it is to be delivered.
 */
static int deliver_before_range(struct attar_run *run, struct attar_event *ev)
{
	int r = range_see(run, ev);

	if (r > 0) {
		r = range_pass(run, ev);
		if (r > 0)
			r = deliver(run, ev);
		return r < 0 ? r : 1;
	}
	if (r < 0 || !range_begin(run, ev))
		return r;
	run_set_tick(run, run->clock.began + run->opts.interval);
	vec_each (&run->replay->range.losses, loss)
		if (r >= 0)
			r = deliver(run, &loss->event);
	return MIN(r, 0);
}

/* The event waits for the report of the interval before it. */
static int deliver_after_interval(struct attar_run *run, struct attar_event *ev)
{
	const bool begins = !run->clock.began;
	uint64_t end;
	int r = begins && run->replay ? deliver_before_range(run, ev) : 0;

	if (r)
		return MIN(r, 0);
	if (!run->clock.began)
		return deliver_first(run, ev);
	if (begins && ev->time < run->clock.tick) /* the range has begun */
		return deliver(run, ev);
	end = run_duration_end(run);
	if (run->replay && end && ev->time >= end) {
		run->replay->over = run->clock.has_enough = true;
		run->notes.dropped += ev->record->type == PERF_RECORD_SAMPLE;
		return 0;
	}
	if (run->clock.cut && ev->time >= run->clock.cut) {
		if (ev->record->type != PERF_RECORD_SAMPLE)
			return deliver(run, ev);
		run->notes.dropped++;
		return 0;
	}
	run->notes.is_event_pending = ev->record->type == PERF_RECORD_SAMPLE;
	r = run_report_interval(run, ev->time);
	run->notes.is_event_pending = false;
	return r == 0 ? deliver(run, ev) : r;
}

static inline int next_event(struct attar_run *run, struct attar_event *ret_event)
{
	return unlikely(hosts_are_used(hosts_of(run))) ? hosts_next(run, ret_event)
						       : attar_stream_next(run->stream, ret_event);
}

static inline bool is_direct(const struct attar_run *run, const struct attar_event *ev)
{
	return ev->record->type == PERF_RECORD_SAMPLE &&
	       run->sources.list.at[ev->counter].use->is_direct;
}

/* How many events are delivered until there are enough of them. */
static inline uint64_t count_left(const struct attar_run *run)
{
	return run->opts.count ? run_count_end(run) - run->notes.delivered : UINT64_MAX;
}

/* The samples after ev that are like it. */
static int deliver_repeats(
	struct attar_run *run, const struct source *s, const struct attar_event *ev, uint64_t max)
{
	struct attar_repeats repeats;

	if (!sample_run_repeats(run->stream, run->clock.tick, max, &repeats))
		return 0;
	run->notes.delivered += repeats.n;
	return s->use->several.repeats(run, run->self, ev, &repeats);
}

/* The samples after ev in which another source and its own take turns. */
static int deliver_turns(
	struct attar_run *run, const struct source *s, const struct attar_event *ev, uint64_t max)
{
	struct attar_turns turns;

	if (!sample_run_turns(run->stream, s->use->several.other, run->clock.tick, max / 2, &turns))
		return 0;
	turns.fields = run->sources.list.at[s->use->several.other].use->fields;
	run->notes.delivered += 2 * turns.n;
	return s->use->several.turns(run, run->self, ev, &turns);
}

static __attribute__((noinline)) int deliver_several(
	struct attar_run *run, const struct source *s, const struct attar_event *ev)
{
	const uint64_t max = MIN(count_left(run), (uint64_t)SEVERAL_MAX);

	return s->use->several.repeats ? deliver_repeats(run, s, ev, max)
				       : deliver_turns(run, s, ev, max);
}

/*
 * Whether the event is like the one before it of a source that takes several; otherwise more that
 * are like it rarely follow.
 */
static inline bool is_repeat(struct attar_run *run, const struct attar_event *ev)
{
	struct latest_event *latest = &run->notes.latest;

	if (latest->counter == ev->counter && latest->thread == ev->thread)
		return true;
	*latest = (struct latest_event){.counter = ev->counter, .thread = ev->thread};
	return false;
}

/* To the event function of a direct source. */
static inline int deliver_at_once(struct attar_run *run, struct attar_event *ev)
{
	const struct source *s = &run->sources.list.at[ev->counter];
	int r = deliver_direct(run, s, ev);

	return r < 0 || !s->use->several.is_on || !is_repeat(run, ev) ? r
								      : deliver_several(run, s, ev);
}

/* has_direct: a constant, so that a round without direct sources does not slow the others down. */
static inline __attribute__((always_inline)) int deliver_events(
	struct attar_run *run, const bool has_direct)
{
	struct attar_event ev;
	int r = 0;

	while (!run_has_enough(run) && (r = next_event(run, &ev)) > 0) {
		/* what else can be enough comes with the end of an interval */
		do {
			if (unlikely(ev.time >= run->clock.tick))
				break;
			r = likely(has_direct && is_direct(run, &ev)) ? deliver_at_once(run, &ev)
								      : deliver(run, &ev);
			if (r >= 0 && unlikely(run->lines.is_full))
				r = lines_make_room(run);
			if (r < 0 || unlikely(run->notes.delivered >= run_count_end(run)))
				return MIN(r, 0);
			r = has_direct ? stream_next(run->stream, &ev) : next_event(run, &ev);
		} while (r > 0);
		if (r <= 0)
			return r;
		r = deliver_after_interval(run, &ev);
		if (r >= 0 && unlikely(run->lines.is_full))
			r = lines_make_room(run);
		if (r < 0)
			return r;
	}
	return r;
}

int run_deliver_round(struct attar_run *run)
{
	return mark_direct_sources(run) ? deliver_events(run, true) : deliver_events(run, false);
}

int run_drain(struct attar_run *run)
{
	int r;

	if (!run->stream && !hosts_are_used(hosts_of(run)))
		return 0;
	r = PARTS_CALL(run, round);
	if (r == 0)
		r = PARTS_CALL(run, drain);
	if (r)
		return MIN(r, 0);
	r = run_deliver_round(run);
	if (r >= 0)
		r = PARTS_CALL(run, drained);
	if (r < 0)
		return r;
	/* the caller of attar_run_step() waits for events, not for lines */
	return run_poll_is_used(run) ? lines_show(run) : lines_show_next(run);
}
