/* SPDX-License-Identifier: MIT */
#include "run/counts/tasks.h"

#include "attar/private/perf.h"
#include "base/buf.h"
#include "base/file_limit.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/rings.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "run/stop.h"
#include "stream/stream.h"

enum {
	RING_BYTES = 64 << 10,
	/*
	 * One for each thread and CPU: each takes a descriptor, and new threads inherit one event
	 * per CPU. Above this limit, watching would cost more than counting.
	 */
	INSTANCES_MAX = 1024,
};

static bool is_needed(const struct attar_run *run)
{
	return counts_of(run)->list.n && !run->sources.list.n &&
	       target_kind_of(run->target) == ATTAR_TARGET_TASKS;
}

/* Names of all tasks of the system, which include the tasks of the run. */
static int open_system(struct attar_run *run, struct task_watch *w)
{
	const struct attar_target_opts opts = {.size = sizeof(opts), .stop = &stop_of(run)->asked};

	w->target = attar_target_free(w->target);
	return attar_target_new(&opts, &w->target);
}

/* The run's tasks on each CPU: inherited events can only have per-CPU rings. */
static int open_target(struct attar_run *run, struct task_watch *w)
{
	const struct attar_target *of = run->target;
	struct attar_target_opts opts = {.size = sizeof(opts),
		.cpus = threads_of(run)->each ? NULL : run->opts.cpus,
		.stop = &stop_of(run)->asked,
		.descendants = of->descendants,
		.only_threads = of->only_threads};
	struct buf pids _cleanup_(buf_done) = {0}, tids _cleanup_(buf_done) = {0};
	size_t n_cpus;
	int r;

	buf_list(&pids, of->pids.at, of->pids.n);
	if (map_get(&of->known, (uint64_t)of->command.pid))
		buf_list(&pids, &of->command.pid, 1);
	if (!pids.len)
		buf_list(&tids, of->tids.at, of->tids.n);
	if (buf_failed(&pids) || buf_failed(&tids))
		return base_oom();
	opts.pids = pids.len ? pids.data : NULL;
	opts.tids = tids.len ? tids.data : NULL;
	opts.skip_refused = true;
	r = attar_target_new(&opts, &w->target);
	if (r < 0)
		return r;
	w->target->by_exec = of->by_exec;
	target_cpus(w->target, &n_cpus);
	if (!exited_threads_reported(run) && w->target->tids.n * n_cpus > INSTANCES_MAX)
		return threads_of(run)->each ? open_system(run, w) : -E2BIG;
	return 0;
}

static int note_starters(struct task_watch *w)
{
	for (size_t i = 0; i < attar_counter_instances(w->counter); i++) {
		struct attar_counter_instance at = attar_counter_instance_at(w->counter, i);

		if (map_put(&w->creators, at.id, (uint64_t)at.tid) < 0)
			return base_oom();
	}
	return 0;
}

/* Counts of each thread are opened twice: on each CPU and once for all. */
static size_t counts_files(const struct attar_run *run)
{
	return counts_of(run)->list.n * (target_instances(run->target) + run->target->tids.n);
}

static int open_stream(struct attar_run *run, struct task_watch *w)
{
	bool names = exited_threads_reported(run);
	size_t bytes = names ? rings_of(run)->pages * RUN_PAGE_BYTES : RING_BYTES;
	struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = bytes, .lazy_maps = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1};
	int r;

	attar_stream_attr(&attr, true);
	attr.ksymbol = 0;
	attr.wakeup_watermark = (uint32_t)(bytes / 4);
	attr.disabled = attr.enable_on_exec = w->target->by_exec;
	if (names) /* the counts follow; otherwise they are open */
		w->target->files_later = counts_files(run) + 2 * FILE_LIMIT_STREAM;
	r = attar_counter_open(w->target, &attr, "side-band records", 0, &w->counter);
	if (r == 0)
		r = attar_stream_live(w->target, &w->counter, 1, run->symbols, &opts, &w->stream);
	if (r < 0)
		return r;
	w->stream->procs.live = names;
	w->stream->procs.quiet = w->before > 0;
	r = !names || w->target->by_exec ? 0 : stream_prepare(w->stream);
	return r == 0 ? note_starters(w) : r;
}

