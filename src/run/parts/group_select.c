/* SPDX-License-Identifier: MIT */
#include "run/parts/group_select.h"

#include "perf/target.h"
#include "run/run.h"
#include "stream/procs.h"

enum { TICK_NS = 20000000 }; /* the start of a thread in /proc is not exact */

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

bool groups_have_path(const struct group_select *g, const char *path, size_t length)
{
	vec_each (&g->paths, group)
		if (cgroup_contains(*group, path, length))
			return true;
	return false;
}

enum group_mark groups_read_mark(const struct group_select *g, pid_t tid, enum group_mark otherwise)
{
	struct buf path _cleanup_(buf_done) = {0};

	if (tid <= 0 || cgroup_of_thread(&g->hierarchy, tid, &path, NULL) < 0)
		return otherwise;
	return groups_have_path(g, buf_text(&path), path.len) ? MARK_IN : MARK_OUT;
}

/*
 * Of a thread without a mark: it existed when the members were listed, and was none; or its FORK
 * record was lost.
 */
static enum group_mark find_mark(const struct group_select *g, const struct attar_thread *thread)
{
	const struct process *process = (const struct process *)thread->process;

	if (thread->started && thread->started + TICK_NS < g->learned)
		return MARK_OUT;
	if (process && process->mark)
		return process->mark;
	return groups_read_mark(g, thread->tid, MARK_OUT);
}

/* No caller sees that the thread changes. */
bool groups_have(const struct attar_run *run, const struct attar_thread *thread)
{
	struct thread *t = (struct thread *)thread;

	if (unlikely(t->mark == MARK_UNKNOWN))
		t->mark = find_mark(&run->select.groups, thread);
	return t->mark == MARK_IN;
}

void groups_done(struct group_select *g)
{
	forget(g);
	vec_done(&g->paths);
	vec_done(&g->listed);
}
