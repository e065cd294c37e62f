/* SPDX-License-Identifier: MIT */
#include "run/group_select.h"

#include "base/log.h"
#include "perf/target.h"
#include "run/needed_events.h"
#include "run/run.h"
#include "stream/procs.h"
#include "stream/stream.h"

enum mark { UNKNOWN, IN, OUT };

enum { TICK_NS = 20000000 }; /* the start of a thread in /proc is not exact */

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
static int add(struct attar_run *run, const struct attar_input *input)
{
	size_t first = run->sources.list.n;
	bool adds = run->select.adds_all_cpus;
	int r;

	attar_run_all_cpus(run, true);
	r = attar_run_input(run, input);
	run->select.adds_all_cpus = adds;
	for (size_t i = first; r == 0 && i < run->sources.list.n; i++) {
		struct source *s = &run->sources.list.at[i];

		s->fn = input->on_event; /* it is not pushed, and no option leaves it out */
		s->inner = NULL;
		s->pushes = false;
		s->is_internal = true;
	}
	return r;
}

int groups_open(struct attar_run *run)
{
	struct group_select *g = &run->select.groups;
	int r;

	if (!g->is_on)
		return 0;
	g->misses_moves = !needed_event_exists(run, moves.event);
	r = add(run, &moves);
	return r == 0 && sizeof(long) >= sizeof(uint64_t) ? add(run, &clones) : r;
}

static void forget(struct group_select *g)
{
	cgroup_hierarchy_done(&g->hierarchy);
	vec_each (&g->paths, path)
		free(*path);
	g->paths.n = 0;
}

static int add_path(struct group_select *g, const char *name)
{
	struct buf path = {0};
	char *text;

	cgroup_path(&g->hierarchy, name, &path);
	text = buf_take(&path);
	if (text && vec_push(&g->paths, text) == 0)
		return 0;
	free(text);
	return base_oom();
}

int groups_open_target(struct attar_run *run)
{
	struct group_select *g = &run->select.groups;
	struct buf own _cleanup_(buf_done) = {0};
	int r;

	if (!g->is_on)
		return 0;
	forget(g);
	r = cgroup_open_list(run->target, run->opts.cgroups);
	if (r == 0)
		r = cgroup_hierarchy_find(&g->hierarchy);
	vec_each (&run->target->cgroup_names, name)
		r = r == 0 ? add_path(g, *name) : r;
	if (r < 0)
		return r;
	r = cgroup_of_thread(&g->hierarchy, getpid(), &own, &g->number);
	g->has_whole_paths = cgroup_paths_are_whole();
	return r < 0 ? attar_fail(r, "/proc/%d/cgroup: cannot read the control group", getpid())
		     : 0;
}

/* ---- marks ---- */

static bool have_path(const struct group_select *g, const char *path, size_t length)
{
	vec_each (&g->paths, group)
		if (cgroup_contains(*group, path, length))
			return true;
	return false;
}

/* From /proc; otherwise, as of a thread that has exited. */
static enum mark read_mark(const struct group_select *g, pid_t tid, enum mark otherwise)
{
	struct buf path _cleanup_(buf_done) = {0};

	if (tid <= 0 || cgroup_of_thread(&g->hierarchy, tid, &path, NULL) < 0)
		return otherwise;
	return have_path(g, buf_text(&path), path.len) ? IN : OUT;
}

/*
 * Of a thread without a mark: it existed when the members were listed, and was none; or its FORK
 * record was lost.
 */
static enum mark find_mark(const struct group_select *g, const struct attar_thread *thread)
{
	const struct process *process = (const struct process *)thread->process;

	if (thread->started && thread->started + TICK_NS < g->learned)
		return OUT;
	if (process && process->mark)
		return process->mark;
	return read_mark(g, thread->tid, OUT);
}

/* No caller sees that the thread changes. */
bool groups_have(const struct attar_run *run, const struct attar_thread *thread)
{
	struct thread *t = (struct thread *)thread;

	if (unlikely(t->mark == UNKNOWN))
		t->mark = find_mark(&run->select.groups, thread);
	return t->mark == IN;
}

