/* SPDX-License-Identifier: MIT */
#include "run/parts/names.h"

#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>

#include "attar/builtin.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "base/proc.h"
#include "names/group_names.h"
#include "names/container_json.h"
#include "perf/cgroup.h"
#include "perfdata/recording.h"
#include "run/input/replay.h"
#include "run/parts.h"
#include "run/events/open.h"
#include "run/run.h"
#include "sections/weighted_stacks.h"
#include "stream/procs.h"
#include "stream/stream.h"

enum {
	UNREAD = 0,           /* a thread's group, or the user of a process */
	WITHOUT = UINT32_MAX, /* it could not be read */
	TEXT_MAX = 1 << 16,
	READ_WITHIN_MS = 20, /* a container may not exist for longer */
	SCAN_NS = 100000000, /* at most, at the start; a process takes about 20 us */
	GENERATIONS_MAX = 64,
	TIDS_MAX = 1 << 16,
};

struct run_names {
	bool is_on, has_whole_paths;
	size_t n_recorded;   /* groups of the recording that were taken over */
	struct map recorded; /* by pid, at the start of the run or recording: user << 32 | group */
	struct group_names groups;
};

static struct run_names *names_of(const struct attar_run *run)
{
	return run->parts.state[PART_NAMES];
}

bool names_are_on(const struct attar_run *run)
{
	return names_of(run)->is_on;
}

void names_begin(struct attar_run *run)
{
	names_of(run)->is_on = true;
	names_of(run)->has_whole_paths = cgroup_paths_are_whole();
}

int run_want_names(struct attar_run *run)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);

	return names_ask(run);
}

int names_ask(struct attar_run *run)
{
	names_begin(run);
	return attar_run_is_live(run) && opening_of(run)->by_profiler
		       ? run_read_within(run, READ_WITHIN_MS)
		       : 0;
}

/* ---- numbers ---- */

static uint32_t read_group_of(struct run_names *names, pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[64];
	uint32_t group = 0;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", tid);
	if (file_read(path, TEXT_MAX, &text) == 0)
		group = group_names_of_text(&names->groups, buf_text(&text));
	attar_error_clear();
	return group;
}

static int read_process(void *ctx, int pid)
{
	read_group_of(ctx, pid);
	return 0;
}

int names_read_all(struct attar_run *run)
{
	struct run_names *names = names_of(run);
	int r = proc_each_process(read_process, names);

	names->groups.looked = 0; /* now */
	group_names_resolve(&names->groups);
	return r;
}

uint32_t names_group_of_process(struct attar_run *run, pid_t pid)
{
	struct group_names *g = &names_of(run)->groups;
	const size_t n = g->groups.n;
	uint32_t group = read_group_of(names_of(run), pid);

	if (g->groups.n >
		n) /* its name is read when it is asked for, also if others were just now */
		g->looked = 0;
	return group;
}

const char *names_plain(const struct attar_run *run, enum run_name kind, uint32_t group)
{
	const struct group_names *g = &names_of(run)->groups;

	return group_names_plain(
		g, (enum group_kind)kind, group_names_get(g, (enum group_kind)kind, group));
}

static bool can_read(const struct attar_run *run)
{
	return run->stream && run->stream->procs.live && !run->stream->procs.elsewhere;
}

/* The recording has the names that its machine gave to the groups of a process. */
static void take_recorded(const struct attar_run *run, const struct recording_group *recorded)
{
	struct run_names *names = names_of(run);
	struct thread *t = procs_get(&run->stream->procs, (pid_t)recorded->pid);
	struct group_names *g = &names->groups;
	uint32_t group = group_names_of_path(g, recorded->path, strlen(recorded->path));
	struct group *entry = group ? &g->groups.at[group] : NULL;

	if (entry && !entry->keys[GROUP_CONTAINER] && *recorded->container)
		group_names_set_container(g, group, recorded->container);
	else if (entry && entry->keys[GROUP_CONTAINER] && *recorded->container)
		group_names_set(g, entry->keys[GROUP_CONTAINER], recorded->container);
	if (entry && entry->keys[GROUP_POD] && *recorded->pod)
		group_names_set(g, entry->keys[GROUP_POD], recorded->pod);
	map_put(&names->recorded, recorded->pid, (uint64_t)recorded->user << 32 | group);
	if (t && t->group != UNREAD) /* of its parent, before it executed a program */
		t->group = group;
}

