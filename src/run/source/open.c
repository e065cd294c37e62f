/* SPDX-License-Identifier: MIT */
#include "run/source/open.h"

#include "base/buf.h"
#include "base/file_limit.h"
#include "event/kernel_filter.h"
#include "event/skipped_events.h"
#include "perf/counter.h"
#include "perf/target.h"
#include "run/run.h"
#include "stream/stream.h"

static void fall_back_to_clock(struct source *s)
{
	s->attr.type = PERF_TYPE_SOFTWARE;
	s->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	s->is_fallback_allowed = false;
	free(s->name);
	s->name = strdup("cpu-clock");
	log_note("no hardware cycle counter (a virtual machine without a PMU?): sampling cpu-clock "
		 "instead, which does not sample code that runs with interrupts disabled");
}

static int set_filter(struct source *s)
{
	int r = s->filter ? attar_counter_filter(s->counter, s->filter) : 0;

	if (r == -EINVAL && s->spare) {
		r = run_filter_in_attar(s);
		return r == 0 ? set_filter(s) : r;
	}
	return r == -EINVAL ? filter_refused(s->spec, s->filter) : r;
}

static struct counter_cpus source_cpus(const struct attar_run *run, const struct source *s)
{
	const struct attar_event_spec *spec = source_spec(s);

	if (s->all_cpus && !(spec && spec->n_only_cpus))
		return (struct counter_cpus){0};
	return run_only_cpus(run, spec);
}

int run_open_source(struct attar_run *run, struct source *s)
{
	struct perf_event_attr attr;
	int r;

	if (!s->name)
		return base_oom();
	r = sample_filter_check(sample_filter_run(run, s), s);
	if (r < 0)
		return r;
	attr = s->attr;
	attar_stream_attr(&attr, false);
	attr.wakeup_watermark = run->rings.watermark;
	attr.enable_on_exec = run->target->by_exec;
	r = parts_attr(run, s, &attr);
	if (r < 0)
		return r;
	r = s->timer ? timer_open(run, s, &attr)
		     : counter_open_on(run->target, source_cpus(run, s), &attr, s->name,
			       ATTAR_COUNTER_DEGRADE, &s->counter);
	if (r == -EOPNOTSUPP && s->is_fallback_allowed && !user_stacks_are_by_lbr(run)) {
		fall_back_to_clock(s);
		return run_open_source(run, s);
	}
	if (r < 0)
		r = user_stacks_refused(run, s->name, r);
	if (r == 0)
		r = set_filter(s);
	if (r == 0)
		r = sample_filter_attach(sample_filter_run(run, s), s);
	if (r < 0)
		run_close_source(s);
	return r;
}

static int close_events(struct attar_run *run)
{
	task_watch_close(run);
	run->stream = attar_stream_free(run->stream);
	run_user_close(run);
	vec_each (&run->sources.list, s)
		run_close_source(s);
	return counts_close(run);
}

static int open_sources(struct attar_run *run)
{
	struct skipped_events left = {0};
	int r = 0, ended;

	run->opening.shown = base_now() + PROGRESS_NS;
	vec_each (&run->sources.list, s) {
		if (s->host || shared_is_open(run, s))
			continue;
		r = run_opening(run, (size_t)(s - run->sources.list.at));
		if (r < 0)
			break;
		r = run_open_source(run, s);
		s->is_left_out = r < 0 && skipped_events_allows(s->spec, r);
		r = skipped_events_add(&left, s->spec, r);
		if (r < 0)
			break;
	}
	ended = skipped_events_end(&left);
	return r < 0 ? r : ended;
}

static int open_events(struct attar_run *run)
{
	int r;

	shared_prepare(run);
	r = open_sources(run);
	if (r < 0)
		return r;
	run_sources_drop(run);
	r = shared_link(run);
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

static bool has_live_sources(const struct attar_run *run)
{
	vec_each (&run->sources.list, s)
		if (!s->host)
			return true;
	return false;
}

/* Events of other hosts and those that share a counter have none in the stream. */
static void number_counters(struct attar_run *run)
{
	size_t n = 0;

	vec_each (&run->sources.list, s)
		if (s->counter)
			run->stream->numbers[n++] = (uint32_t)(s - run->sources.list.at);
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
 * in the mappings of data. attar needs those of code only.
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
	return run->records_to_file && copies_stacks;
}

static int open_stream(struct attar_run *run)
{
	struct attar_stream_opts opts = {.size = sizeof(opts),
		.ring_bytes = rings_bytes(&run->rings),
		.track = has_live_sources(run),
		.keep_own = run->select.keeps_own || run->select.hides_own,
		.shm_source = run->user.events.shm,
		.lazy_maps = true};
	VEC(struct attar_counter *) counters = {0};
	int r = 0;

	vec_each (&run->sources.list, s) {
		if (!s->counter)
			continue;
		opts.lazy_maps &= has_no_addresses(s->counter);
		if (vec_push(&counters, s->counter) < 0)
			r = base_oom();
	}
	vec_each (&run->counts.list, c)
		if (exited_threads_reported(run) && c->counter &&
			vec_push(&counters, c->counter) < 0)
			r = base_oom();
	run->target->events_open = run->target->events;
	run->target->files_later = run_stream_files(run);
	run->target->data_mappings = needs_data_mappings(run);
	if (r == 0 && counters.n)
		r = attar_stream_live(
			run->target, counters.at, counters.n, run->symbols, &opts, &run->stream);
	vec_done(&counters);
	if (r == 0 && run->stream)
		number_counters(run);
	return r;
}

int open_all(struct attar_run *run)
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
	if (r == 0)
		select_learn(run);
	return r == 0 ? parts_opened(run) : r;
}