static void tasks_drop(struct task_watch *w)
{
	w->stream = attar_stream_free(w->stream);
	w->counter = attar_counter_close(w->counter);
	w->target = attar_target_free(w->target);
	map_done(&w->creators);
}

size_t task_watch_files(const struct attar_run *run)
{
	const struct attar_target *of = run->target;
	size_t n = of->tids.n * (size_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);

	if (run->sources.list.n || !counts_of(run)->list.n || of->kind != ATTAR_TARGET_TASKS)
		return 0;
	return n <= INSTANCES_MAX ? n : 0;
}

int task_watch_open(struct attar_run *run)
{
	struct task_watch *w = task_watch_of(run);
	int r;

	if (!is_needed(run))
		return 0;
	r = open_target(run, w);
	if (r == 0)
		r = open_stream(run, w);
	if (r == 0 || exited_threads_reported(run))
		return r;
	attar_error_clear();
	tasks_drop(w);
	return 0;
}

void task_watch_see(struct attar_run *run, const struct attar_record *rec)
{
	task_watch_of(run)->created +=
		rec->type == PERF_RECORD_FORK && rec->task.pid != rec->task.ppid;
}

int task_watch_drain(struct attar_run *run)
{
	struct attar_event ev;
	int r = 0;

	while (r == 0 && task_watch_of(run)->stream &&
		attar_stream_next(task_watch_of(run)->stream, &ev) > 0) {
		task_watch_see(run, ev.record);
		r = threads_of(run)->each ? threads_note_task(run, &ev) : 0;
	}
	return r == 0 && task_watch_of(run)->stream
		       ? threads_know(run, stream_horizon(task_watch_of(run)->stream))
		       : r;
}

int task_watch_stop(struct attar_run *run)
{
	if (task_watch_of(run)->stream && attar_stream_stop(task_watch_of(run)->stream) < 0)
		attar_error_clear();
	return task_watch_drain(run);
}

pid_t task_watch_creator(const struct attar_run *run, uint64_t id)
{
	const uint64_t *tid = map_get(&task_watch_of(run)->creators, id);

	return tid ? (pid_t)*tid : -1;
}

uint64_t task_watch_disabled(const struct attar_run *run)
{
	struct attar_stream *stream =
		task_watch_of(run)->stream ? task_watch_of(run)->stream : run->stream;

	return stream ? stream->procs.unwatched : 0;
}

void task_watch_close(struct attar_run *run)
{
	task_watch_of(run)->before += task_watch_disabled(run);
	tasks_drop(task_watch_of(run));
}

bool task_watch_misses_calls(const struct attar_run *run, const struct attar_event_spec *spec)
{
	bool is_user = spec->kind == ATTAR_EVENT_PROBE && spec->name[0] == 'u';

	return is_user && task_watch_of(run)->created > 0;
}

static void remark_on_calls(const struct attar_run *run, struct attar_report *report)
{
	bool any = false;

	vec_each (&counts_of(run)->list, c)
		any |= !c->pub.refused && task_watch_misses_calls(run, c->pub.spec);
	vec_each (&run->sources.list, s)
		any |= source_spec(s) && task_watch_misses_calls(run, source_spec(s));
	if (any)
		attar_report_remark(report,
			"the watched tasks created %llu %s: the kernel may miss calls of probed "
			"functions in them; with -a, it misses none",
			(unsigned long long)task_watch_of(run)->created,
			task_watch_of(run)->created == 1 ? "process" : "processes");
}

void task_watch_remark(const struct attar_run *run, struct attar_report *report)
{
	uint64_t n = task_watch_of(run)->before + task_watch_disabled(run);

	remark_on_calls(run, report);
	if (n)
		attar_report_remark(report,
			"%llu %s executed a set-user-ID or unreadable program, for which the "
			"kernel disables events: what %s did afterwards is missing",
			(unsigned long long)n, n == 1 ? "process" : "processes",
			n == 1 ? "it" : "they");
}

static void task_watch_detach(struct attar_run *run, void *self)
{
	task_watch_close(run);
}

const struct run_part part_task_watch = {
	.size = sizeof(struct task_watch), .detach = task_watch_detach};