static void take_new_recorded(const struct attar_run *run)
{
	const recording_groups *groups =
		run->replay ? recording_get_groups(run->replay->recording) : NULL;
	struct run_names *names = names_of(run);

	for (; groups && names->n_recorded < groups->n; names->n_recorded++)
		take_recorded(run, &groups->at[names->n_recorded]);
}

/* The user << 32 | the group; 0: unknown. */
static uint64_t recorded_of(const struct attar_run *run, pid_t pid)
{
	const struct run_names *names = names_of(run);
	const uint64_t *entry;

	take_new_recorded(run);
	entry = pid > 0 ? map_get(&names->recorded, (uint64_t)pid) : NULL;
	return entry ? *entry : 0;
}

/* Of a running thread; otherwise as before. */
static void read_group(struct run_names *names, struct thread *t)
{
	uint32_t group = t->pub.exited ? 0 : read_group_of(names, t->pub.tid);

	if (group)
		t->group = group;
}

/*
 * What is known of a process, or of the processes that created it: it can have ended before its
 * first event was read, and no record says that it began.
 */
static uint32_t known_of(const struct attar_run *run, pid_t pid)
{
	const struct procs *procs = &run->stream->procs;
	const struct process *process;
	const struct thread *first;
	uint32_t known;

	for (int i = 0; pid > 0 && i < GENERATIONS_MAX; i++) {
		first = procs_get(procs, pid);
		if (first && first->group != UNREAD && first->group != WITHOUT)
			return first->group;
		known = (uint32_t)recorded_of(run, pid);
		if (known)
			return known;
		process = procs_process(procs, pid);
		pid = process && can_read(run) ? process->pub.parent : 0;
	}
	return UNREAD;
}

static uint32_t group_of(const struct attar_run *run, struct thread *t)
{
	if (likely(t->group != UNREAD))
		return t->group;
	if (t->pub.tid > 0 && can_read(run))
		read_group(names_of(run), t);
	if (t->group == UNREAD && t->pub.process)
		t->group = known_of(run, t->pub.process->pid);
	if (t->group != UNREAD)
		return t->group;
	if (can_read(run)) /* a recording may have it later */
		t->group = WITHOUT;
	return WITHOUT;
}

/* Of a running process; otherwise as before. The user + 1. */
static void read_user(struct process *p)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d", p->pub.pid);
	if (p->pub.pid > 0 && stat(path, &st) == 0)
		p->user = (uint32_t)st.st_uid + 1;
}

static uint32_t user_of(const struct attar_run *run, struct process *p)
{
	if (likely(p->user != UNREAD))
		return p->user;
	if (can_read(run))
		read_user(p);
	if (p->user == UNREAD)
		p->user = (uint32_t)(recorded_of(run, p->pub.pid) >> 32);
	if (p->user != UNREAD)
		return p->user;
	if (can_read(run))
		p->user = WITHOUT;
	return WITHOUT;
}

/* No caller sees that the thread changes. */
uint32_t run_name_of(
	const struct attar_run *run, enum run_name kind, const struct attar_thread *thread)
{
	struct thread *t = (struct thread *)thread;

	if (!t || !run->stream)
		return 0;
	if (kind == RUN_NAME_USER) {
		uint32_t user =
			t->pub.process ? user_of(run, (struct process *)t->pub.process) : WITHOUT;

		return user == WITHOUT ? 0 : user;
	}
	return group_names_get(&names_of(run)->groups, (enum group_kind)kind, group_of(run, t));
}

uint32_t run_group_of(const struct attar_run *run, const struct attar_thread *thread)
{
	uint32_t group = thread && run->stream ? group_of(run, (struct thread *)thread) : 0;

	return group == WITHOUT ? 0 : group;
}

const char *run_group_text(const struct attar_run *run, enum run_name kind, uint32_t group)
{
	const struct group_names *g = &names_of(run)->groups;

	return group_names_text(
		g, (enum group_kind)kind, group_names_get(g, (enum group_kind)kind, group));
}

void names_describe(
	struct attar_run *run, pid_t pid, uint32_t group, struct recording_group *ret_group)
{
	static __thread char container[CONTAINER_NAME_BYTES];
	struct group_names *g = &names_of(run)->groups;
	struct process process = {.pub = {.pid = pid}};

