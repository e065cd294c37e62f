/* SPDX-License-Identifier: MIT */
#include "perf/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "base/file_limit.h"
#include "base/option_struct.h"
#include "base/proc.h"
#include "base/proc_tree.h"
#include "perf/kernel.h"

enum { PID_MAX = 4194304 }; /* PID_MAX_LIMIT of 64-bit kernels */

static int any_cpu(struct attar_target *t, const struct attar_target_opts *o)
{
	if (o->cpus)
		return attar_fail(
			-EINVAL, "the target options 'cpus' and 'any_cpu' are mutually exclusive");
	return vec_push(&t->cpus, -1) < 0 ? base_oom() : 0;
}

int target_parse_cpus(const char *list, parse_ints *cpus)
{
	parse_ints online = {0};
	int r = hotplug_online(&online);

	if (r < 0 || !list) {
		*cpus = online;
		return r;
	}
	r = parse_list(list, 1 << 20, cpus);
	if (r < 0)
		r = attar_context(r, "the CPU list");
	for (size_t i = 0; r == 0 && i < cpus->n; i++) {
		int cpu = cpus->at[i];

		if (parse_ints_have(&online, cpu))
			continue;
		r = cpu < kernel_get()->cpus_possible
			    ? attar_fail(-ENODEV, "CPU %d is offline", cpu)
			    : attar_fail(-ERANGE, "no such CPU: %d (this system has CPUs 0-%d)",
				      cpu, kernel_get()->cpus_possible - 1);
	}
	vec_done(&online);
	return r;
}

size_t target_instances(const struct attar_target *t)
{
	size_t who = t->kind == ATTAR_TARGET_TASKS     ? t->tids.n
		     : t->kind == ATTAR_TARGET_CGROUPS ? t->cgroups.n
						       : 1;

	return who * t->cpus.n;
}

int target_add_tid(struct attar_target *t, pid_t tid)
{
	if (map_get(&t->known, (uint64_t)tid))
		return 0;
	if (vec_push(&t->tids, tid) < 0 || map_put(&t->known, (uint64_t)tid, t->tids.n - 1) < 0)
		return base_oom();
	return 0;
}

bool target_stopped(const struct attar_target *t)
{
	return t->stop && __atomic_load_n(t->stop, __ATOMIC_RELAXED);
}

static int add_listed_tid(void *ctx, pid_t tid)
{
	struct attar_target *t = ctx;

	return target_stopped(t) ? -ECANCELED : target_add_tid(t, tid);
}

static int stopped(void)
{
	return attar_fail(-ECANCELED, "stopped while listing threads");
}

static int add_threads(struct attar_target *t, pid_t pid)
{
	int r = proc_each_thread(pid, add_listed_tid, t);

	if (r >= 0 || r == -ENOENT || r == -ESRCH || r == -ENOMEM || r == -ECANCELED)
		return r;
	return file_limit_fail(-r, "cannot list the threads of process %d", pid);
}

/* Processes are listed first: one that is created then is a descendant at the next scan. */
static int list_tree(struct attar_target *t)
{
	if (!t->descendants)
		return 0;
	for (size_t i = t->tree.n; i < t->pids.n; i++)
		if (vec_push(&t->tree, t->pids.at[i]) < 0)
			return base_oom();
	return proc_add_descendants(&t->tree);
}

const parse_ints *target_processes(struct attar_target *t, bool again)
{
	if (again && list_tree(t) < 0)
		return NULL;
	return t->tree.n ? &t->tree : &t->pids;
}

int target_rescan(struct attar_target *t)
{
	size_t before = t->tids.n;
	const parse_ints *pids = target_processes(t, true);

	if (!pids)
		return -ENOMEM;
	vec_each (pids, pid) {
		int r = add_threads(t, *pid);

		if (r < 0 && r != -ENOENT && r != -ESRCH)
			return r;
	}
	return (int)(t->tids.n - before);
}

/* After all requested threads. */
static int add_descendants(struct attar_target *t)
{
	int r = target_rescan(t);

	return r == -ECANCELED ? stopped() : MIN(r, 0);
}

bool target_refuses(struct attar_target *t, pid_t tid)
{
	for (size_t i = 0; i < t->n_asked; i++)
		if (t->tids.at[i] == tid)
			return false;
	return map_put(&t->refused, (uint64_t)tid, 1) == 0;
}

static int note_running(struct attar_target *t, pid_t id)
{
	t->running++;
	return map_put(&t->started, (uint64_t)id, proc_started(id)) < 0 ? base_oom() : 0;
}

/*
 * Polls for the exit of pid with a pidfd (since Linux 5.3); before, attar_target_ended() checks
 * /proc.
 */
