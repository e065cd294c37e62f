/* SPDX-License-Identifier: MIT */
#include "run/setuid.h"

#include "base/buf.h"
#include "perf/target.h"
#include "run/run.h"
#include "stream/live.h"

enum {
	RING_BYTES = 64 << 10,
	/*
	 * Threads times CPUs: each takes a descriptor, and new threads inherit one event per CPU.
	 * Above this limit, watching would cost more than counting.
	 */
	PLACES_MAX = 1024,
};

static bool is_needed(const struct attar_run *run)
{
	return run->counts.n && !run->stream &&
	       attar_target_kind_of(run->target) == ATTAR_TARGET_TASKS;
}

static void list_numbers(struct buf *b, const parse_ints *numbers)
{
	for (size_t i = 0; i < numbers->n; i++)
		buf_printf(b, "%s%d", b->len ? "," : "", numbers->at[i]);
}

/* The run's tasks on each CPU: inherited events can only have per-CPU rings. */
static int open_target(struct attar_run *run, struct setuid_watch *w)
{
	const struct attar_target *of = run->target;
	struct attar_target_opts opts = {
		.size = sizeof(opts), .cpus = run->opts.cpus, .stop = &run->stop_asked};
	struct buf pids _cleanup_(buf_done) = {0}, tids _cleanup_(buf_done) = {0};
	size_t n_cpus;
	int r;

	list_numbers(&pids, &of->pids);
	if (of->by_exec)
		buf_printf(&pids, "%s%d", pids.len ? "," : "", of->command.pid);
	if (!pids.len)
		list_numbers(&tids, &of->tids);
	if (buf_failed(&pids) || buf_failed(&tids))
		return base_oom();
	opts.pids = pids.len ? pids.data : NULL;
	opts.tids = tids.len ? tids.data : NULL;
	opts.skip_refused = true;
	r = attar_target_new(&opts, &w->target);
	if (r < 0)
		return r;
	w->target->by_exec = of->by_exec;
	attar_target_cpus(w->target, &n_cpus);
	return w->target->tids.n * n_cpus <= PLACES_MAX ? 0 : -E2BIG;
}

static int open_stream(struct attar_run *run, struct setuid_watch *w)
{
	struct attar_stream_opts opts = {.size = sizeof(opts), .ring_bytes = RING_BYTES};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	int r;

	attar_stream_attr(&attr, true);
	attr.ksymbol = 0;
	attr.wakeup_watermark = RING_BYTES / 4;
	attr.disabled = attr.enable_on_exec = w->target->by_exec;
	r = attar_counter_open(w->target, &attr, "side-band records", 0, &w->counter);
	if (r == 0)
		r = attar_stream_live(w->target, &w->counter, 1, run->symbols, &opts, &w->stream);
	if (r < 0)
		return r;
	w->stream->procs.live = false; /* names of existing tasks are not needed */
	w->stream->procs.quiet = w->before > 0;
	return 0;
}

static void drop(struct setuid_watch *w)
{
	w->stream = attar_stream_free(w->stream);
	w->counter = attar_counter_close(w->counter);
	w->target = attar_target_free(w->target);
}

size_t setuid_files(const struct attar_run *run)
{
	const struct attar_target *of = run->target;
	size_t n = of->tids.n * (size_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);

	if (run->sources.n || !run->counts.n || of->kind != ATTAR_TARGET_TASKS || n > PLACES_MAX)
		return 0;
	return n;
}

void setuid_open(struct attar_run *run)
{
	struct setuid_watch *w = &run->setuid;
	int r;

	if (!is_needed(run))
		return;
	r = open_target(run, w);
	if (r == 0)
		r = open_stream(run, w);
	if (r == 0)
		return;
	attar_error_clear();
	drop(w);
}

void setuid_drain(struct attar_run *run)
{
	struct attar_event ev;

	while (run->setuid.stream && attar_stream_next(run->setuid.stream, &ev) > 0)
		;
}

void setuid_stop(struct attar_run *run)
{
	if (run->setuid.stream && attar_stream_stop(run->setuid.stream) < 0)
		attar_error_clear();
	setuid_drain(run);
}

uint64_t setuid_count(const struct attar_run *run)
{
	struct attar_stream *stream = run->setuid.stream ? run->setuid.stream : run->stream;

	return stream ? stream->procs.unwatched : 0;
}

void setuid_close(struct attar_run *run)
{
	run->setuid.before += setuid_count(run);
	drop(&run->setuid);
}

void setuid_remark(const struct attar_run *run, struct attar_report *report)
{
	uint64_t n = run->setuid.before + setuid_count(run);

	if (n)
		attar_report_remark(report,
			"%llu %s executed a set-user-ID or unreadable program, for which the "
			"kernel "
			"disables events: what %s did afterwards is missing",
			(unsigned long long)n, n == 1 ? "process" : "processes",
			n == 1 ? "it" : "they");
}