/* 0: it has exited. */
static pid_t pid_of(const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *known = stream_thread(run->stream, tid);

	return known && !known->exited ? known->process->pid : procs_pid_of(tid);
}

/* The profiler ends what it knows of a thread that leaves. */
static int move_thread(
	struct attar_run *run, const struct attar_event *ev, struct thread *t, enum mark mark)
{
	const struct attar_profiler *profiler = run->profiler;
	struct attar_event leaves = *ev;
	int r = 0;

	leaves.counter = ATTAR_NO_COUNTER;
	leaves.thread = &t->pub;
	if (t->mark == IN && mark != IN && profiler->exited)
		r = profiler->exited(run, run->self, &leaves);
	t->mark = mark;
	return r;
}

/*
 * A thread of a process whose main thread was moved: alone (tasks of v1, cgroup.threads of v2) or
 * with all others, which only /proc says.
 */
static enum mark mark_beside(
	const struct group_select *g, const struct attar_thread *thread, enum mark of_main)
{
	if (thread->exited || thread->tid == thread->process->pid)
		return of_main;
	return read_mark(g, thread->tid, of_main);
}

/* With the threads that have had no event yet. */
static int move_process(struct attar_run *run, const struct attar_event *ev,
	struct attar_process *process, enum mark of_main)
{
	struct process *marked = (struct process *)process;
	int r = 0;

	stream_learn_process(run->stream, process->pid);
	attar_error_clear();
	marked->mark = of_main;
	map_each (&run->stream->procs.threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;
		enum mark mark;

		if (r < 0 || t->pub.process != process)
			continue;
		mark = mark_beside(&run->select.groups, &t->pub, of_main);
		if (mark != of_main)
			marked->mark = UNKNOWN;
		r = move_thread(run, ev, t, mark);
	}
	return r;
}

static void mark_thread(struct thread *t, enum mark mark)
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
		mark_thread(t, IN);
	if (vec_push(&run->select.groups.listed, tid) < 0)
		return base_oom();
	return pid && !t ? base_oom() : 0;
}

/* What exists and is not listed is not a member. */
static void mark_others(struct attar_run *run)
{
	map_each (&run->stream->procs.threads, it) {
		struct thread *t = (struct thread *)(uintptr_t)it->value;

		if (t->mark == UNKNOWN)
			mark_thread(t, OUT);
	}
}

int groups_learn(struct attar_run *run)
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

/* What was created before the members were listed may have been moved meanwhile. */
void groups_see_fork(struct attar_run *run, const struct attar_event *ev)
{
	const struct group_select *g = &run->select.groups;
	const struct attar_task *task = &ev->record->task;
	const struct attar_thread *parent;
	struct thread *child;
	enum mark mark;

	if (!g->is_on || ev->record->type != PERF_RECORD_FORK || !ev->thread)
		return;
	child = (struct thread *)ev->thread;
	parent = stream_thread(run->stream, (pid_t)task->ptid);
	mark = parent && groups_have(run, parent) ? IN : OUT;
	if (ev->time <= g->learned && parse_ints_have(&g->listed, child->pub.tid))
		mark = IN;
	mark_thread(child, mark);
}

static enum mark mark_of_move(const struct group_select *g, const struct attar_event *ev, pid_t tid)
{
	size_t length;
	const char *path = attar_arg_text(ev, PATH, &length);

	if (!g->has_whole_paths)
		return read_mark(g, tid, OUT);
	return path && have_path(g, path, length) ? IN : OUT;
}

/* The kernel names the main thread, too, if it moves the whole process. */
static int on_move(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct group_select *g = &run->select.groups;
	pid_t tid = (pid_t)attar_arg_u64(ev, PID), pid;
	enum mark mark = mark_of_move(g, ev, tid);
	struct thread *t;

	if ((int)attar_arg_i64(ev, ROOT) != g->number || tid <= 0)
		return 0;
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
		mark_thread(t, read_mark(g, t->pub.tid, t->mark));
	return 0;
}

void groups_done(struct group_select *g)
{
	forget(g);
	vec_done(&g->paths);
	vec_done(&g->listed);
}
