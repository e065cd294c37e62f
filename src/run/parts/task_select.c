/* SPDX-License-Identifier: MIT */
/*
 * Profilers of tasks whose events happen in other tasks, such as wakeups: events of the whole
 * system are delivered, and --pids, --tids and the command select tasks in the profiler.
 */
#include <stdio.h>
#include <time.h>

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "base/proc.h"
#include "base/proc_tree.h"
#include "perf/target.h"
#include "run/counts/counts.h"
#include "run/input/needed_events.h"
#include "run/parts.h"
#include "run/parts/group_select.h"
#include "run/parts/target_names.h"
#include "run/run.h"
#include "run/events/open.h"
#include "stream/procs.h"
#include "stream/stream.h"

enum { PID_MAX = 4 << 20, CPU_MAX = 1 << 16, GENERATIONS_MAX = 64, AWAIT_MS = 1000 };
enum { TICK_NS = 10000000 }; /* of start times in /proc */

int select_parse(struct attar_run *run)
{
	int r = run->opts.pids ? parse_list(run->opts.pids, PID_MAX, &run->select.pids) : 0;

	if (r < 0)
		return attar_context(r, "--pids");
	r = run->opts.tids ? parse_list(run->opts.tids, PID_MAX, &run->select.tids) : 0;
	return r < 0 ? attar_context(r, "--tids") : 0;
}

static int select_tasks(struct attar_run *run)
{
	int r = run->replay ? 0 : select_parse(run);

	if (r < 0)
		return r;
	if (run->opts.cgroups && (run->opts.pids || run->opts.tids))
		return attar_fail(-EINVAL, "--cgroups conflicts with --pids and --tids");
	run->select.is_on = true;
	run->select.groups.is_on = run->opts.cgroups && !run->replay;
	return 0;
}

int attar_run_select_tasks(struct attar_run *run)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	int r = select_tasks(run);

	run->select.by_emitter = false;
	if (r == 0)
		needed_events_take_wakings(run);
	return r;
}

int select_tasks_for_emitter(struct attar_run *run)
{
	run->select.by_emitter = true;
	return select_tasks(run);
}

/* Before its exec, the command is a copy of this process. */
static bool is_held(const struct attar_run *run, const struct attar_thread *thread)
{
	pid_t command = run->select.command_runs ? 0 : attar_run_command_pid(run);

	return command && thread && thread->process->pid == command;
}

bool select_has(const struct attar_run *run, const struct attar_thread *thread)
{
	return !run->select.by_emitter ||
	       (attar_run_is_selected(run, thread) && !is_held(run, thread));
}

void select_see_record(struct attar_run *run, const struct attar_event *event)
{
	const struct attar_record *record = event->record;

	run->select.command_runs |= record->type == PERF_RECORD_LOST ||
				    (record->type == PERF_RECORD_COMM &&
					    (pid_t)record->comm.tid == attar_run_command_pid(run));
}

int run_watch_cpus(struct attar_run *run)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	const struct common_opts *o = &run->opts;
	const char *option = o->pids      ? "--pids"
			     : o->tids    ? "--tids"
			     : o->cgroups ? "--cgroups"
					  : NULL;

	if (option && !run->replay)
		return attar_fail(-EINVAL,
			"%s watches CPUs, not tasks" ATTAR_FIX "use --cpus instead of %s",
			run->profiler->name, option);
	run->select.exceeds_command |= run->command.argv && !o->all_cpus && !o->cpus;
	run->opts.all_cpus = true;
	run->select.watches_cpus = true;
	return 0;
}

/* Whether --cpus makes a command no more than the duration of the run. */
static bool cpus_exceed_command(const struct attar_run *run)
{
	const struct common_opts *o = &run->opts;

	return run->command.argv && o->cpus && !o->all_cpus && !run->select.is_on &&
	       run_watches_system(run);
}

static void remark_on_ended(
	const parse_ints *ended, const char *option, const char *what, struct attar_report *report)
{
	struct buf ids _cleanup_(buf_done) = {0};

	buf_list(&ids, ended->at, ended->n);
	if (ended->n)
		attar_report_remark(report, "%s: no such %s: %s", option, what, buf_text(&ids));
}

