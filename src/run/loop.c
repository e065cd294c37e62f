/* SPDX-License-Identifier: MIT */
/* Drives a run in steps: open, start, deliver events, report each interval and at the end. */
#include <poll.h>

#include "base/check.h"
#include "base/opts.h"
#include "perf/target.h"
#include "report/model.h"
#include "run/actions.h"
#include "run/database.h"
#include "run/run.h"
#include "stream/stream.h"
#include "symbol/symbols.h"

/* Samples that a profiler gets together: few enough to stay in the caches. */
enum { REPEATS_MAX = 128 };

/* ---- delivering ---- */

static bool enough(const struct attar_run *run)
{
	if (run->replay && run->replay->over)
		return true;
	if (run->recorder.full)
		return true;
	return run->opts.count && run->notes.delivered >= run->opts.count;
}

int run_tell_profiler(struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_profiler *profiler = run->profiler;
	int r = profiler->record ? profiler->record(run, run->self, ev) : 0;

	if (r < 0)
		return r;
	switch (ev->record->type) {
	case PERF_RECORD_LOST:
	case PERF_RECORD_LOST_SAMPLES:
		switch_check_forget(&run->switches, (int)ev->cpu);
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
	ev->fields = s->fields;
	return s->fn(run, run->self, ev);
}

/*
 * Marks the sources whose samples need nothing but deliver_direct() in this round. False: there can
 * be none, as the numbers of events are not those of sources.
 */
static bool mark_direct_sources(struct attar_run *run)
{
	if (run->replay || hosts_are_used(&run->hosts))
		return false;
	vec_each (&run->sources.list, s) {
		s->is_direct = !s->has_switches && !s->next_shared && !s->usdt && !s->keep &&
			       !s->timer && !run->overhead.selects;
		s->takes_repeats = s->is_direct && s->repeats && s->fn != source_act;
	}
	return true;
}

static __attribute__((noinline)) int deliver(struct attar_run *run, struct attar_event *ev)
{
	int r;

	if (unlikely(run->hosts.current != NULL))
		return hosts_deliver(run, ev);
	if (likely(ev->record->type == PERF_RECORD_SAMPLE)) {
		struct source *s;

		if (unlikely(run->replay != NULL))
			return replay_deliver(run, ev);
		s = &run->sources.list.at[ev->counter];

		if (unlikely(s->has_switches))
			switch_check_sample(run, ev);
		if (unlikely(s->next_shared))
			return shared_deliver(run, ev->counter, ev);
		if (unlikely(s->usdt || s->keep))
			return run_user_deliver(run, s, ev);
		if (unlikely(s->timer != NULL) && timer_take_counts(run, s->timer, ev) < 0)
			return -ENOMEM;
		if (unlikely(run->overhead.selects))
			overhead_count(run, ev);
		return deliver_direct(run, s, ev);
	}
	push_record(run, ev->record->header);
	if (run->replay)
		recorded_names_see(run, ev->record);
	if (unlikely(run->probe_files.list.n))
		probe_files_see(run, ev);
	if (run->replay && ev->record->type == PERF_RECORD_READ && run->counts.list.n)
		return replay_counts_take(run, ev);
	r = run->replay && run->counts.list.n ? replay_counts_exited(run, ev) : 0;
	if (r == 0)
		r = run_tell_profiler(run, ev);
	if (r >= 0 && unlikely(run->emitters.n))
		r = emitters_tell(run, ev);
	return r >= 0 && run->threads.instances.n ? threads_take_count(run, ev) : r;
}

/* ---- reporting ---- */

/* until: end of the time that is reported. */
static int make_report(struct attar_run *run, enum attar_scope scope, uint64_t until,
	struct attar_report **ret_report)
{
	uint64_t since =
		scope == ATTAR_SCOPE_WHOLE ? run->clock.first_began : run->clock.interval_began;
	struct attar_report *out = clock_new_report(run);
	int r;

	if (!out)
		return base_oom();
	run->notes.unresolved = -1;
	run->clock.recent = until - run->clock.interval_began;
	run->clock.until = until;
	r = run->clock.ended ? 0 : counts_read(run);
	requests_mark(&run->requests, out);
	attar_report_span(out, run_wall_time(run, until), until - since);
	if (r == 0)
		r = run->profiler->report(run, run->self, out, scope);
	if (r == 0 && scope == ATTAR_SCOPE_WHOLE)
		spans_report(run, out);
	/* counting has no overhead worth a line per interval; keep the text of an error */
	if (r == 0 && !run->has_database && (run->stream || run->clock.ended))
		run_fill_notes(run, out, scope);
	out->is_dump = scope == ATTAR_SCOPE_INTERVAL && !run->opts.interval &&
		       (run->flight.is_on || run->flight.holds);
	run->clock.interval_began = until;
	if (r < 0)
		attar_report_free(out);
	else
		*ret_report = out;
	return r;
}

/* The text of a failure that was handled before is not the reason why the hook fails. */
int run_give_report(struct attar_run *run, const struct attar_report *out, enum attar_scope scope)
{
	if (!run->hooks.report)
		return 0;
	attar_error_clear();
	return run->hooks.report(run->hooks.ctx, out, scope);
}

static int report(struct attar_run *run, enum attar_scope scope, uint64_t until)
{
	struct attar_report *out;
	int r = make_report(run, scope, until, &out);

	if (r < 0)
		return r;
	if (lines_hold_some(&run->lines)) /* it would wait with them */
		r = lines_show(run);
	if (r == 0 && lines_are_queued(&run->lines))
		return lines_add_report(run, out, scope);
	if (r == 0)
		r = run_give_report(run, out, scope);
	attar_report_free(out);
	return r;
}

static uint64_t duration_end(const struct attar_run *run)
{
	return run->opts.duration ? run->clock.began + run->opts.duration : 0;
}

/*
 * The interval ends at `until`, and the last one with the run. A recording ends by the time of its
 * events.
 */
static void set_tick(struct attar_run *run, uint64_t until)
{
	uint64_t end = duration_end(run);

	if (run->opts.interval && (!end || until < end))
		run->clock.tick = until + run->clock.delay;
	else
		run->clock.tick = run->replay && end ? end : UINT64_MAX;
}

/*
 * Reports the interval, or several that passed without a report, as all events before `time` have
 * been delivered. Events belong to the interval of their time, counts to that of their reading.
 */
static int report_interval(struct attar_run *run, uint64_t time)
{
	uint64_t interval = run->opts.interval, tick = run->clock.tick,
		 passed = tick - run->clock.delay + (time - tick) / interval * interval;
	int r = lines_close(run);

	if (r == 0)
		r = report(run, ATTAR_SCOPE_INTERVAL,
			run->sources.list.n || run->replay ? passed : base_now());
	set_tick(run, passed + interval);
	return r;
}

/*
 * A requested report, of the time since the previous one. All events before `now` have been
 * delivered, and perhaps some later ones.
 */
static int report_request(struct attar_run *run, uint64_t now)
{
	uint64_t until = run->stream ? MAX(now, stream_time(run->stream)) : base_now();
	int r = lines_release(run);

	if (r == 0)
		r = lines_show(run);

	if (!run->clock.began) /* a recording, of which nothing was delivered */
		until = 0;
	return r == 0 ? report(run, ATTAR_SCOPE_INTERVAL, until) : r;
}

/* Its interval includes the event that is being delivered. */
int run_report_now(struct attar_run *run, uint64_t time)
{
	int r = lines_close(run);

	return r == 0 ? report(run, ATTAR_SCOPE_INTERVAL, time) : r;
}

/* ---- delivering in order of time ---- */

/*
 * The first sample of a recording starts the clock. Counts begin earlier: with the first record
 * that has a time, such as the name of the command.
 */
static int deliver_first(struct attar_run *run, struct attar_event *ev)
{
	if (ev->record->type == PERF_RECORD_SAMPLE || (run->counts.list.n && ev->time)) {
		clock_start_at(&run->clock, ev->time);
		set_tick(run, ev->time + run->opts.interval);
	}
	return deliver(run, ev);
}

/* The event waits for the report of the interval before it. */
static int deliver_after_interval(struct attar_run *run, struct attar_event *ev)
{
	uint64_t end = duration_end(run);
	int r;

	if (!run->clock.began)
		return deliver_first(run, ev);
	if (run->replay && end && ev->time >= end) {
		run->replay->over = true;
		run->notes.dropped += ev->record->type == PERF_RECORD_SAMPLE;
		return 0;
	}
	run->notes.is_event_pending = ev->record->type == PERF_RECORD_SAMPLE;
	r = report_interval(run, ev->time);
	run->notes.is_event_pending = false;
	return r == 0 ? deliver(run, ev) : r;
}

static inline int next_event(struct attar_run *run, struct attar_event *ret_event)
{
	return unlikely(hosts_are_used(&run->hosts)) ? hosts_next(run, ret_event)
						     : attar_stream_next(run->stream, ret_event);
}

static inline bool is_direct(const struct attar_run *run, const struct attar_event *ev)
{
	return ev->record->type == PERF_RECORD_SAMPLE &&
	       run->sources.list.at[ev->counter].is_direct;
}

/* How many events are delivered until there are enough of them. */
static inline uint64_t count_left(const struct attar_run *run)
{
	return run->opts.count ? run->opts.count - run->notes.delivered : UINT64_MAX;
}

/* The samples after ev that are like it. */
static __attribute__((noinline)) int deliver_repeats(
	struct attar_run *run, const struct source *s, const struct attar_event *ev)
{
	const uint64_t max = MIN(count_left(run), (uint64_t)REPEATS_MAX);
	struct attar_repeats repeats;

	if (!sample_run_repeats(run->stream, run->clock.tick, max, &repeats))
		return 0;
	run->notes.delivered += repeats.n;
	return s->repeats(run, run->self, ev, &repeats);
}

/* Whether the event is like the one before it; otherwise it rarely has repeats. */
static inline bool is_repeat(struct attar_run *run, const struct attar_event *ev)
{
	struct latest_event *latest = &run->sources.latest;

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

	return r < 0 || !s->takes_repeats || !is_repeat(run, ev) ? r : deliver_repeats(run, s, ev);
}

/* has_direct: a constant, so that a round without direct sources does not slow the others down. */
static inline __attribute__((always_inline)) int deliver_events(
	struct attar_run *run, const bool has_direct)
{
	const uint64_t limit = run->opts.count ? run->opts.count : UINT64_MAX;
	struct attar_event ev;
	int r = 0;

	while (!enough(run) && (r = next_event(run, &ev)) > 0) {
		/* what else can be enough comes with the end of an interval */
		do {
			if (unlikely(ev.time >= run->clock.tick))
				break;
			r = likely(has_direct && is_direct(run, &ev)) ? deliver_at_once(run, &ev)
								      : deliver(run, &ev);
			if (r >= 0 && unlikely(run->lines.is_full))
				r = lines_make_room(run);
			if (r < 0 || unlikely(run->notes.delivered >= limit))
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

static int deliver_round(struct attar_run *run)
{
	return mark_direct_sources(run) ? deliver_events(run, true) : deliver_events(run, false);
}

/* Delivers and reports what the overwritten rings contain. */
static int dump(struct attar_run *run)
{
	int r;

	flight_begin_dump(run);
	r = attar_stream_snapshot(run->stream);
	run->flight.reach = stream_snapshot_since(run->stream);
	if (r >= 0)
		r = deliver_round(run);
	flight_end_dump(run);
	return r < 0 ? r : report_request(run, base_now());
}

/* The report of the whole run follows. */
static int dump_last(struct attar_run *run)
{
	int r = attar_stream_snapshot(run->stream);

	return r < 0 ? r : MIN(deliver_round(run), 0);
}

static int drain(struct attar_run *run)
{
	int r;

	if (!run->stream && !hosts_are_used(&run->hosts))
		return 0;
	if (run->recorder.wanted)
		return recorder_drain(run);
	r = push_turn(run);
	if (r >= 0)
		r = deliver_round(run);
	if (r >= 0 && run->flight.asked)
		r = dump(run);
	if (r >= 0)
		r = push_round(run);
	if (r < 0)
		return r;
	/* the caller of attar_run_step() waits for events, not for lines */
	return run->poll.epoll >= 0 ? lines_show(run) : lines_show_next(run);
}

/* ---- waiting ---- */

static void progress(struct attar_run *run, uint64_t now)
{
	struct attar_stream_stats stats = {0};

	if (!run->hooks.progress || now < run->clock.progress)
		return;
	if (run->stream)
		attar_stream_get_stats(run->stream, &stats);
	run->hooks.progress(run->hooks.ctx,
		run->replay ? attar_run_elapsed(run) : now - run->clock.first_began,
		run->recorder.wanted ? run->recorder.stats.samples : stats.samples, stats.lost);
	run->clock.progress = now + PROGRESS_NS;
}

static int wait_ms(uint64_t now, uint64_t until)
{
	uint64_t ms;

	if (until <= now)
		return 0;
	ms = (until - now + 999999) / 1000000;
	return ms > POLL_MS ? POLL_MS : (int)ms;
}

/*
 * 2: attar_run_stop() was called. Without a stream, only a stop, the end of the target or the
 * timeout wake it.
 */
static int wait_for(struct attar_run *run, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = run->stop.fd, .events = POLLIN},
		{.fd = attar_target_fd(run->target), .events = POLLIN}};

	if (hosts_are_used(&run->hosts))
		return hosts_wait(run, timeout_ms);
	if (run->stream)
		return attar_stream_wait(run->stream, run->stop.fd, timeout_ms);
	poll(fds, ARRAY_SIZE(fds), timeout_ms);
	return fds[0].revents ? 2 : 0;
}

/* end may be 0: none */
static uint64_t earliest(uint64_t end, uint64_t tick)
{
	return end ? MIN(end, tick) : tick;
}

/*
 * The stream, new events, counts and the interval that is due. 1: the run continues; 0: it should
 * end.
 */
static int work(struct attar_run *run)
{
	uint64_t now = base_now();
	int r = task_watch_drain(run);

	if (!run->replay)
		clock_follow(&run->clock);
	if (r == 0)
		r = drain(run);
	if (r < 0 || enough(run))
		return r;
	r = user_events_look(&run->user.events);
	if (r == 0)
		r = counts_follow(run);
	if (r == 0 && now >= run->clock.tick)
		r = report_interval(run, now);
	if (r == 0 && requests_take(&run->requests))
		r = run->flight.is_on ? dump(run) : report_request(run, now);
	if (r < 0)
		return r;
	if (run->profiler->turn)
		r = run->profiler->turn(run, run->self);
	if (r < 0)
		return r;
	progress(run, now);
	if (run->hooks.turn)
		run->hooks.turn(run->hooks.ctx);
	return overhead_check(run, now);
}

/* A round of the recording. 1: more follow; 0: it is over. */
static int turn_replay(struct attar_run *run, int timeout_ms)
{
	int ms = timeout_ms < 0 ? POLL_MS : MIN(timeout_ms, (int)POLL_MS), r;

	run_poll_clear(&run->poll);
	r = attar_stream_wait(run->stream, run->stop.fd, ms);
	run->stop.seen = r == 2;
	if (r == 2)
		return 0;
	if (r > 0)
		r = drain(run);
	if (r == 0 && requests_take(&run->requests))
		r = report_request(run, 0);
	if (r < 0)
		return r;
	progress(run, base_now());
	if (run->hooks.turn)
		run->hooks.turn(run->hooks.ctx);
	return !enough(run) && !stream_drained(run->stream);
}

/* Waits for work and does it. 1: the run continues; 0: it has ended. */
static int turn(struct attar_run *run, int timeout_ms)
{
	uint64_t end, now;
	int r, ms;

	if (run->replay)
		return turn_replay(run, timeout_ms);
	if (run->has_database)
		return 0;
	end = duration_end(run);
	now = base_now();

	run_poll_clear(&run->poll);
	if (attar_target_ended(run->target) || (end && now >= end) || hosts_are_over(run))
		return 0;
	ms = lines_can_show(run) ? 0 : wait_ms(now, earliest(end, run->clock.tick));
	r = wait_for(run, timeout_ms < 0 ? ms : MIN(ms, timeout_ms));
	run->stop.seen = r == 2;
	return r < 0 || r == 2 ? MIN(r, 0) : work(run);
}

/* A recording that is not read to its end is not drained either. */
static int finish_replay(struct attar_run *run, int r)
{
	uint64_t newest = stream_time(run->stream);

	/* A recording without samples begins at its end; one without records, at its reference. */
	if (!run->clock.began)
		clock_start_at(&run->clock, newest ? newest : replay_clock(run));
	run->clock.ended = MAX(newest, run->clock.began);
	if (run->replay->over)
		run->clock.ended = duration_end(run);
	if (r == 0)
		r = counts_read(run);
	if (r == 0 && run->counts.list.n)
		r = count_rows_add_run(run);
	if (r == 0 && run->profiler->ended)
		r = run->profiler->ended(run, run->self);
	if (r == 0)
		r = result_files_finish(&run->result_files);
	if (r == 0)
		r = actions_end(run);
	return r < 0 ? r : lines_show(run);
}

static bool counts_any(const struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		if (s->timer)
			return true;
	return run->counts.list.n;
}

/* With --count, later events are not delivered: nothing is known of the time after the last one. */
static void end_with_last_event(struct attar_run *run)
{
	const uint64_t last = run->stream ? stream_time(run->stream) : 0;
	const bool has_all = run->opts.count && run->notes.delivered >= run->opts.count;

	if (has_all && !run->flight.is_on && !hosts_are_used(&run->hosts) && !counts_any(run))
		run->clock.ended = MAX(last, run->clock.interval_began);
}

/* Delivers what the rings still hold before the last report. */
static int finish(struct attar_run *run)
{
	int r = run->stream ? attar_stream_stop(run->stream) : 0;

	if (r == 0)
		r = hosts_stop(run);
	if (run->replay)
		return finish_replay(run, r);
	run->clock.ended = base_now();
	if (run->has_database)
		return 0;
	if (r == 0)
		r = counts_disable(run);
	if (r == 0)
		r = task_watch_stop(run);
	if (r == 0)
		r = drain(run);
	end_with_last_event(run);
	if (r == 0 && run->flight.is_on && !run->flight.is_waiting)
		r = dump_last(run);
	if (r == 0)
		r = actions_end(run);
	if (r == 0)
		r = lines_show(run);
	if (r == 0) /* before the file is completed, which can take long with --portable */
		r = push_end(run);
	if (r == 0)
		r = recorder_end(run);
	if (r == 0)
		r = counts_read(run);
	user_events_ended(&run->user.events);
	attar_target_ended(run->target);
	run->command.status = attar_target_command_status(run->target);
	if (run->profiler->ended) /* it reports the CPU times of the command */
		command_end(&run->target->command);
	if (r == 0 && run->counts.list.n)
		r = count_rows_add_run(run);
	if (r == 0 && run->profiler->ended)
		r = run->profiler->ended(run, run->self);
	if (r == 0)
		r = result_files_finish(&run->result_files);
	return r;
}

static int start(struct attar_run *run)
{
	int r;

	select_await_command(run);
	r = push_listen(run); /* can wait for a peer, which is not part of the run's time */
	if (r == 0 && run->stream)
		r = stream_prepare(run->stream);
	if (r == 0)
		r = recorder_begin(run);
	if (r == 0)
		r = push_start(run);
	if (r < 0)
		return r;
	clock_start(&run->clock);
	r = run->stream ? attar_stream_start(run->stream) : 0;
	run->target->stop = NULL; /* what is opened from now on belongs to the report */
	if (r == 0 && !run->target->by_exec)
		r = counts_enable(run);
	if (r == 0)
		run_user_started(run);
	return r == 0 ? attar_target_start(run->target) : r;
}

/* Opens and starts the next run of the command, or the only one. */
static int start_round(struct attar_run *run)
{
	int r;

	run->phase = RUN_STARTED;
	run->clock.progress = base_now() + PROGRESS_NS;
	if (run->has_database)
		return run_database_start(run);
	if (run->replay)
		return replay_start(run);
	r = hosts_check(run);
	if (r == 0)
		r = open_all(run);
	if (r == 0)
		r = hosts_start(run);
	if (r == 0 && run->hooks.opened)
		run->hooks.opened(run->hooks.ctx);
	if (r == 0)
		r = start(run);
	if (r == 0)
		set_tick(run, run->clock.began + run->opts.interval);
	return r;
}

/* 1: the command runs again; 0: the run is over. */
static int next_round(struct attar_run *run)
{
	int r = finish(run);

	run->phase = RUN_ENDED;
	if (r < 0 || run->stop.seen || ++run->command.round >= run->command.rounds)
		return r;
	r = start_round(run);
	if (r == -ECANCELED && run_stop_asked(run)) {
		run->stop.seen = true; /* what was measured before is reported */
		run->phase = RUN_ENDED;
		return 0;
	}
	return r < 0 ? r : 1;
}

/* When memory runs out, there may be none for the text. */
static int failed(int r)
{
	return r < 0 && !*attar_error() ? attar_fail(r, "%s", strerror(-r)) : r;
}

static int open_profiler(struct attar_run *run)
{
	int r;

	run->opening.by_profiler = true;
	select_keep_named(run);
	r = run->profiler->open(run, run->self);
	run->opening.by_profiler = false;
	if (r == 0)
		r = emitters_add_rest(run);
	if (r == 0)
		emitters_keep_own(run);
	return r;
}

static int begin(struct attar_run *run, const struct attar_run_hooks *hooks, const char *function)
{
	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL,
			"%s(): the run has already been started;" ATTAR_FIX
			"create a new one with attar_run_new()",
			function);

	/* see run/recorded_names.h */
	const struct attar_symbols_opts nameless = {.size = sizeof(nameless), .no_kernel = true};
	int r = opts_take(&run->hooks, sizeof(run->hooks), hooks);

	if (r == 0)
		r = attar_run_set_preset(run);
	if (r == 0)
		r = pull_prepare(run);
	if (r < 0)
		return r;
	run->phase = RUN_ENDED; /* until it has started */
	r = attar_symbols_new(run->opts.input ? &nameless : NULL, &run->symbols);
	notes_begin(&run->notes);
	if (r == 0)
		symbols_cache_kernel(run->symbols);
	if (r == 0)
		r = clock_check(run);
	if (r == 0)
		r = sample_filter_open(run);
	if (r == 0)
		r = overhead_open(run);
	if (r == 0)
		r = user_stacks_prepare(run);
	if (r >= 0)
		user_stacks_show(run);
	if (r == 0 && run->opts.input)
		r = run_database_is_input(run) ? run_database_open(run) : replay_open(run);
	if (r == 0)
		r = open_profiler(run);
	if (r == 0)
		r = start_round(run);
	return failed(r);
}

int attar_run_start(struct attar_run *run, const struct attar_run_hooks *hooks)
{
	CHECK_OWN(run, "run");
	return begin(run, hooks, __func__);
}

int attar_run_step(struct attar_run *run, int timeout_ms)
{
	CHECK_OWN(run, "run");
	if (run->phase == RUN_NEW)
		return attar_fail(-EINVAL, "attar_run_step(): the run was not started" ATTAR_FIX
					   "call attar_run_start() first");

	int r = run->phase == RUN_STARTED ? turn(run, timeout_ms) : 0;

	if (r == 0 && run->phase == RUN_STARTED)
		r = next_round(run);
	return failed(r);
}

int attar_run_report(
	struct attar_run *run, enum attar_scope scope, struct attar_report **ret_report)
{
	CHECK_OWN(run, "run");
	CHECK_BELOW(scope, "scope", ATTAR_SCOPE_WHOLE + 1);
	CHECK_ARG(ret_report, "ret_report");
	if (run->phase == RUN_NEW)
		return attar_fail(-EINVAL, "attar_run_report(): the run was not started" ATTAR_FIX
					   "call attar_run_start() first");

	uint64_t until = run->clock.ended ? run->clock.ended : run_now(run);

	return failed(make_report(run, scope, until, ret_report));
}

int attar_run_query(struct attar_run *run, const char *text, struct attar_report **ret_report)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");
	CHECK_ARG(ret_report, "ret_report");
	if (run->phase == RUN_NEW || !run->clock.ended)
		return attar_fail(-EINVAL, "attar_run_query(): the run has not ended");
	if (!run->profiler->query)
		return attar_fail(-EINVAL, "%s does not answer queries", run->profiler->name);

	struct attar_report *out = clock_new_report(run);
	int r;

	if (!out)
		return base_oom();
	attar_report_span(out, run_wall_time(run, run->clock.ended),
		run->clock.ended - run->clock.first_began);
	r = run->profiler->query(run, run->self, text, out);
	if (r < 0)
		attar_report_free(out);
	else
		*ret_report = out;
	return r;
}

static int last_reports(struct attar_run *run)
{
	int r = run->opts.interval ? report(run, ATTAR_SCOPE_INTERVAL, run->clock.ended) : 0;

	if (r == 0 && (!run->opts.interval || run->hooks.want_whole))
		r = report(run, ATTAR_SCOPE_WHOLE, run->clock.ended);
	return r;
}

int attar_run_go(struct attar_run *run, const struct attar_run_hooks *hooks)
{
	CHECK_OWN(run, "run");

	int r = begin(run, hooks, __func__);

	if (r < 0)
		return r;
	do {
		r = attar_run_step(run, -1);
	} while (r > 0);
	if (r == 0)
		r = last_reports(run);
	if (r == 0) /* otherwise the text of the error remains */
		notes_warn(run);
	if (r == 0)
		r = user_events_accepted(&run->user.events);
	return failed(r);
}