	if (!g->groups.at[group].is_resolved)
		group_names_resolve(g);
	read_user(&process);
	snprintf(container, sizeof(container), "%s",
		group_names_own(g, group_names_get(g, GROUP_CONTAINER, group)));
	*ret_group = (struct recording_group){.pid = (uint32_t)pid,
		.user = process.user,
		.path = group_names_text(g, GROUP_CGROUP, group_names_get(g, GROUP_CGROUP, group)),
		.container = container,
		.pod = group_names_own(g, group_names_get(g, GROUP_POD, group))};
}

/* A thread that has had no event is not added to the table, which could free others. */
static uint32_t group_of_tid(const struct attar_run *run, pid_t tid)
{
	struct thread *t = run->stream && tid > 0 ? procs_get(&run->stream->procs, tid) : NULL;
	struct run_names *names = names_of(run);
	uint64_t known = t || tid <= 0 || !run->stream ? 0 : recorded_of(run, tid);

	if (t)
		return group_of(run, t);
	if (!known && tid > 0 && run->stream && can_read(run)) {
		known = read_group_of(names, tid);
		if (names->recorded.n < TIDS_MAX) /* numbers in fields can be anything */
			map_put(&names->recorded, (uint64_t)tid, known ? known : WITHOUT);
	}
	return (uint32_t)known;
}

const char *names_of_tid(const struct attar_run *run, enum run_name kind, pid_t tid)
{
	uint32_t group = group_of_tid(run, tid);

	group_names_resolve(&names_of(run)->groups);
	return names_plain(run, kind, group);
}

uint64_t names_state(const struct attar_run *run, const struct attar_thread *thread)
{
	return (uint64_t)(names_of(run)->groups.changes + 1) << 32 |
	       group_of(run, (struct thread *)thread);
}

/* ---- texts ---- */

/* Without NSS, which a static program does not have. */
static bool find_user(uint32_t uid, char *ret_text, size_t size)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *entry = NULL;

	while (file && (entry = fgetpwent(file)) && entry->pw_uid != uid)
		;
	if (entry)
		snprintf(ret_text, size, "%s", entry->pw_name);
	if (file)
		fclose(file);
	return entry;
}

const char *run_name_text(const struct attar_run *run, enum run_name kind, uint32_t number)
{
	static __thread char text[64];

	if (kind != RUN_NAME_USER)
		return group_names_text(&names_of(run)->groups, (enum group_kind)kind, number);
	if (!number)
		return "";
	if (!attar_run_is_live(run) || !find_user(number - 1, text, sizeof(text)))
		snprintf(text, sizeof(text), "%u", number - 1);
	return text;
}

/* ---- trees ---- */

static uint32_t number_of(const void *run, int kind, const struct attar_thread *thread)
{
	return run_name_of(run, (enum run_name)kind, thread);
}

static const char *text_of(const void *run, int kind, uint32_t number)
{
	return run_name_text(run, (enum run_name)kind, number);
}

void run_group_stacks(
	struct attar_run *run, struct attar_stacks *stacks, enum run_name kind, const char *none)
{
	stacks_set_groups(stacks, &(struct stack_groups){.number_of = number_of,
					  .text_of = text_of,
					  .ctx = run,
					  .kind = (int)kind,
					  .none = none});
}

/* ---- changes ---- */

/* The path of one hierarchy may say less than the paths of the others. */
static uint32_t group_after_move(struct attar_run *run, const struct thread *t, uint32_t old,
	const char *path, size_t length)
{
	struct run_names *names = names_of(run);
	bool is_whole = path && (names->has_whole_paths || !can_read(run));
	bool has_text = t && !t->pub.exited && can_read(run);
	uint32_t group = 0;

	if (has_text && old == UNREAD)
		group = read_group_of(names, t->pub.tid);
	if (!group && is_whole &&
		((t && t->pub.exited) || group_names_is_better(&names->groups, old, path, length)))
		group = group_names_of_path(&names->groups, path, length);
	if (!group && has_text)
		group = read_group_of(names, t->pub.tid);
	return group ? group : old;
}