static void remark_on_target(const struct attar_target *target, struct attar_report *report)
{
	size_t n = target->refused.n;

	remark_on_ended(&target->ended_pids, "--pids", "process", report);
	remark_on_ended(&target->ended_tids, "--tids", "thread", report);
	if (n)
		attar_report_remark(report,
			"--pids: %zu thread%s of child processes %s not watched: this user may not "
			"trace %s",
			n, PLURAL_S(n), n == 1 ? "is" : "are", n == 1 ? "it" : "them");
}

#define INTERRUPTED "whatever task is interrupted"

/* Where an event occurs that is not in the task which it concerns. */
static const struct foreign_event {
	const char *system, *name; /* NULL: each */
	const char *where;
} foreign_events[] = {
	{"irq", NULL, INTERRUPTED},
	{"irq_vectors", NULL, INTERRUPTED},
	{"napi", NULL, INTERRUPTED},
	{"net", NULL, INTERRUPTED},
	{"oom", "mark_victim", "the task that needs memory, not in the one that is killed"},
	{"skb", NULL, INTERRUPTED},
	{"tcp", NULL, INTERRUPTED},
	{"timer", NULL, INTERRUPTED},
};

static const struct foreign_event *foreign_of(const struct attar_event_spec *spec)
{
	const struct attar_format *format = spec ? spec->format : NULL;

	for (size_t i = 0; format && i < ARRAY_SIZE(foreign_events); i++) {
		const struct foreign_event *it = &foreign_events[i];

		if (!strcmp(format->system, it->system) &&
			(!it->name || !strcmp(format->name, it->name)))
			return it;
	}
	return NULL;
}

/* A remark on the first such event, sampled or counted. */
static void remark_on_foreign(const struct attar_run *run, struct attar_report *report)
{
	const struct attar_event_spec *spec = NULL;
	const struct foreign_event *found = NULL;

	if (run->select.is_on || run_watches_system(run))
		return;
	for (size_t i = 0; i < run->sources.list.n && !found; i++) {
		spec = run->sources.list.at[i].spec;
		found = foreign_of(spec);
	}
	for (size_t i = 0; i < counts_of(run)->list.n && !found; i++) {
		spec = counts_of(run)->list.at[i].pub.spec;
		found = foreign_of(spec);
	}
	if (found)
		attar_report_remark(report,
			"'%s' occurs in %s: what concerns the chosen tasks, but occurred in "
			"others, is missing; use -a to watch all tasks",
			spec->name, found->where);
}

/* Whether fields of its events say which tasks they are about. */
static bool is_about_tasks(const struct source *s)
{
	static const char *const systems[] = {"sched", "task", "signal"};

	for (size_t i = 0; s->spec && s->spec->format && i < ARRAY_SIZE(systems); i++)
		if (!strcmp(s->spec->format->system, systems[i]))
			return true;
	return false;
}

static void remark_on_namespace(const struct attar_run *run, struct attar_report *report)
{
	if (proc_has_first_pids())
		return;
	vec_each (&run->sources.list, s)
		if (is_about_tasks(s)) {
			attar_report_remark(report,
				"attar is in another PID namespace than the first one, whose "
				"numbers of tasks %s has: these tasks are missing, or have other "
				"numbers and names" ATTAR_FIX
				"run attar outside of the container, or with the PID namespace of "
				"the host (--pid=host)",
				s->name);
			return;
		}
}

/* What is measured is not limited to the command, or lacks tasks. */
static void remark_on_scope(struct attar_run *run, struct attar_report *report)
{
	remark_on_namespace(run, report);
	if (cpus_exceed_command(run))
		attar_report_remark(report,
			"--cpus: all tasks on these CPUs were watched while the command ran, not "
			"only the command");
	if (run->select.exceeds_command)
		attar_report_remark(report,
			"%s watches CPUs: it shows the whole system while the command runs, not "
			"only the command",
			run->profiler->name);
}

struct select {
	bool has_remarked;
};

