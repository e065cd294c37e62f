/* SPDX-License-Identifier: MIT */
/* The events of tasks that enter or leave the control groups of --cgroups. */
#include "perf/target.h"
#include "run/input/needed_events.h"
#include "run/parts.h"
#include "run/parts/group_select.h"
#include "run/parts/names.h"
#include "run/run.h"
#include "run/events/sources.h"
#include "stream/procs.h"
#include "stream/stream.h"

/* ---- opening ---- */

static int on_move(struct attar_run *run, void *self, const struct attar_event *ev);
static int on_clone(struct attar_run *run, void *self, const struct attar_event *ev);

enum { ROOT, PATH, PID };
enum { CLONED_PID };

static const struct attar_input moves = {.event = "cgroup:cgroup_attach_task",
	.fields = {"dst_root", "dst_path", "pid"},
	.on_event = on_move,
	.optional = true};

/* CLONE_INTO_CGROUP, of kernels with 64 bits. */
static const struct attar_input clones = {.event = "task:task_newtask/clone_flags&0x200000000/",
	.fields = {"pid"},
	.on_event = on_clone,
	.optional = true};

/* Whoever is selected, these events happen in any task on any CPU. */
static int group_events_add(struct attar_run *run, const struct attar_input *input)
{
	size_t first = run->sources.list.n;
	bool adds = run->select.adds_all_cpus;
	int r;

	attar_run_all_cpus(run, true);
	r = attar_run_input(run, input);
	run->select.adds_all_cpus = adds;
	for (size_t i = first; r == 0 && i < run->sources.list.n; i++) {
		struct source *s = &run->sources.list.at[i];

		s->use->fn = input->on_event; /* it is not pushed, and no option leaves it out */
		s->use->actions.inner = NULL;
		s->use->pushes = false;
		s->use->is_internal = true;
	}
	return r;
}

/* After the profiler's open(): adds the events of tasks that enter or leave groups. */
static int groups_complete(struct attar_run *run, void *self)
{
	struct group_select *g = &run->select.groups;
	int r;

	if (!g->is_on && !(names_are_on(run) && run_watches_system(run)))
		return 0;
	g->misses_moves = !needed_event_exists(run, moves.event);
	r = group_events_add(run, &moves);
	return r == 0 && g->is_on && sizeof(long) >= sizeof(uint64_t)
		       ? group_events_add(run, &clones)
		       : r;
}

/* 0: it has exited. */
static pid_t pid_of(const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *known = stream_thread(run->stream, tid);

	return known && !known->exited ? known->process->pid : procs_pid_of(tid);
}

/* The profiler ends what it knows of a thread that leaves. */
static int move_thread(
	struct attar_run *run, const struct attar_event *ev, struct thread *t, enum group_mark mark)
{
	const struct attar_profiler *profiler = run->profiler;
	struct attar_event leaves = *ev;
	int r = 0;

	leaves.counter = ATTAR_NO_COUNTER;
	leaves.thread = &t->pub;
	if (t->mark == MARK_IN && mark != MARK_IN && profiler->exited)
		r = profiler->exited(run, run->self, &leaves);
	t->mark = mark;
	return r;
}

/*
 * A thread of a process whose main thread was moved: alone (tasks of v1, cgroup.threads of v2) or
 * with all others, which only /proc says.
 */
static enum group_mark mark_beside(
	const struct group_select *g, const struct attar_thread *thread, enum group_mark of_main)
{
	if (thread->exited || thread->tid == thread->process->pid)
		return of_main;
	return groups_read_mark(g, thread->tid, of_main);
}

/* With the threads that have had no event yet. */
static int move_process(struct attar_run *run, const struct attar_event *ev,
	struct attar_process *process, enum group_mark of_main)
{
	struct process *marked = (struct process *)process;
	int r = 0;

	stream_learn_process(run->stream, process->pid);
	attar_error_clear();
	marked->mark = of_main;
	map_each (&run->stream->procs.threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;
		enum group_mark mark;

		if (r < 0 || t->pub.process != process)
			continue;
		mark = mark_beside(&run->select.groups, &t->pub, of_main);
		if (mark != of_main)
			marked->mark = MARK_UNKNOWN;
		r = move_thread(run, ev, t, mark);
	}
	return r;
}