static int watch_end(struct attar_target *t, pid_t pid)
{
	struct epoll_event event = {.events = EPOLLIN};
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (note_running(t, pid) < 0) {
		close(fd);
		return -ENOMEM;
	}
	if (fd < 0)
		return 0;
	if (vec_push(&t->pidfds, fd) < 0) {
		close(fd);
		return base_oom();
	}
	event.data.u64 = t->pidfds.n - 1;
	if (t->epoll_fd < 0)
		t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0 || epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
		return file_limit_fail(errno, "cannot wait for the exit of process %d", pid);
	return 0;
}

static int parse_pids(const char *text, const char *what, parse_ints *ret_pids)
{
	int r = parse_list(text, PID_MAX, ret_pids);

	if (r == -EINVAL)
		return attar_fail(r, "'%s' is not a list of %s such as 123,456", CLIP(text), what);
	if (r == -ERANGE)
		return attar_fail(-EINVAL,
			"no such %s: '%s' has an id above %d, the largest that Linux has", what,
			CLIP(text), PID_MAX);
	if (r == 0 && ret_pids->n && ret_pids->at[0] == 0)
		return attar_fail(-EINVAL, "invalid list of %s: 0 is not a valid id", what);
	return r;
}

static int note_ended(parse_ints *ended, int id)
{
	return vec_push(ended, id) < 0 ? base_oom() : 0;
}

static int all_ended(const parse_ints *ended, const char *what)
{
	return attar_fail(-ESRCH, "no such %s: %d", what, ended->at[0]);
}

static int add_pids(struct attar_target *t, const char *pids)
{
	int r = parse_pids(pids, "processes", &t->pids);

	for (size_t i = 0; r == 0 && i < t->pids.n; i++) {
		r = add_threads(t, t->pids.at[i]);
		if (r == -ENOENT || r == -ESRCH) {
			r = note_ended(&t->ended_pids, t->pids.at[i]);
			if (r == 0 && !t->skip_refused && !t->skip_ended)
				return all_ended(&t->ended_pids, "process");
		} else if (r == 0) {
			r = watch_end(t, t->pids.at[i]);
		}
	}
	if (r == 0 && t->skip_ended && t->ended_pids.n && t->ended_pids.n == t->pids.n)
		return all_ended(&t->ended_pids, "process");
	return r == -ECANCELED ? stopped() : r;
}

/* Processes that exit while being listed are skipped. */
static int add_process(void *ctx, pid_t pid)
{
	struct attar_target *t = ctx;
	int r;

	if (pid == getpid())
		return 0;
	r = add_threads(t, pid);
	if (r == -ENOENT || r == -ESRCH)
		return 0;
	return r == 0 && vec_push(&t->pids, pid) < 0 ? base_oom() : r;
}

static int add_every_process(struct attar_target *t)
{
	int r = proc_each_process(add_process, t);

	return r == -ECANCELED ? stopped() : r;
}

static int add_tids(struct attar_target *t, const char *tids)
{
	parse_ints list = {0};
	int r = parse_pids(tids, "threads", &list);

	for (size_t i = 0; r == 0 && i < list.n; i++) {
		char path[64];

		/* /proc/TID answers for every thread, though readdir lists only group leaders */
		snprintf(path, sizeof(path), "/proc/%d/stat", list.at[i]);
		if (access(path, F_OK) == 0)
			r = target_add_tid(t, list.at[i]);
		else
			r = note_ended(&t->ended_tids, list.at[i]);
		if (r == 0 && t->ended_tids.n && !t->skip_refused && !t->skip_ended)
			r = all_ended(&t->ended_tids, "thread");
		if (r == 0)
			r = note_running(t, list.at[i]);
	}
	if (r == 0 && t->skip_ended && t->ended_tids.n && t->ended_tids.n == list.n)
		r = all_ended(&t->ended_tids, "thread");
	vec_done(&list);
	return r;
}

/* With other targets than every thread, the command only determines the duration. */
static int add_command(struct attar_target *t, const struct attar_target_opts *o)
{
	struct command_setup setup = {
		.environment = o->environment, .prepare = o->prepare, .ctx = o->prepare_ctx};
	int r = command_fork(&t->command, o->command, &setup);

	t->by_exec = !o->system_wide && !o->cgroups && !t->tids.n;
	if (r == 0)
		r = watch_end(t, t->command.pid);
	return r == 0 && (t->by_exec || o->every_thread) ? target_add_tid(t, t->command.pid) : r;
}

/* Single threads are not followed into the threads that they create. */
static bool inherits(const struct attar_target_opts *o)
{
	bool single = o->tids || o->self;

	return !o->no_inherit && !(single && !o->pids);
}

/* Per-task events survive CPU hotplug; per-CPU events are lost when the CPU goes offline. */
static int listen_to_hotplug(struct attar_target *t)
{
	parse_ints online = {0};
	int r = hotplug_online(&online);

	if (r == 0)
		hotplug_init(&t->hotplug, &online);
	t->listens = r == 0;
	return r;
}

