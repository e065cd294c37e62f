/* SPDX-License-Identifier: MIT */
#include "run/intervals.h"

#include "report/model/model.h"
#include "run/input/replay.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/parts/requests.h"
#include "stream/stream.h"

int run_make_report(struct attar_run *run, enum attar_scope scope, uint64_t until,
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
	requests_mark(run, out);
	attar_report_interval(out, run_wall_time(run, until), until - since);
	r = PARTS_CALL(run, read, out);
	if (r == 0)
		r = run->profiler->report(run, run->self, out, scope);
	if (r == 0)
		r = PARTS_CALL(run, report, out, scope);
	/* counting has no overhead worth a line per interval; keep the text of an error */
	if (r == 0 && !run_has_database(run) &&
		(run->stream || run->clock.ended || run->notes.in_kernel))
		run_fill_notes(run, out, scope);
	out->is_dump = scope == ATTAR_SCOPE_INTERVAL && !run->opts.interval &&
		       (rings_of(run)->overwritten || run->lines.holds);
	run->clock.interval_began = until;
	if (r < 0)
		attar_report_free(out);
	else
		*ret_report = out;
	return r == -ENOMEM ? attar_context(r, "cannot make the report") : r;
}

/* The text of a failure that was handled before is not the reason why the hook fails. */
int run_give_report(struct attar_run *run, const struct attar_report *out, enum attar_scope scope)
{
	if (!run->hooks.report)
		return 0;
	attar_error_clear();
	return run->hooks.report(run->hooks.ctx, out, scope);
}

int run_report(struct attar_run *run, enum attar_scope scope, uint64_t until)
{
	struct attar_report *out;
	int r = run_make_report(run, scope, until, &out);

	if (r < 0)
		return r;
	run->clock.has_requested |=
		scope == ATTAR_SCOPE_INTERVAL && !run->opts.interval && !out->is_dump;
	if (lines_hold_some(&run->lines)) /* it would wait with them */
		r = lines_show(run);
	if (r == 0 && lines_are_queued(&run->lines))
		return lines_add_report(run, out, scope);
	if (r == 0)
		r = run_give_report(run, out, scope);
	attar_report_free(out);
	return r;
}

uint64_t run_duration_end(const struct attar_run *run)
{
	const uint64_t end = run->opts.duration ? run->clock.began + run->opts.duration : 0,
		       range = replay_range_end(run->replay);

	return range != UINT64_MAX && (!end || range < end) ? range : end;
}

void run_set_tick(struct attar_run *run, uint64_t until)
{
	uint64_t end = run_duration_end(run);

	if (run->opts.interval && (!end || until < end))
		run->clock.tick = until + run->clock.delay;
	else
		run->clock.tick = run->replay && end ? end : UINT64_MAX;
	if (run->clock.cut)
		run->clock.tick = MIN(run->clock.tick, run->clock.cut);
}

int run_report_interval(struct attar_run *run, uint64_t time)
{
	uint64_t interval = run->opts.interval, tick = run->clock.tick,
		 passed = tick - run->clock.delay + (time - tick) / interval * interval;
	int r = lines_close(run);

	if (r == 0)
		r = run_report(run, ATTAR_SCOPE_INTERVAL,
			run->sources.list.n || run->replay ? passed : base_now());
	run_set_tick(run, passed + interval);
	return r;
}

int run_report_request(struct attar_run *run, uint64_t now)
{
	uint64_t until = run->stream ? MAX(now, stream_time(run->stream)) : base_now();
	int r = lines_release(run);

	if (r == 0)
		r = lines_show(run);

	if (!run->clock.began) /* a recording, of which nothing was delivered */
		until = 0;
	return r == 0 ? run_report(run, ATTAR_SCOPE_INTERVAL, until) : r;
}

int run_report_now(struct attar_run *run, uint64_t time)
{
	int r = lines_close(run);

	return r == 0 ? run_report(run, ATTAR_SCOPE_INTERVAL, time) : r;
}
