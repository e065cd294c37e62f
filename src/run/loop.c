/* SPDX-License-Identifier: MIT */
/* Drives a run in steps: open, start, wait for events, end, report. */
#include <poll.h>

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "base/option_struct.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/counts/rows.h"
#include "run/counts/tasks.h"
#include "run/deliver.h"
#include "run/input/database.h"
#include "run/input/hosts.h"
#include "run/input/pull.h"
#include "run/input/range.h"
#include "run/input/replay.h"
#include "run/input/replay_names.h"
#include "run/intervals.h"
#include "run/poll.h"
#include "run/record/recorder.h"
#include "run/result_files.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/open.h"
#include "run/parts/requests.h"
#include "run/events/sources.h"
#include "run/stop.h"
#include "stream/stream.h"
#include "symbol/symbols.h"

/* ---- waiting ---- */

static void progress(struct attar_run *run, uint64_t now)
{
	struct attar_stream_stats stats = {0};

	if (!run->hooks.progress || now < run->clock.progress)
		return;
	if (run->stream)
		attar_stream_get_stats(run->stream, &stats);
	run->hooks.progress(run->hooks.ctx,
		run->replay ? run_elapsed(run) : now - run->clock.first_began,
		run_records(run) ? run->notes.delivered : stats.samples, stats.lost);
	run->clock.progress = now + PROGRESS_NS;
}

static int wait_ms(const struct attar_run *run, uint64_t now, uint64_t until)
{
	uint64_t ms, most = (uint64_t)rings_of(run)->wait_ms;

	if (until <= now)
		return 0;
	ms = (until - now + 999999) / 1000000;
	return (int)MIN(ms, most);
}

/*
 * 2: attar_run_stop() was called. Without a stream, only a stop, the end of the target or the
 * timeout wake it.
 */
static int wait_for(struct attar_run *run, int timeout_ms)
{
	struct pollfd fds[] = {{.fd = stop_of(run)->fd, .events = POLLIN},
		{.fd = attar_target_fd(run->target), .events = POLLIN}};

	if (hosts_are_used(hosts_of(run)))
		return hosts_wait(run, timeout_ms);
	if (run->stream)
		return attar_stream_wait(run->stream, stop_of(run)->fd, timeout_ms);
	poll(fds, ARRAY_SIZE(fds), timeout_ms);
	return fds[0].revents ? 2 : 0;
}

/* end may be 0: none */
static uint64_t earliest(uint64_t end, uint64_t tick)
{
	return end ? MIN(end, tick) : tick;
}

static int report_request(struct attar_run *run, uint64_t now)
{
	int r = PARTS_CALL(run, requested);

	return r ? MIN(r, 0) : run_report_request(run, now);
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
		r = run_drain(run);
	if (r < 0 || run_has_enough(run))
		return r;
	r = PARTS_CALL(run, follow);
	if (r == 0 && now >= run->clock.tick)
		r = run_report_interval(run, now);
	if (r == 0 && requests_take(run))
		r = report_request(run, now);
	if (r < 0)
		return r;
	if (run->profiler->turn)
		r = run->profiler->turn(run, run->self);
	if (r < 0)
		return r;
	progress(run, now);
	if (run->hooks.turn)
		run->hooks.turn(run->hooks.ctx);
	r = PARTS_CALL(run, turn, now);
	return r < 0 ? r : r == 0;
}

/* A round of the recording. 1: more follow; 0: it is over. */
static int turn_replay(struct attar_run *run, int timeout_ms)
{
	int ms = timeout_ms < 0 ? POLL_MS : MIN(timeout_ms, (int)POLL_MS), r;

	run_poll_clear(run);
	r = attar_stream_wait(run->stream, stop_of(run)->fd, ms);
	stop_of(run)->seen = r == 2;
	if (r == 2)
		return 0;
	if (r > 0 || pull_of(run)->receiver) /* which has a time limit */
		r = run_drain(run);
	if (r == 0)
		r = pull_follow(run);
	if (r == 0 && requests_take(run))
		r = run_report_request(run, 0);
	if (r < 0)
		return r;
	progress(run, base_now());
	if (run->hooks.turn)
		run->hooks.turn(run->hooks.ctx);
	return !run_has_enough(run) && !stream_drained(run->stream);
}

/* The profiler reads processes at its first turn, some of which may end right after the start. */
static bool turns_first(struct attar_run *run)
{
	const bool has_turned = run->clock.has_turned;

	run->clock.has_turned = true;
	return run->profiler->turn && !has_turned;
}

