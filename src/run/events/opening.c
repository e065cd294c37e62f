/* SPDX-License-Identifier: MIT */
/* While the events of a run are opened: on which CPUs, how many files, and the progress. */
#include "base/file_limit.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/counts/tasks.h"
#include "run/run.h"
#include "run/events/open.h"
#include "run/events/sources.h"
#include "run/stop.h"

enum { OPENING_NS = 100000000 }; /* between two lines of progress while events are opened */

struct counter_cpus run_only_cpus(const struct attar_run *run, const struct attar_event_spec *spec)
{
	if (spec && spec->n_only_cpus)
		return (struct counter_cpus){spec->only_cpus, spec->n_only_cpus};
	if (run->select.has_all_cpus)
		return (struct counter_cpus){run->select.cpus.at, run->select.cpus.n};
	return (struct counter_cpus){0};
}

/* The files of the run's stream and of its side-band event. */
size_t run_stream_files(const struct attar_run *run)
{
	if (exited_threads_reported(run)) /* task_watch.c has the side-band event */
		return FILE_LIMIT_STREAM;
	return run->sources.list.n ? target_instances(run->target) + FILE_LIMIT_STREAM : 0;
}

/* The files of the counters that are opened after the events, for messages about limits. */
static size_t count_later_files(const struct attar_run *run)
{
	if (exited_threads_reported(run))
		return run_stream_files(run) + counts_of(run)->list.n * run->target->tids.n;
	return run_stream_files(run) + task_watch_files(run);
}

int run_opening(struct attar_run *run, size_t done)
{
	size_t all = run->sources.list.n + counts_of(run)->list.n;
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
	if (now < opening_of(run)->shown)
		return 0;
	run->hooks.opening(run->hooks.ctx, done, all);
	opening_of(run)->shown = now + OPENING_NS;
	return 0;
}

const struct run_part part_opening = {.size = sizeof(struct run_opening)};