/* Of intervals, only the first one has remarks that hold for all. */
static void select_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const bool is_whole = scope == ATTAR_SCOPE_WHOLE;
	struct select *select = self;

	if (run->replay)
		return;
	if (is_whole && run->target)
		remark_on_target(run->target, report);
	if (is_whole)
		remark_on_foreign(run, report);
	if (is_whole || !select->has_remarked)
		remark_on_scope(run, report);
	select->has_remarked = true;
	if (is_whole && run->select.groups.is_on && run->select.groups.misses_moves)
		attar_report_remark(report,
			"--cgroups: tasks that were moved into the groups during the run are "
			"missing, as the kernel has no event cgroup:cgroup_attach_task");
}

static int select_prepare(struct attar_run *run, void *self)
{
	return target_names_find(run);
}

const struct run_part part_select = {
	.size = sizeof(struct select), .prepare = select_prepare, .remark = select_remark};

int attar_run_keep_own(struct attar_run *run)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	run->select.keeps_own = true;
	return 0;
}

static bool is_own_thread(int tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d", tid);
	return access(path, F_OK) == 0;
}

/*
 * A wrong list is reported when the target is made. Of a recording, the samples of tasks that are
 * not named are dropped anyway.
 */
void select_keep_named(struct attar_run *run)
{
	parse_ints ids = {0};

	run->select.keeps_own |= run->opts.input && (run->opts.pids || run->opts.tids);
	if (run->opts.pids && parse_list(run->opts.pids, PID_MAX, &ids) == 0)
		vec_each (&ids, pid)
			run->select.keeps_own |= *pid == getpid();
	vec_done(&ids);
	if (run->opts.tids && parse_list(run->opts.tids, PID_MAX, &ids) == 0)
		vec_each (&ids, tid)
			run->select.keeps_own |= is_own_thread(*tid);
	vec_done(&ids);
}

struct attar_thread *attar_run_thread(const struct attar_run *run, pid_t tid)
{
	CHECK_ARG_OR(run, "run", NULL);

	return run->stream ? stream_thread(run->stream, tid) : NULL;
}

/* Which namespace a recording was made in is unknown: its tasks have records. */
static bool is_tid(const struct attar_run *run, pid_t number)
{
	return run->replay ? stream_thread(run->stream, number) != NULL : proc_has_first_pids();
}

pid_t run_event_tid(const struct attar_run *run, const struct attar_event *ev)
{
	CHECK_ARG_OR(run, "run", -1);
	CHECK_ARG_OR(ev, "event", -1);

	const struct attar_event_spec *spec = attar_run_source_spec(run, ev->counter);
	const struct attar_sample *s = &ev->record->sample;
	const struct attar_field *field = NULL;
	pid_t tid = ev->thread ? ev->thread->tid : -1, number;

	if (tid < 0 && spec && spec->format && s->raw)
		field = attar_format_field(spec->format, "common_pid");
	if (!field)
		return tid;
	number = (pid_t)attar_field_i64(field, s->raw, s->raw_size);
	return is_tid(run, number) ? number : -1;
}

pid_t attar_run_command_pid(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", 0);

	run = run->select.emits_to ?: run;
	return run->target && run->command.argv ? run->target->command.pid : 0;
}

/* ---- which tasks are selected ---- */

/* Whether the task that has a number of --pids or --tids is the task that had it at first. */
static bool has_begun_before(const struct attar_run *run, uint64_t started)
{
	return started <= run->select.learned || !run->select.learned;
}

pid_t select_command_pid(const struct attar_run *run)
{
	return run->opts.pids || run->opts.tids ? 0 : attar_run_command_pid(run);
}

static bool is_listed(const struct attar_run *run, const struct attar_process *process)
{
	pid_t command = select_command_pid(run);

	return (command && process->pid == command) ||
	       (parse_ints_have(&run->select.pids, process->pid) &&
		       has_begun_before(run, process->started));
}

/* NULL: unknown. Another process can have its PID since. */
static const struct attar_process *parent_of(
	const struct attar_run *run, const struct attar_process *process)
{
	const struct attar_process *parent =
		process->parent ? stream_process(run->stream, process->parent) : NULL;

	return parent && parent->started && process->started &&
			       parent->started > process->started + TICK_NS
		       ? NULL
		       : parent;
}

