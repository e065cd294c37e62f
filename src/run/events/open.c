/* SPDX-License-Identifier: MIT */
#include "run/events/open.h"

#include "perf/counter.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/counts/tasks.h"
#include "run/parts/programs.h"
#include "run/record/recorder.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/sources.h"

static int close_events(struct attar_run *run)
{
	task_watch_close(run);
	run->stream = attar_stream_free(run->stream);
	sources_close(&run->sources);
	return counts_close(run);
}

static int open_events(struct attar_run *run)
{
	int r;

	opening_of(run)->shown = base_now() + PROGRESS_NS;
	run->sources.are_recorded = run_records(run);
	r = sources_open(&run->sources);
	return r < 0 ? r : counts_open(run);
}

/* Without permission to watch the whole system, watch this user's processes and log a note. */
static int narrow(struct attar_run *run, int error)
{
	char *why _cleanup_free_ = strdup(attar_error());
	int r;

	if ((error != -EACCES && error != -EPERM) || !why || run->command.argv ||
		!run_watches_system(run) || run->select.watches_cpus || run->select.groups.is_on)
		return error;
	r = close_events(run);
	if (r == 0)
		r = run_programs_open(run);
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

static bool has_live_sources(const struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		if (!s->use->host)
			return true;
	return false;
}

/* Samples without user addresses: mappings of processes are not needed. */
static bool has_no_addresses(const struct attar_counter *counter)
{
	const uint64_t user = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
			      PERF_SAMPLE_STACK_USER | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_ADDR;

	return counter->attr.type == PERF_TYPE_TRACEPOINT && !(counter->attr.sample_type & user);
}

/*
 * perf unwinds copies of stacks with the call frame information of each binary, which it looks up
 * in the mappings of data. attar needs mappings of code only.
 */
static bool needs_data_mappings(const struct attar_run *run)
{
	bool copies_stacks = false;

	vec_each (&run->sources.list, s) {
		if (s->attr.mmap_data)
			return false;
		copies_stacks |=
			s->counter && s->counter->attr.sample_type & PERF_SAMPLE_STACK_USER;
	}
	return recorder_of(run)->to_file && copies_stacks;
}

static int open_stream(struct attar_run *run)
{
	struct attar_stream_opts opts = {.size = sizeof(opts),
		.ring_bytes = rings_bytes(rings_of(run)),
		.track = has_live_sources(run),
		.keep_own = run->select.keeps_own || run->select.hides_own,
		.lazy_maps = true};
	counter_list counted = {0};
	int r = 0;

	vec_each (&run->sources.list, s)
		opts.lazy_maps &= !s->counter || has_no_addresses(s->counter);
	vec_each (&counts_of(run)->list, c)
		if (exited_threads_reported(run) && c->counter &&
			vec_push(&counted, c->counter) < 0)
			r = base_oom();
	run->target->events_open = run->target->events;
	run->target->files_later = run_stream_files(run);
	run->target->data_mappings = needs_data_mappings(run);
	if (r == 0)
		r = sources_stream(
			&run->sources, run->target, &counted, run->symbols, &opts, &run->stream);
	vec_done(&counted);
	return r;
}

int open_all(struct attar_run *run)
{
	int r = close_events(run);

	if (r == 0)
		r = run_programs_open(run);
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
	if (r == 0)
		select_learn(run);
	return r == 0 ? PARTS_CALL(run, opened) : r;
}