/* The kernel names the main thread, too, if it moves the whole process. */
void names_see_move(struct attar_run *run, pid_t tid, const char *path, size_t length)
{
	struct run_names *names = names_of(run);
	struct thread *t = run->stream ? procs_get(&run->stream->procs, tid) : NULL;
	uint64_t known = tid > 0 ? recorded_of(run, tid) : 0;

	if (!t && known) /* a process that has had no event yet */
		map_put(&names->recorded, (uint64_t)tid,
			(known & ~(uint64_t)UINT32_MAX) |
				group_after_move(run, NULL, (uint32_t)known, path, length));
	if (!t)
		return;
	t->group = group_after_move(run, t, t->group, path, length);
	if (t->pub.process->pid != tid || !can_read(run))
		return;
	map_each (&run->stream->procs.threads, it) {
		struct thread *other = (struct thread *)(uintptr_t)it->value;

		if (other != t && other->pub.process == t->pub.process && other->group != UNREAD)
			read_group(names, other);
	}
}

/* A new task belongs to the group and to the user of its creator. */
static void see_fork(struct attar_run *run, const struct attar_event *ev)
{
	struct thread *child = (struct thread *)ev->thread,
		      *parent = procs_get(&run->stream->procs, (pid_t)ev->record->task.ptid);
	struct process *process = (struct process *)child->pub.process;
	uint32_t group, user;

	if (!parent || parent == child)
		return;
	/* the recorder has made the record of a process that existed, and knows its group */
	if (!can_read(run) && process && recorded_of(run, process->pub.pid))
		return;
	if (process && process->pub.pid == child->pub.tid) /* it was of another process */
		map_remove(&names_of(run)->recorded, (uint64_t)child->pub.tid);
	group = group_of(run, parent);
	if (group != WITHOUT)
		child->group = group;
	user = parent->pub.process ? user_of(run, (struct process *)parent->pub.process) : WITHOUT;
	if (process && process->user == UNREAD && user != WITHOUT)
		process->user = user;
}

/* A task can be created in another group (CLONE_INTO_CGROUP), and change its user. */
static void see_exec(struct attar_run *run, struct thread *t)
{
	if (!can_read(run))
		return;
	read_group(names_of(run), t);
	read_user((struct process *)t->pub.process);
}

static int names_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct run_names *names = self;

	if (!names->is_on || !ev->thread)
		return 0;
	take_new_recorded(run);
	if (ev->record->type == PERF_RECORD_FORK)
		see_fork(run, ev);
	else if (ev->record->type == PERF_RECORD_COMM && ev->record->comm.exec)
		see_exec(run, (struct thread *)ev->thread);
	return 0;
}

static int names_drained(struct attar_run *run, void *self)
{
	struct run_names *names = self;

	(void)run;
	if (names->is_on)
		group_names_resolve(&names->groups);
	return 0;
}

static int names_read(struct attar_run *run, void *self, struct attar_report *report)
{
	(void)report;
	return attar_run_is_live(run) ? names_drained(run, self) : 0;
}

/* Whoever has recorded did not store them. */
static void names_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct run_names *names = self;
	const recording_groups *groups =
		run->replay ? recording_get_groups(run->replay->recording) : NULL;

	if (names->is_on && scope == ATTAR_SCOPE_WHOLE && groups && !groups->n && !run->opts.comms)
		attar_report_remark(report,
			"the recording does not say in which control groups tasks are: attar "
			"record stores them");
}

static void names_free(struct attar_run *run, void *self)
{
	struct run_names *names = self;

	(void)run;
	group_names_done(&names->groups);
	map_done(&names->recorded);
}

struct scan {
	struct run_names *names;
	uint64_t end; /* ns */
};

static int scan_process(void *ctx, int pid)
{
	struct scan *scan = ctx;
	uint32_t group = read_group_of(scan->names, pid);
	struct process process = {.pub = {.pid = pid}};

	read_user(&process);
	if (group || process.user)
		map_put(&scan->names->recorded, (uint64_t)pid,
			(uint64_t)process.user << 32 | group);
	return base_now() > scan->end;
}

/*
 * The processes that exist when events have been enabled: one that ends before its first event is
 * read has no directory in /proc then, and no record of its creation.
 */
static int names_started(struct attar_run *run, void *self)
{
	struct scan scan = {self, base_now() + SCAN_NS};

	if (!scan.names->is_on || !can_read(run))
		return 0;
	proc_each_process(scan_process, &scan);
	scan.names->groups.looked = 0; /* now */
	group_names_resolve(&scan.names->groups);
	attar_error_clear();
	return 0;
}

const struct run_part part_names = {.size = sizeof(struct run_names),
	.started = names_started,
	.record = names_record,
	.drained = names_drained,
	.read = names_read,
	.remark = names_remark,
	.free = names_free};