/* Rejects combinations in which one option would be ignored. */
static int check_opts(const struct attar_target_opts *o)
{
	const char *some = o->pids ? "pids" : o->tids ? "tids" : o->cgroups ? "cgroups" : NULL;
	const char *all = o->self           ? "self"
			  : o->system_wide  ? "system_wide"
			  : o->every_thread ? "every_thread"
					    : NULL;

	if (some && all)
		return attar_fail(-EINVAL,
			"the target options '%s' and '%s' are mutually exclusive", all, some);
	if (o->self + o->system_wide + o->every_thread > 1)
		return attar_fail(-EINVAL, "the target options 'self', 'system_wide' and "
					   "'every_thread' are mutually exclusive");
	if (o->command && !o->command[0])
		return attar_fail(-EINVAL, "the target option 'command' is empty: its first "
					   "element must name the program");
	return 0;
}

static int target_resolve(struct attar_target *t, const struct attar_target_opts *o)
{
	int r = check_opts(o);

	if (r == 0)
		r = o->any_cpu ? any_cpu(t, o) : target_parse_cpus(o->cpus, &t->cpus);

	t->inherit = inherits(o);
	t->only_threads = o->only_threads;
	t->descendants = o->descendants && o->pids;
	t->skip_ended = o->skip_ended;
	t->skip_refused = o->skip_refused;
	t->any_cpu = o->any_cpu;
	t->self = o->self;
	t->every_cpu = !o->cpus;
	t->stop = o->stop;
	if (r == 0 && o->self)
		r = target_add_tid(t, (pid_t)syscall(SYS_gettid));
	if (r == 0 && o->every_thread)
		r = add_every_process(t);
	if (r == 0 && o->pids)
		r = add_pids(t, o->pids);
	if (r == 0 && o->tids)
		r = add_tids(t, o->tids);
	t->n_asked = t->tids.n;
	if (r == 0 && t->descendants)
		r = add_descendants(t);
	if (r == 0 && o->cgroups)
		r = cgroup_open_list(t, o->cgroups);
	if (r == 0 && o->command)
		r = add_command(t, o);
	if (r < 0)
		return r;
	if (o->cgroups && t->tids.n)
		return attar_fail(-EINVAL,
			"control groups cannot be monitored together with processes or threads");
	if (o->any_cpu && !t->tids.n)
		return attar_fail(-EINVAL, "the target option 'any_cpu' requires a process or "
					   "thread: the kernel counts system-wide events per CPU");
	r = o->any_cpu || t->tids.n ? 0 : listen_to_hotplug(t);
	if (r < 0)
		return r;
	t->kind = t->cgroups.n ? ATTAR_TARGET_CGROUPS
		  : t->tids.n  ? ATTAR_TARGET_TASKS
			       : ATTAR_TARGET_SYSTEM;
	return 0;
}

int attar_target_new(const struct attar_target_opts *opts, struct attar_target **ret_target)
{
	CHECK_ARG(ret_target, "ret_target");

	struct attar_target_opts known = {0};
	struct attar_target *t;
	int r = option_struct_take(&known, sizeof(known), opts);

	if (r < 0)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return base_oom();
	t->process = check_process;
	t->epoll_fd = t->command.go_fd = t->command.failure_fd = t->command.pidfd = -1;
	r = target_resolve(t, &known);
	if (r < 0) {
		attar_target_free(t);
		return r;
	}
	*ret_target = t;
	return 0;
}

struct attar_target *attar_target_free(struct attar_target *t)
{
	if (!t)
		return NULL;
	if (is_own_process(t))
		command_done(&t->command);
	else
		command_disown(&t->command);
	if (t->listens)
		hotplug_done(&t->hotplug);
	vec_each (&t->pidfds, fd)
		close(*fd);
	vec_each (&t->cgroups, fd)
		close(*fd);
	vec_each (&t->cgroup_names, name)
		free(*name);
	vec_done(&t->cgroup_names);
	vec_done(&t->cgroup_removed);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	vec_done(&t->cpus);
	vec_done(&t->pids);
	vec_done(&t->tree);
	vec_done(&t->tids);
	vec_done(&t->ended_pids);
	vec_done(&t->ended_tids);
	map_done(&t->refused);
	vec_done(&t->end_pids);
	vec_done(&t->end_tids);
	vec_done(&t->cgroups);
	vec_done(&t->pidfds);
	map_done(&t->known);
	map_done(&t->started);
	free(t);
	return NULL;
}

enum attar_target_kind target_kind_of(const struct attar_target *t)
{
	CHECK_ARG_OR(t, "target", ATTAR_TARGET_SYSTEM);

	return t->kind;
}

int attar_target_start(struct attar_target *t)
{
	CHECK_OWN(t, "target");

	return t->command.pid ? command_start(&t->command) : 0;
}

