/* SPDX-License-Identifier: MIT */
#include "run/record/renewal.h"

#include "base/proc.h"
#include "perf/target.h"
#include "run/parts.h"
#include "run/record/portable.h"
#include "run/record/push.h"
#include "run/record/recorder.h"
#include "run/run.h"
#include "stream/stream.h"
#include "stream/task_name.h"

struct run_renewal {
	uint64_t given;   /* of the renewals of the stream's process table */
	bool follows;     /* the tasks of a target, not all of the machine */
	struct map tasks; /* tid -> 1: of the target, while they exist, according to records */
};

static struct run_renewal *renewal_of(const struct attar_run *run)
{
	return run->parts.state[PART_RENEWAL];
}

/* ---- the tasks of the target ---- */

/* The tasks of a command have their names and mappings in records from its exec on. */
static int renewal_begin(struct attar_run *run, void *self)
{
	const struct attar_target *target = run->target;
	struct run_renewal *renewal = self;
	int r = 0;

	if (!run_records(run) && !push_is_wanted(run))
		return 0;
	renewal->follows = attar_run_target_kind(run) == ATTAR_TARGET_TASKS;
	if (!renewal->follows || target->by_exec)
		return 0;
	for (size_t i = 0; r == 0 && i < target->tids.n; i++)
		r = map_put(&renewal->tasks, (uint64_t)target->tids.at[i], 1);
	return r;
}

void renewal_follow(struct attar_run *run, const struct perf_event_header *header)
{
	const uint32_t *body = (const uint32_t *)(header + 1);
	struct run_renewal *renewal = renewal_of(run);
	struct map *tasks = &renewal->tasks;

	if (!renewal->follows)
		return;
	switch (header->type) {
	case PERF_RECORD_COMM: /* pid, tid */
		(void)map_put(tasks, body[1], 1);
		break;
	case PERF_RECORD_FORK: /* pid, ppid, tid */
		(void)map_put(tasks, body[2], 1);
		break;
	case PERF_RECORD_EXIT:
		map_remove(tasks, body[2]);
		break;
	default:
		break;
	}
}

int renewal_list(const struct attar_run *run, parse_ints *list)
{
	const struct command *command = &run->target->command;

	/* the records of a command that has begun may be lost */
	if (run->target->by_exec && !command_is_held(command) && vec_push(list, command->pid) < 0)
		return base_oom();
	map_each (&renewal_of(run)->tasks, task)
		if (vec_push(list, (pid_t)task->key) < 0)
			return base_oom();
	return 0;
}

struct descent {
	struct map *tasks;
	bool grows;
};

static int add_child(void *ctx, pid_t pid)
{
	struct descent *d = ctx;
	struct buf name _cleanup_(buf_done) = {0};
	struct task_facts facts = {0};

	if (map_get(d->tasks, (uint64_t)pid) || task_name_read(pid, pid, &name, &facts) < 0 ||
		!map_get(d->tasks, (uint64_t)facts.parent))
		return 0;
	d->grows = true;
	return map_put(d->tasks, (uint64_t)pid, 1);
}

/* After a loss: tasks that have exited without a record end, their children are known by /proc. */
static int find_tasks(struct attar_run *run)
{
	struct descent d = {.tasks = &renewal_of(run)->tasks, .grows = true};
	parse_ints known = {0};
	int r = renewal_list(run, &known);

	map_done(d.tasks);
	vec_each (&known, tid)
		if (r == 0 && proc_state(*tid))
			r = map_put(d.tasks, (uint64_t)*tid, 1);
	vec_done(&known);
	while (r == 0 && d.grows) {
		d.grows = false;
		r = proc_each_process(add_child, &d);
	}
	return r;
}

/* ---- names ---- */

static int give_names(struct attar_run *run)
{
	struct run_recorder *recorder = recorder_of(run);
	parse_ints tids = {0};
	int r = renewal_of(run)->follows ? find_tasks(run) : 0;

	if (r == 0)
		r = renewal_list(run, &tids);
	if (r == 0 && recorder->writer)
		r = recording_writer_add_running(recorder->writer, tids.at, tids.n);
	if (r == 0)
		push_running(run, &tids);
	vec_done(&tids);
	return r == 0 && recorder->portable ? portable_read_running(run) : r;
}

int renewal_turn(struct attar_run *run)
{
	struct run_renewal *renewal = renewal_of(run);
	struct attar_stream *stream = run->stream;
	int r;

	if (!stream || stream->stopped)
		return 0;
	stream_renew_names_of_cpus(stream);
	if (likely(stream->procs.renewals == renewal->given))
		return 0;
	renewal->given = stream->procs.renewals;
	r = give_names(run);
	return r < 0 ? r : 1;
}

/* The recorder renews names itself, as it reads the rings. */
static int renewal_drained(struct attar_run *run, void *self)
{
	return push_is_open(run) ? MIN(renewal_turn(run), 0) : 0;
}

static void renewal_free(struct attar_run *run, void *self)
{
	struct run_renewal *renewal = self;

	map_done(&renewal->tasks);
}

const struct run_part part_renewal = {.size = sizeof(struct run_renewal),
	.begin = renewal_begin,
	.drained = renewal_drained,
	.free = renewal_free};