/* Waits for work and does it. 1: the run continues; 0: it has ended. */
static int turn(struct attar_run *run, int timeout_ms)
{
	uint64_t end, now;
	int r, ms;

	if (run->replay)
		return turn_replay(run, timeout_ms);
	if (run_has_database(run))
		return 0;
	end = run_duration_end(run);
	now = base_now();

	run_poll_clear(run);
	if (attar_target_ended(run->target) || (end && now >= end) || hosts_are_over(run))
		return 0;
	ms = lines_can_show(run) || turns_first(run)
		     ? 0
		     : wait_ms(run, now, earliest(end, run->clock.tick));
	r = wait_for(run, timeout_ms < 0 ? ms : MIN(ms, timeout_ms));
	stop_of(run)->seen = r == 2;
	return r < 0 || r == 2 ? MIN(r, 0) : work(run);
}

/* A recording that is not read to its end is not drained either. */
static int finish_replay(struct attar_run *run, int r)
{
	uint64_t newest = MAX(stream_time(run->stream), pull_of(run)->reached);

	if (r == 0)
		r = range_finish(run);
	if (r < 0)
		return r;
	/* A recording without samples begins at its end; one without records, at its reference. */
	if (!run->clock.began)
		clock_start_at(&run->clock, newest ? newest : replay_clock(run));
	run->clock.ended = MAX(newest, run->clock.began);
	if (run->replay->over)
		run->clock.ended = run_duration_end(run);
	if (r == 0)
		r = counts_read(run);
	if (r == 0 && counts_of(run)->list.n)
		r = count_rows_add_run(run);
	if (r == 0 && run->profiler->ended)
		r = run->profiler->ended(run, run->self);
	if (r == 0)
		r = result_files_finish(run);
	if (r == 0)
		r = actions_end(run);
	return r < 0 ? r : lines_show(run);
}

static bool counts_any(const struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		if (s->use->timer)
			return true;
	return counts_of(run)->list.n;
}

/* With --count, later events are not delivered: nothing is known of the time after the last one. */
static void end_with_last_event(struct attar_run *run)
{
	const uint64_t last = run->stream ? stream_time(run->stream) : 0;
	const bool has_all = run->notes.delivered >= run_count_end(run);

	if (has_all && !rings_of(run)->overwritten && !hosts_are_used(hosts_of(run)) &&
		!counts_any(run))
		run->clock.ended = MAX(last, run->clock.interval_began);
}

/*
 * Ends the samples of all events at this time: events are disabled one after the other, and of
 * those that come in pairs, the kernel would count one for longer.
 */
static void cut_samples(struct attar_run *run, uint64_t end)
{
	if (!run->stream || !run->stream->has_clock || hosts_are_used(hosts_of(run)))
		return;
	run->clock.cut = end;
	run->clock.tick = MIN(run->clock.tick, end);
}

/* Delivers what the rings still hold before the last report. */
static int loop_finish(struct attar_run *run)
{
	const uint64_t end = base_now();
	int r = run->stream ? attar_stream_stop(run->stream) : 0;

	if (r == 0)
		r = hosts_stop(run);
	if (run->replay)
		return finish_replay(run, r);
	run->clock.ended = base_now();
	if (run_has_database(run))
		return 0;
	cut_samples(run, end);
	if (r == 0)
		r = counts_disable(run);
	if (r == 0)
		r = task_watch_stop(run);
	if (r == 0)
		r = run_drain(run);
	end_with_last_event(run);
	if (r == 0)
		r = PARTS_CALL(run, ended);
	if (r == 0)
		r = actions_end(run);
	if (r == 0)
		r = lines_show(run);
	if (r == 0)
		r = PARTS_CALL(run, finish);
	if (r == 0)
		r = counts_read(run);
	user_events_ended(&run->sources.programs.events);
	attar_target_ended(run->target);
	run->command.status = attar_target_command_status(run->target);
	if (run->profiler->ended) /* it reports the CPU times of the command */
		command_end(&run->target->command);
	if (r == 0 && counts_of(run)->list.n)
		r = count_rows_add_run(run);
	if (r == 0 && run->profiler->ended)
		r = run->profiler->ended(run, run->self);
	if (r == 0)
		r = lines_show(run); /* lines that ended() has added */
	if (r == 0)
		r = result_files_finish(run);
	return r;
}