pid_t target_command_pid(const struct attar_target *t)
{
	CHECK_ARG_OR(t, "target", 0);

	return t->command.pid;
}

static int end_with(struct attar_target *t, parse_ints *ends, int id)
{
	return vec_push(ends, id) < 0 ? base_oom() : watch_end(t, id);
}

int target_end_with(struct attar_target *t, const parse_ints *pids, const parse_ints *tids)
{
	int r = 0;

	t->end_pidfds = t->pidfds.n;
	for (size_t i = 0; r == 0 && i < pids->n; i++) {
		if (!proc_running_thread(pids->at[i]))
			r = note_ended(&t->ended_pids, pids->at[i]);
		else
			r = end_with(t, &t->end_pids, pids->at[i]);
	}
	for (size_t i = 0; r == 0 && i < tids->n; i++) {
		if (!proc_is_running(tids->at[i]))
			r = note_ended(&t->ended_tids, tids->at[i]);
		else
			r = end_with(t, &t->end_tids, tids->at[i]);
	}
	if (r == 0 && t->ended_pids.n && (!t->skip_ended || t->ended_pids.n == pids->n))
		return all_ended(&t->ended_pids, "process");
	if (r == 0 && t->ended_tids.n && (!t->skip_ended || t->ended_tids.n == tids->n))
		return all_ended(&t->ended_tids, "thread");
	return r;
}

/* False: another task has its number. */
static bool is_the_same(const struct attar_target *t, pid_t id)
{
	const uint64_t *started = map_get(&t->started, (uint64_t)id);

	return !started || !*started || *started == proc_started(id);
}

static bool any_runs(const struct attar_target *t, const parse_ints *pids, const parse_ints *tids)
{
	for (size_t i = 0; i < pids->n; i++)
		if (proc_running_thread(pids->at[i]) && is_the_same(t, pids->at[i]))
			return true;
	for (size_t i = 0; i < tids->n; i++)
		if (proc_is_running(tids->at[i]) && is_the_same(t, tids->at[i]))
			return true;
	return false;
}

static void take_exits(struct attar_target *t)
{
	struct epoll_event events[64];
	int n = t->epoll_fd < 0 ? 0 : epoll_wait(t->epoll_fd, events, ARRAY_SIZE(events), 0);

	for (int i = 0; i < n; i++) {
		size_t number = events[i].data.u64;

		/* It stays readable, and would wake the caller forever. */
		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, t->pidfds.at[number], NULL);
		t->exits += number >= t->end_pidfds;
	}
}

/*
 * Only when all pidfds have said so, /proc is read, where a process with many threads takes long:
 * for processes and threads that have no pidfd, and as a process may be seen running after it.
 */
static bool all_gone(struct attar_target *t)
{
	static const parse_ints none = {0};

	take_exits(t);
	if (t->exits < t->pidfds.n - t->end_pidfds)
		return false;
	if (t->end_pids.n || t->end_tids.n)
		return !any_runs(t, &t->end_pids, &t->end_tids);
	return !any_runs(t, &t->pids, t->pids.n ? &none : &t->tids);
}

bool attar_target_ended(struct attar_target *t)
{
	bool removed;

	CHECK_OWN_OR(t, "target", true);
	removed = cgroup_all_removed(t);
	if (t->command.pid)
		return command_ended(&t->command);
	return removed || (t->running && all_gone(t));
}

int attar_target_fd(const struct attar_target *t)
{
	CHECK_ARG(t, "target");

	return t->epoll_fd;
}

int attar_target_command_status(const struct attar_target *t)
{
	CHECK_ARG_OR(t, "target", -1);

	return t->command.ended ? t->command.status : -1;
}

int target_command_times(const struct attar_target *t, uint64_t *ret_user, uint64_t *ret_system)
{
	CHECK_ARG(t, "target");
	CHECK_ARG(ret_user, "ret_user");
	CHECK_ARG(ret_system, "ret_system");

	if (!t->command.ended)
		return attar_fail(-ENOENT, "no command has exited");
	if (!t->command.has_times)
		return attar_fail(-ECHILD, "the CPU times of the command are unknown: the calling "
					   "program reaped it itself, or ignores SIGCHLD");
	*ret_user = t->command.user;
	*ret_system = t->command.system;
	return 0;
}

const char *attar_target_cgroup(const struct attar_target *t, size_t i)
{
	CHECK_ARG_OR(t, "target", NULL);

	return i < t->cgroup_names.n ? t->cgroup_names.at[i] : NULL;
}

const int *target_cpus(const struct attar_target *t, size_t *ret_n)
{
	CHECK_ARG_OR(t, "target", NULL);
	CHECK_ARG_OR(ret_n, "ret_n", NULL);

	*ret_n = t->cpus.n;
	return t->cpus.at;
}
