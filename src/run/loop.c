/* SPDX-License-Identifier: MIT */
/* The loop: open, start, deliver events, report each interval and at the end. */
#include <poll.h>

#include "base/buf.h"
#include "base/check.h"
#include "base/opts.h"
#include "perf/target.h"
#include "run/leftout.h"
#include "run/run.h"

enum {
	POLL_MS = 100, /* how long a ring below its watermark may wait */
	PROGRESS_NS = 1000000000,
	OPENING_NS = 100000000, /* between two lines of progress while events are opened */
};

/* ---- opening ---- */

static void fall_back_to_clock(struct source *s)
{
	s->attr.type = PERF_TYPE_SOFTWARE;
	s->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	s->is_fallback_allowed = false;
	free(s->name);
	s->name = strdup("cpu-clock");
	log_note("no hardware cycle counter (a virtual machine without a PMU?): sampling cpu-clock "
		 "instead, which cannot see into code that runs with interrupts disabled");
}

/*
 * Events of existing threads are enabled at open: they run and create others meanwhile, see
 * attach_new_threads().
 */
static bool attaches(const struct attar_run *run)
{
	return attar_target_kind_of(run->target) == ATTAR_TARGET_TASKS && !run->target->by_exec;
}

/* The kernel only reports EINVAL: the list of valid fields usually shows what is wrong. */
static int filter_refused(const struct source *s)
{
	struct buf fields _cleanup_(buf_done) = {0};
	const struct attar_format *format = s->spec->format;

	for (size_t i = 0; format && i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			buf_printf(&fields, "%s%s", fields.len ? ", " : "", format->fields[i].name);
	return attar_fail(-EINVAL,
		"the kernel rejected the filter '%s' of '%s', whose fields are %s",
		CLIP(s->spec->filter ? s->spec->filter : s->filter), CLIP(s->name),
		buf_text(&fields));
}

static int set_filter(const struct source *s)
{
	int r = s->filter ? attar_counter_filter(s->counter, s->filter) : 0;

	return r == -EINVAL ? filter_refused(s) : r;
}

int run_open_source(struct attar_run *run, struct source *s)
{
	struct perf_event_attr attr;
	int r;

	if (!s->name)
		return base_oom();
	attr = s->attr;
	attar_stream_attr(&attr, false);
	attr.wakeup_watermark = (uint32_t)((double)run->opts.mmap_pages * RUN_PAGE_BYTES *
					   run->opts.watermark / 100);
	attr.disabled = !attaches(run);
	attr.enable_on_exec = run->target->by_exec;
	r = attar_counter_open(run->target, &attr, s->name, ATTAR_COUNTER_DEGRADE, &s->counter);
	if (r == -EOPNOTSUPP && s->is_fallback_allowed) {
		fall_back_to_clock(s);
		return run_open_source(run, s);
	}
	if (r == 0)
		r = set_filter(s);
	if (r < 0)
		s->counter = attar_counter_close(s->counter);
	return r;
}

static size_t side_band_files(const struct attar_run *run)
{
	return run->sources.n ? target_instances(run->target) : 0;
}

/* The files of the counters that are opened after the events, for messages about limits. */
static size_t count_later_files(const struct attar_run *run)
{
	if (exited_threads_reported(run))
		return side_band_files(run) + task_watch_files(run) +
		       run->counts.n * run->target->tids.n;
	return side_band_files(run) + task_watch_files(run);
}

int run_opening(struct attar_run *run, size_t done)
{
	size_t all = run->sources.n + run->counts.n;
	uint64_t now;

	run->target->events = all;
	run->target->events_open = done;
	run->target->files_later = count_later_files(run);
	if (run_stop_asked(run))
		return attar_fail(-ECANCELED,
			"stopped while events were being opened (%zu of %zu): nothing was measured",
			done, all);
	if (!run->hooks.opening)
		return 0;
	now = base_now();
	if (now < run->opening_shown)
		return 0;
	run->hooks.opening(run->hooks.ctx, done, all);
	run->opening_shown = now + OPENING_NS;
	return 0;
}

static int close_events(struct attar_run *run)
{
	task_watch_close(run);
	run->stream = attar_stream_free(run->stream);
	run_user_close(run);
	vec_each (&run->sources, s)
		s->counter = attar_counter_close(s->counter);
	return counts_close(run);
}

static int open_sources(struct attar_run *run)
{
	struct leftout left = {0};
	int r = 0, ended;

	run->opening_shown = base_now() + PROGRESS_NS;
	vec_each (&run->sources, s) {
		r = run_opening(run, (size_t)(s - run->sources.at));
		if (r < 0)
			break;
		r = run_open_source(run, s);
		s->is_left_out = r < 0 && leftout_may(s->spec, r);
		r = leftout_take(&left, s->spec, r);
		if (r < 0)
			break;
	}
	ended = leftout_end(&left);
	return r < 0 ? r : ended;
}

static int open_events(struct attar_run *run)
{
	int r = open_sources(run);

	if (r < 0)
		return r;
	run_sources_drop(run);
	return counts_open(run);
}

/* Without permission to watch the whole system, watch this user's processes and log a note. */
static int narrow(struct attar_run *run, int error)
{
	char *why _cleanup_free_ = strdup(attar_error());
	int r;

	if ((error != -EACCES && error != -EPERM) || !why || run->command ||
		!run_watches_system(run))
		return error;
	r = close_events(run);
	if (r == 0)
		r = run_user_open(run);
	if (r == 0)
		r = run_open_target(run, true);
	if (r == 0)
		r = open_events(run);
	if (r == -ECANCELED)
		return r;
	if (r < 0)
		return attar_fail(error, "%s", why);
	log_note("watching only your own processes: %s", why);
	return 0;
}

static int open_stream(struct attar_run *run)
{
	struct attar_stream_opts opts = {.size = sizeof(opts),
		.ring_bytes = run->opts.mmap_pages * RUN_PAGE_BYTES,
		.track = run->sources.n > 0,
		.shm_source = run->shm_source};
	VEC(struct attar_counter *) counters = {0};
	int r = 0;

	vec_each (&run->sources, s)
		if (vec_push(&counters, s->counter) < 0)
			r = base_oom();
	vec_each (&run->counts, c)
		if (exited_threads_reported(run) && c->counter &&
			vec_push(&counters, c->counter) < 0)
			r = base_oom();
	run->target->events_open = run->target->events;
	run->target->files_later = side_band_files(run);
	if (r == 0 && counters.n)
		r = attar_stream_live(
			run->target, counters.at, counters.n, run->symbols, &opts, &run->stream);
	vec_done(&counters);
	return r;
}

/* Called once per run of the command. */
static int open_all(struct attar_run *run)
{
	int r = close_events(run);

	if (r == 0)
		r = run_user_open(run);
	if (r == 0)
		r = run_open_target(run, false);
	if (r == 0)
		r = task_watch_open(run);
	if (r == 0) {
		r = open_events(run);
		if (r < 0)
			r = narrow(run, r);
	}
	if (r == 0)
		r = open_stream(run);
	return r;
}

/* ---- delivering ---- */

static int show_lines(struct attar_run *run)
{
	int r = 0;

	if (!run->lines)
		return 0;
	if (run->hooks.report) {
		attar_report_span(run->lines, attar_run_realtime(run, base_now()), 0);
		r = run->hooks.report(run->hooks.ctx, run->lines, ATTAR_SCOPE_INTERVAL);
	}
	run->lines = attar_report_free(run->lines);
	return r;
}

static bool enough(const struct attar_run *run)
{
	return run->opts.count && run->seen_total >= run->opts.count;
}

static int deliver(struct attar_run *run, const struct attar_event *ev)
{
	if (likely(ev->record->type == PERF_RECORD_SAMPLE)) {
		struct source *s = &run->sources.at[ev->counter];

		if (unlikely(s->usdt || s->keep))
			return run_user_deliver(run, s, ev);
		run->seen_total++;
		return s->fn(run, run->self, ev);
	}
	if ((ev->record->type == PERF_RECORD_LOST ||
		    ev->record->type == PERF_RECORD_LOST_SAMPLES) &&
		run->profiler->lost)
		return run->profiler->lost(run, run->self, ev);
	return run->threads.instances.n ? threads_take_count(run, ev) : 0;
}

static int drain(struct attar_run *run)
{
	struct attar_event ev;
	int r = 0;

	if (!run->stream)
		return 0;
	while (!enough(run) && (r = attar_stream_next(run->stream, &ev)) > 0) {
		r = deliver(run, &ev);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : show_lines(run);
}

/* ---- reporting ---- */

static int report(struct attar_run *run, enum attar_scope scope)
{
	uint64_t now = run->ended ? run->ended : base_now(),
		 since = scope == ATTAR_SCOPE_WHOLE ? run->first_began : run->interval_began;
	struct attar_report *out = attar_report_new(run->profiler->name);
	int r;

	if (!out)
		return base_oom();
	run->unresolved = -1;
	run->recent = now - run->interval_began;
	r = run->ended ? 0 : counts_read(run);
	attar_report_span(out, attar_run_realtime(run, now), now - since);
	if (r == 0)
		r = run->profiler->report(run, run->self, out, scope);
	if (run->stream || run->ended) /* counting has no overhead worth a line per interval */
		run_fill_notes(run, out, scope);
	if (r == 0 && run->hooks.report)
		r = run->hooks.report(run->hooks.ctx, out, scope);
	attar_report_free(out);
	run->interval_began = now;
	return r;
}

static void progress(struct attar_run *run, uint64_t now, uint64_t *next)
{
	struct attar_stream_stats stats = {0};

	if (!run->hooks.progress || now < *next)
		return;
	if (run->stream)
		attar_stream_get_stats(run->stream, &stats);
	run->hooks.progress(run->hooks.ctx, now - run->first_began, stats.samples, stats.lost);
	*next = now + PROGRESS_NS;
}

static int wait_ms(uint64_t now, uint64_t until)
{
	uint64_t ms;

	if (!until)
		return POLL_MS;
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
	struct pollfd fds[] = {{.fd = run->stop_fd, .events = POLLIN},
		{.fd = attar_target_fd(run->target), .events = POLLIN}};

	if (run->stream)
		return attar_stream_wait(run->stream, run->stop_fd, timeout_ms);
	poll(fds, ARRAY_SIZE(fds), timeout_ms);
	return fds[0].revents ? 2 : 0;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return !a ? b : !b ? a : MIN(a, b);
}

static int loop(struct attar_run *run)
{
	uint64_t end = run->opts.duration ? run->began + run->opts.duration : 0;
	uint64_t tick = run->opts.interval ? run->began + run->opts.interval : 0;
	uint64_t next_progress = run->began + PROGRESS_NS;

	for (;;) {
		uint64_t now = base_now();
		bool last = attar_target_ended(run->target) || (end && now >= end);
		int r;

		if (!last) {
			r = wait_for(run, wait_ms(now, earliest(end, tick)));
			if (r < 0)
				return r;
			last = run->stopped = r == 2;
		}
		if (last)
			return 0;
		r = task_watch_drain(run);
		if (r == 0)
			r = drain(run);
		if (r < 0 || enough(run))
			return r;
		r = run_user_look(run);
		if (r == 0)
			r = counts_follow(run);
		if (r < 0)
			return r;
		now = base_now();
		if (tick && now >= tick && !(end && now >= end)) {
			r = report(run, ATTAR_SCOPE_INTERVAL);
			if (r < 0)
				return r;
			tick += (now - tick) / run->opts.interval * run->opts.interval +
				run->opts.interval;
		}
		progress(run, now, &next_progress);
		if (run->hooks.turn)
			run->hooks.turn(run->hooks.ctx);
	}
}

static void start_clocks(struct attar_run *run)
{
	struct timespec real;

	run->ended = 0;
	run->began = run->interval_began = base_now();
	if (!run->first_began)
		run->first_began = run->began;
	clock_gettime(CLOCK_REALTIME, &real);
	run->realtime_offset =
		(uint64_t)real.tv_sec * 1000000000 + (uint64_t)real.tv_nsec - run->began;
}

/* Delivers what the rings still hold before the last report. */
static int finish(struct attar_run *run)
{
	int r = run->stream ? attar_stream_stop(run->stream) : 0;

	run->ended = base_now();
	if (r == 0)
		r = counts_disable(run);
	if (r == 0)
		r = task_watch_stop(run);
	if (r == 0)
		r = drain(run);
	if (r == 0)
		r = counts_read(run);
	run_user_ended(run);
	if (r == 0 && run->counts.n)
		r = count_rows_add_run(run);
	if (r == 0 && run->profiler->ended)
		r = run->profiler->ended(run, run->self);
	run->command_status = attar_target_command_status(run->target);
	return r;
}

static int start(struct attar_run *run)
{
	int r;

	start_clocks(run);
	r = run->stream ? attar_stream_start(run->stream) : 0;
	run->target->stop = NULL; /* what is opened from now on belongs to the report */
	if (r == 0 && !run->target->by_exec)
		r = counts_enable(run);
	if (r == 0)
		run_user_started(run);
	return r == 0 ? attar_target_start(run->target) : r;
}

static int go_once(struct attar_run *run)
{
	int r = open_all(run);

	if (r == 0)
		r = start(run);
	if (r == 0)
		r = loop(run);
	return r == 0 ? finish(run) : r;
}

static int last_reports(struct attar_run *run)
{
	int r = run->opts.interval ? report(run, ATTAR_SCOPE_INTERVAL) : 0;

	if (r == 0 && (!run->opts.interval || run->hooks.want_whole))
		r = report(run, ATTAR_SCOPE_WHOLE);
	return r;
}

int attar_run_go(struct attar_run *run, const struct attar_run_hooks *hooks)
{
	CHECK_OWN(run, "run");
	if (run->went)
		return attar_fail(-EINVAL,
			"attar_run_go(): the run has already been started; create a new one with "
			"attar_run_new()");

	int r = opts_take(&run->hooks, sizeof(run->hooks), hooks);

	run->went = r == 0;
	if (r == 0)
		r = attar_symbols_new(NULL, &run->symbols);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &run->self_began);
	run->self_entered = base_now();
	run->ooms = base_oom_count();
	if (r == 0) {
		run->opening = true;
		r = run->profiler->open(run, run->self);
		run->opening = false;
	}
	for (uint64_t i = 0; r == 0 && !run->stopped && i < MAX(run->rounds, (uint64_t)1); i++) {
		r = go_once(run);
		if (r == -ECANCELED && i > 0 && run_stop_asked(run)) {
			run->stopped = true; /* what was measured before is reported */
			r = 0;
		}
	}
	if (r == 0)
		r = last_reports(run);
	/* when memory runs out, there may be none for the sentence */
	return r < 0 && !*attar_error() ? attar_fail(r, "%s", strerror(-r)) : r;
}