static int loop_start(struct attar_run *run)
{
	int r;

	select_await_command(run);
	r = PARTS_CALL(run, listen); /* the wait for a receiver is not part of the run's time */
	if (r == 0 && run->stream)
		r = stream_prepare(run->stream);
	if (r == 0)
		r = PARTS_CALL(run, begin);
	if (r < 0)
		return r;
	clock_start(&run->clock);
	r = run->stream ? attar_stream_start(run->stream) : 0;
	run->target->stop = NULL; /* what is opened from now on belongs to the report */
	if (r == 0 && !run->target->by_exec)
		r = counts_enable(run);
	if (r == 0)
		r = PARTS_CALL(run, started);
	if (r == 0 && run->profiler->started)
		r = run->profiler->started(run, run->self);
	return r == 0 ? attar_target_start(run->target) : r;
}

/* Opens and starts the next run of the command, or the only one. */
static int start_round(struct attar_run *run)
{
	int r;

	run->phase = RUN_STARTED;
	run->clock.progress = base_now() + PROGRESS_NS;
	if (run_has_database(run))
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
		r = loop_start(run);
	if (r == 0)
		run_set_tick(run, run->clock.began + run->opts.interval);
	return r;
}

/* 1: the command runs again; 0: the run is over. */
static int next_round(struct attar_run *run)
{
	int r = loop_finish(run);

	run->phase = RUN_ENDED;
	if (r < 0 || stop_of(run)->seen || ++run->command.round >= run->command.rounds)
		return r;
	r = start_round(run);
	if (r == -ECANCELED && run_stop_asked(run)) {
		stop_of(run)->seen = true; /* what was measured before is reported */
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

	opening_of(run)->by_profiler = true;
	select_keep_named(run);
	r = run->profiler->open(run, run->self);
	if (r == 0)
		r = PARTS_CALL(run, complete);
	opening_of(run)->by_profiler = false;
	return r;
}

/* Whether --no-inherit has children to leave out. */
static bool can_leave_children(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;

	return o->pids ||
	       (run->command.argv && !o->all_cpus && !o->cpus && !o->tids && !o->cgroups);
}

static int loop_begin(
	struct attar_run *run, const struct attar_run_hooks *hooks, const char *function)
{
	if (run->phase != RUN_NEW)
		return attar_fail(-EINVAL,
			"%s(): the run has already been started;" ATTAR_FIX
			"create a new one with attar_run_new()",
			function);

	/* see run/input/recorded_names.h */
	const struct attar_symbols_opts nameless = {.size = sizeof(nameless), .no_kernel = true};
	int r = option_struct_take(&run->hooks, sizeof(run->hooks), hooks);

	if (r == 0)
		r = run_set_preset(run);
	run->opts.no_children |= run->opts.no_inherit && can_leave_children(run);
	if (r == 0 && run->opts.no_children && !run->opts.pids && !run->command.argv)
		r = attar_fail(-EINVAL,
			"--no-children requires --pids or a command: children are watched only "
			"with their parents");
	if (r == 0)
		r = pull_prepare(run);
	if (r == 0)
		r = range_open_box(run);
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
		r = PARTS_CALL(run, prepare);
	if (r == 0 && run->opts.input && !run->replay)
		r = run_database_is_input(run) ? run_database_open(run) : replay_open(run);
	if (r == 0)
		r = open_profiler(run);
	if (r == 0)
		r = start_round(run);
	return r == -ENOMEM ? attar_context(failed(r), "cannot start") : failed(r);
}

int attar_run_start(struct attar_run *run, const struct attar_run_hooks *hooks)
{
	CHECK_OWN(run, "run");
	return loop_begin(run, hooks, __func__);
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

	return failed(run_make_report(run, scope, until, ret_report));
}

int run_query(struct attar_run *run, const char *text, struct attar_report **ret_report)
{
	if (run->phase == RUN_NEW || !run->clock.ended)
		return attar_fail(-EINVAL, "run_query(): the run has not ended");
	if (!run->profiler->query)
		return attar_fail(-EINVAL, "%s does not answer queries", run->profiler->name);

	struct attar_report *out = clock_new_report(run);
	int r;

	if (!out)
		return base_oom();
	attar_report_interval(out, run_wall_time(run, run->clock.ended),
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
	bool intervals = run_has_intervals(run);
	int r = intervals ? run_report(run, ATTAR_SCOPE_INTERVAL, run->clock.ended) : 0;

	if (r == 0 && (!intervals || run->hooks.want_whole))
		r = run_report(run, ATTAR_SCOPE_WHOLE, run->clock.ended);
	return r;
}

int attar_run_go(struct attar_run *run, const struct attar_run_hooks *hooks)
{
	CHECK_OWN(run, "run");

	int r = loop_begin(run, hooks, __func__);

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
		r = user_events_accepted(&run->sources.programs.events);
	return failed(r);
}