static void mark_thread(struct thread *t, enum group_mark mark)
{
	t->mark = mark;
	if (t->pub.process && t->pub.process->pid == t->pub.tid)
		((struct process *)t->pub.process)->mark = mark;
}

/* ---- at the start ---- */

static int learn_thread(void *ctx, pid_t tid)
{
	struct attar_run *run = ctx;
	pid_t pid = pid_of(run, tid);
	struct thread *t = pid ? procs_thread(&run->stream->procs, pid, tid) : NULL;

	if (t)
		mark_thread(t, MARK_IN);
	if (vec_push(&run->select.groups.listed, tid) < 0)
		return base_oom();
	return pid && !t ? base_oom() : 0;
}

/* What exists and is not listed is not a member. */
static void mark_others(struct attar_run *run)
{
	map_each (&run->stream->procs.threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;

		if (t->mark == MARK_UNKNOWN)
			mark_thread(t, MARK_OUT);
	}
}

/* Lists the members, after the events were enabled. */
static int groups_started(struct attar_run *run, void *self)
{
	struct group_select *g = &run->select.groups;
	int r = 0;

	if (!g->is_on || !run->stream)
		return 0;
	g->listed.n = 0;
	vec_each (&run->target->cgroup_names, name)
		r = r == 0 ? cgroup_each_thread(&g->hierarchy, *name, learn_thread, run) : r;
	g->learned = base_now();
	if (r == 0)
		mark_others(run);
	return r;
}

/* ---- events ---- */

/*
 * A new thread belongs to the group of the one that created it. What was created before the members
 * were listed may have been moved meanwhile.
 */
static int groups_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct group_select *g = &run->select.groups;
	const struct attar_task *task = &ev->record->task;
	const struct attar_thread *parent;
	struct thread *child;
	enum group_mark mark;

	if (!g->is_on || ev->record->type != PERF_RECORD_FORK || !ev->thread)
		return 0;
	child = (struct thread *)ev->thread;
	parent = stream_thread(run->stream, (pid_t)task->ptid);
	mark = parent && groups_have(run, parent) ? MARK_IN : MARK_OUT;
	if (ev->time <= g->learned && parse_ints_have(&g->listed, child->pub.tid))
		mark = MARK_IN;
	mark_thread(child, mark);
	return 0;
}

static enum group_mark mark_of_move(
	const struct group_select *g, const struct attar_event *ev, pid_t tid)
{
	size_t length;
	const char *path = attar_arg_text(ev, PATH, &length);

	if (!g->has_whole_paths)
		return groups_read_mark(g, tid, MARK_OUT);
	return path && groups_have_path(g, path, length) ? MARK_IN : MARK_OUT;
}

/* The kernel names the main thread, too, if it moves the whole process. */
static int on_move(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct group_select *g = &run->select.groups;
	pid_t tid = (pid_t)attar_arg_u64(ev, PID), pid;
	enum group_mark mark;
	struct thread *t;
	size_t length;
	const char *path = attar_arg_text(ev, PATH, &length);

	if (names_are_on(run))
		names_see_move(run, tid, path, length);
	if (!g->is_on || (int)attar_arg_i64(ev, ROOT) != g->number || tid <= 0)
		return 0;
	mark = mark_of_move(g, ev, tid);
	pid = pid_of(run, tid);
	t = procs_thread(&run->stream->procs, pid ? pid : tid, tid);
	if (!t)
		return base_oom();
	return t->pub.process->pid == tid ? move_process(run, ev, t->pub.process, mark)
					  : move_thread(run, ev, t, mark);
}

/* Into which group is only known to /proc. */
static int on_clone(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct group_select *g = &run->select.groups;
	struct thread *t =
		(struct thread *)stream_thread(run->stream, (pid_t)attar_arg_u64(ev, CLONED_PID));

	if (t && !g->hierarchy.is_v1)
		mark_thread(t, groups_read_mark(g, t->pub.tid, t->mark));
	return 0;
}

const struct run_part part_groups = {
	.complete = groups_complete, .started = groups_started, .record = groups_record};