/* --pids includes children, also children of the time before; see select_learn(). */
static bool descends_from_listed(const struct attar_run *run, const struct attar_process *process)
{
	const uint64_t bit = run->select.bit;

	for (int i = 0; process && i < GENERATIONS_MAX; i++) {
		if ((((const struct process *)process)->selected & bit) || is_listed(run, process))
			return true;
		if (process->pid == run_own_pid(run))
			return false;
		process = parent_of(run, process);
	}
	return false;
}

/*
 * Children inherit the bit, whatever becomes of their parent and its PID. No caller sees that the
 * process changes.
 */
static bool is_selected_process(const struct attar_run *run, struct attar_process *process)
{
	struct process *p = (struct process *)process;

	bool is_named = run->select.has_names && process->pid != run_own_pid(run) &&
			target_names_have(run, process);

	if (run->opts.no_children)
		return is_listed(run, process) || is_named;
	if (p->selected & run->select.bit)
		return true;
	if (!is_named && !descends_from_listed(run, process))
		return false;
	p->selected |= run->select.bit;
	return true;
}

bool attar_run_is_selected(const struct attar_run *run, const struct attar_thread *thread)
{
	CHECK_ARG_OR(run, "run", false);

	if (run->select.emits_to && !run->select.has_own_tasks)
		run = run->select.emits_to;

	bool some = run->select.pids.n || run->select.tids.n || run->select.groups.is_on ||
		    run->select.has_names || (run->command.argv && !run->opts.all_cpus);

	if (!some || !thread)
		return !some;
	if (run->select.groups.is_on)
		return groups_have(run, thread);
	if (parse_ints_have(&run->select.tids, thread->tid) &&
		has_begun_before(run, thread->started))
		return true;
	return thread->process && is_selected_process(run, thread->process);
}

bool select_has_cpu_of(const struct attar_run *run, const struct attar_event *ev)
{
	return !run->select.cpus.n || parse_ints_have(&run->select.cpus, (int)ev->cpu);
}

bool select_has_task_of(const struct attar_run *run, const struct attar_event *ev)
{
	return run->select.is_on || attar_run_is_selected(run, ev->thread);
}

bool select_has_event(const struct attar_run *run, const struct attar_event *ev)
{
	return select_has_cpu_of(run, ev) && select_has_task_of(run, ev);
}

int select_parse_cpus(struct attar_run *run)
{
	parse_ints *cpus = &run->select.cpus;
	int r = run->opts.cpus && !cpus->n ? parse_list(run->opts.cpus, CPU_MAX, cpus) : 0;

	return r < 0 ? attar_context(r, "--cpus") : 0;
}

int attar_run_is_cpu_selected(struct attar_run *run, int cpu)
{
	if (likely(run && !run->opts.cpus)) /* called for each event */
		return 1;
	CHECK_OWN(run, "run");

	int r = select_parse_cpus(run);

	return r < 0 ? r : parse_ints_have(&run->select.cpus, cpu);
}

int attar_run_all_cpus(struct attar_run *run, bool all)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	run->select.adds_all_cpus = all && run->opts.cpus;
	return run->select.adds_all_cpus;
}

/* With all descendants, so that the chain of parents of each child is known. */
static void learn_processes(struct attar_run *run)
{
	parse_ints tree = {0};

	vec_each (&run->select.pids, pid)
		vec_push(&tree, *pid);
	if (!run->opts.no_children)
		proc_add_descendants(&tree);
	vec_each (&tree, pid)
		stream_learn_process(run->stream, (pid_t)*pid);
	vec_done(&tree);
}

/* Those that have ended meanwhile do not matter. */
void select_learn(struct attar_run *run)
{
	if (!run->stream || run->replay)
		return;
	run->select.learned = base_now();
	learn_processes(run);
	vec_each (&run->select.tids, tid) {
		pid_t pid = procs_pid_of((pid_t)*tid);

		if (pid)
			stream_learn_thread(run->stream, pid, (pid_t)*tid);
	}
	attar_error_clear();
}

void select_await_command(const struct attar_run *run)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	pid_t pid = attar_run_command_pid(run);

	for (int i = 0; i < AWAIT_MS && pid && run->select.is_on && proc_state(pid) != 'S'; i++)
		nanosleep(&pause, NULL);
}

void select_done(struct run_select *select)
{
	vec_done(&select->pids);
	vec_done(&select->tids);
	vec_done(&select->cpus);
	groups_done(&select->groups);
}
