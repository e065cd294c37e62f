/* SPDX-License-Identifier: MIT */
/*
 * Opens counters and groups on every instance of a target. A single counter is a group of one. The
 * attributes that the kernel accepts are negotiated on the first instance; all further instances
 * are opened with the same attributes.
 */
#include "perf/counter.h"

#include <sys/ioctl.h>

#include "base/check_arg.h"
#include "perf/attach_threads.h"
#include "perf/hybrid.h"
#include "perf/open_error.h"
#include "perf/group.h"
#include "perf/negotiate.h"
#include "perf/attr_check.h"
#include "perf/selfread.h"
#include "perf/target.h"

enum { SPLIT_TRIES = 16, SPLIT_WORDS = 1024 };

/* ---- attributes ---- */

/* The caller's struct may be older or newer than ours: compare its size. */
static int copy_attr(const struct perf_event_attr *attr, union uapi_attr *ret_attr)
{
	size_t size = attr->size ? attr->size : PERF_ATTR_SIZE_VER7;
	const unsigned char *bytes = (const unsigned char *)attr;

	if (size < PERF_ATTR_SIZE_VER0)
		return attar_fail(-EINVAL,
			"attr.size is %zu: struct perf_event_attr has at least %d bytes", size,
			PERF_ATTR_SIZE_VER0);
	for (size_t i = sizeof(*ret_attr); i < size; i++)
		if (bytes[i])
			return attar_fail(-E2BIG,
				"attr.size is %zu and byte %zu is not 0: this version of libattar "
				"supports %zu bytes",
				size, i, sizeof(*ret_attr));
	memcpy(ret_attr, attr, MIN(size, sizeof(*ret_attr)));
	return 0;
}

/* The read_format that counter_read needs. Events that write records also count lost records. */
static uint64_t read_format(const struct perf_event_attr *attr)
{
	uint64_t format =
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID;

	return attr->sample_period ? format | PERF_FORMAT_LOST_ : format;
}

/* Software events, tracepoints and breakpoints do not share hardware counters. */
static bool is_software(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT ||
	       attr->type == PERF_TYPE_BREAKPOINT;
}

int counter_new(const struct attar_target *t, const struct perf_event_attr *attr, const char *name,
	struct attar_counter **ret_counter)
{
	struct attar_counter *c = calloc(1, sizeof(*c));
	int r;

	if (!c || !(c->name = strdup(name))) {
		free(c);
		return base_oom();
	}
	c->process = check_process;
	c->bpf_fd = -1;
	r = copy_attr(attr, &c->whole);
	if (r == 0)
		r = attr_check(name, &c->whole);
	if (r < 0) {
		counter_free(c);
		return r;
	}
	c->attr.read_format |= read_format(attr);
	if (t->kind == ATTAR_TARGET_TASKS && t->inherit) {
		c->attr.inherit = 1;
		c->attr.inherit_thread |= t->only_threads;
	}
	c->shares = !is_software(attr);
	c->one_core_kind =
		t->kind == ATTAR_TARGET_TASKS && hybrid_has(hybrid_get(), attr->type, attr->config);
	c->every_cpu = t->every_cpu;
	c->self = t->self && t->any_cpu && t->tids.n == 1;
	c->owner = pthread_self();
	c->enabled = !attr->disabled;
	c->changes_seen = t->hotplug.changes;
	*ret_counter = c;
	return 0;
}

int counter_new_recorded(
	const struct perf_event_attr *attr, const char *name, struct attar_counter **ret_counter)
{
	struct attar_counter *c = calloc(1, sizeof(*c));

	if (!c || !(c->name = strdup(name))) {
		free(c);
		return base_oom();
	}
	c->process = check_process;
	c->bpf_fd = -1;
	c->attr = *attr;
	*ret_counter = c;
	return 0;
}

int counter_add_recorded(struct attar_counter *c, int cpu, pid_t tid)
{
	const struct counter_fd it = {
		.fd = -1, .cpu = cpu, .tid = tid, .cgroup = -1, .id = c->fds.n + 1};

	return vec_push(&c->fds, it) < 0 ? base_oom() : 0;
}

struct attar_counter *counter_free(struct attar_counter *c)
{
	if (!c)
		return NULL;
	selfread_done(c);
	vec_each (&c->fds, it)
		if (it->fd >= 0)
			close(it->fd);
	vec_done(&c->fds);
	vec_done(&c->only);
	if (c->bpf_fd >= 0)
		close(c->bpf_fd);
	free(c->filter);
	free(c->name);
	free(c);
	return NULL;
}

/* ---- instances ---- */

int counter_restrict(
	struct attar_counter *c, const struct attar_target *t, struct counter_cpus cpus)
{
	bool some = !cpus.n;

	for (size_t i = 0; i < cpus.n; i++) {
		if (vec_push(&c->only, cpus.at[i]) < 0)
			return base_oom();
		some |= parse_ints_have(&t->cpus, cpus.at[i]);
	}
	if (cpus.n)
		c->every_cpu = false;
	return some ? 0
		    : attar_fail(-EINVAL, "'%s' is restricted to CPUs that are not watched",
			      CLIP(c->name));
}

bool counter_covers(const struct attar_counter *c, int cpu)
{
	return !c->only.n || parse_ints_have(&c->only, cpu);
}

static size_t count_instances(const struct attar_counter *c, const struct attar_target *t)
{
	return c->every_task ? t->cpus.n : target_instances(t);
}

static struct instance instance_at(
	const struct attar_counter *c, const struct attar_target *t, size_t i)
{
	size_t who = i / t->cpus.n;
	struct instance p = {.pid = -1, .cpu = t->cpus.at[i % t->cpus.n], .group_fd = -1};

	if (t->kind == ATTAR_TARGET_TASKS)
		p.pid = t->tids.at[who];
	if (t->kind == ATTAR_TARGET_CGROUPS && !c->every_task) {
		p.pid = t->cgroups.at[who];
		p.flags = PERF_FLAG_PID_CGROUP;
	}
	return p;
}

struct instance counter_instance(const struct attar_target *t, int cpu, int cgroup)
{
	struct instance p = {.pid = -1, .cpu = cpu, .group_fd = -1};

	if (cgroup >= 0) {
		p.pid = t->cgroups.at[cgroup];
		p.flags = PERF_FLAG_PID_CGROUP;
	}
	return p;
}

/* Explains why one of the counters that are opened together was refused. */
static int explain(struct attar_counter *const *all, size_t n, const struct attar_target *t,
	const struct attar_counter *c, const struct instance *p, int error)
{
	struct refusal refusal = {.error = error,
		.event = c->name,
		.attr = &c->whole,
		.instance = *p,
		.events = MAX(t->events, n),
		.instances = count_instances(c, t)};

	refusal.files_left =
		(refusal.events - MIN(t->events_open, refusal.events)) * refusal.instances +
		t->files_later;
	for (size_t i = 0; i < n; i++)
		refusal.files_left -= MIN(all[i]->fds.n, refusal.files_left);
	if (c->group && c != c->group->members[0])
		refusal.leader = c->group->members[0]->name;
	return open_error_refusal(&refusal);
}

static uint64_t ask_id(int fd)
{
	uint64_t id;

	return TEMP_FAILURE_RETRY(ioctl(fd, PERF_EVENT_IOC_ID, &id)) < 0 ? 0 : id;
}

uint64_t counter_id(const struct counter_fd *it)
{
	return it->id ? it->id : ask_id(it->fd);
}

static int counter_keep(struct attar_counter *c, const struct attar_target *t,
	const struct instance *p, int i, int fd)
{
	bool is_cgroup = p->flags & PERF_FLAG_PID_CGROUP;
	struct counter_fd one = {.fd = fd,
		.cpu = p->cpu,
		.tid = is_cgroup ? -1 : p->pid,
		.cgroup = is_cgroup ? i / (int)t->cpus.n : -1,
		.departures = t->listens ? hotplug_departures(&t->hotplug, p->cpu) : 0};

	if (c->group || c->attr.sample_period)
		one.id = ask_id(fd);
	if (vec_push(&c->fds, one) < 0) {
		close(fd);
		return base_oom();
	}
	return 0;
}

static void drop_newest(struct attar_counter *c)
{
	close(c->fds.at[--c->fds.n].fd);
}

/*
 * A thread may exit, or a CPU go offline, between listing and opening: not an error, as the refusal
 * of a child that nobody asked for.
 */
static bool vanished(struct attar_target *t, pid_t tid, int error)
{
	if (t->kind != ATTAR_TARGET_TASKS)
		return error == -ENODEV;
	if (error == -EACCES)
		return t->skip_refused || target_refuses(t, tid);
	return error == -ESRCH || error == -ENODEV;
}

/* Opens all counters on instance i, or none. Returns the counter that failed. */
static int open_instance(struct attar_counter *const *c, size_t n, const struct attar_target *t,
	size_t i, unsigned flags, struct attar_counter **ret_failed)
{
	struct instance p = instance_at(c[0], t, i);
	int r = 0;

	for (size_t m = 0; m < n; m++) {
		int fd = c[m]->fds.n ? instance_open(c[m], &p)
				     : instance_open_first(c[m], &p, flags);

		r = fd < 0 ? fd : counter_keep(c[m], t, &p, (int)i, fd);
		if (r == 0) {
			p.group_fd = c[0]->fds.at[c[0]->fds.n - 1].fd;
			continue;
		}
		*ret_failed = c[m];
		while (m > 0)
			drop_newest(c[--m]);
		return r;
	}
	return 0;
}

/* Whether a thread that was created since the leader was opened has only a part of the group. */
static bool is_split(const struct attar_counter *leader)
{
	uint64_t words[SPLIT_WORDS];
	int fd = leader->fds.at[leader->fds.n - 1].fd;

	return TEMP_FAILURE_RETRY(read(fd, words, sizeof(words))) < 0 && errno == ECHILD;
}

/*
 * A thread that is created between two members inherits those before, and the kernel then gives no
 * sum of the group until it exits. If it takes the place of its parent on the CPU, the kernel may
 * exchange what both have, and refuses the next member (EINVAL). The group is opened again: the new
 * thread loses what it inherited, and is found by attach_new_threads().
 */
static int open_group(struct attar_counter *const *c, size_t n, const struct attar_target *t,
	size_t i, unsigned flags, struct attar_counter **ret_failed)
{
	const bool inherits = n > 1 && c[0]->attr.inherit && t->kind == ATTAR_TARGET_TASKS;
	int r = 0;

	for (unsigned tries = 0; tries < SPLIT_TRIES; tries++) {
		r = open_instance(c, n, t, i, flags, ret_failed);
		if (!inherits || (r < 0 && (r != -EINVAL || *ret_failed == c[0])) ||
			(r == 0 && (c[0]->fds.n == 0 || !is_split(c[0]))))
			return r;
		for (size_t m = 0; r == 0 && m < n; m++)
			drop_newest(c[m]);
	}
	return r == 0 ? open_instance(c, n, t, i, flags, ret_failed) : r;
}

int counters_open_range(struct attar_counter *const *c, size_t n, struct attar_target *t,
	size_t first, size_t end, unsigned flags)
{
	struct attar_counter *failed = NULL;
	size_t last = 0;
	int gone = 0;

	for (size_t i = first; i < end; i++) {
		struct instance p = instance_at(c[0], t, i);
		int r;

		if (!counter_covers(c[0], p.cpu))
			continue;
		if (target_stopped(t))
			return attar_fail(
				-ECANCELED, "stopped while opening '%s'", CLIP(c[0]->name));
		r = open_group(c, n, t, i, flags, &failed);
		if (r == -ENOMEM)
			return base_oom();
		if (r < 0 && !vanished(t, p.pid, r))
			return explain(c, n, t, failed, &p, r);
		if (r < 0) {
			last = i;
			gone = r;
		}
	}
	if (!c[0]->fds.n && failed) {
		struct instance p = instance_at(c[0], t, last);

		return explain(c, n, t, failed, &p, gone);
	}
	return 0;
}

int counters_open_instances(
	struct attar_counter *const *c, size_t n, struct attar_target *t, unsigned flags)
{
	int r = counters_open_range(c, n, t, 0, count_instances(c[0], t), flags);

	return r == 0 ? attach_new_threads(t, c, n, flags) : r;
}

void counter_close_fds(struct attar_counter *c, pid_t tid, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->fds.n; i++) {
		const struct counter_fd it = c->fds.at[i];

		if (i < n && it.tid == tid)
			close(it.fd);
		else
			c->fds.at[kept++] = it;
	}
	c->fds.n = kept;
}

/* ---- open and close ---- */

int counter_open_on(struct attar_target *target, struct counter_cpus cpus,
	const struct perf_event_attr *attr, const char *name, unsigned flags,
	struct attar_counter **ret_counter)
{
	struct attar_counter *c;
	int r = counter_new(target, attr, name, &c);

	if (r < 0)
		return r;
	c->every_task = target->kind == ATTAR_TARGET_CGROUPS && flags & COUNTER_EVERY_TASK;
	r = counter_restrict(c, target, cpus);
	if (r == 0)
		r = counters_open_instances(&c, 1, target, flags & ~COUNTER_EVERY_TASK);
	if (r < 0) {
		counter_free(c);
		return r;
	}
	*ret_counter = c;
	return 0;
}

int attar_counter_open(struct attar_target *target, const struct perf_event_attr *attr,
	const char *name, unsigned flags, struct attar_counter **ret_counter)
{
	CHECK_OWN(target, "target");
	CHECK_ARG(attr, "attr");
	CHECK_ARG(name, "name");
	CHECK_ARG(ret_counter, "ret_counter");

	CHECK_FLAGS(flags, ATTAR_COUNTER_DEGRADE | ATTAR_COUNTER_SELF_READ);

	return counter_open_on(target, (struct counter_cpus){0}, attr, name, flags, ret_counter);
}

/*
 * Closing the last fd of a tracepoint waits for an RCU grace period, about 30 ms, under a kernel
 * lock: the waits for several tracepoints add up, also across threads.
 */
struct attar_counter *attar_counter_close(struct attar_counter *c)
{
	return counter_free(c);
}

const char *attar_counter_name(const struct attar_counter *c)
{
	CHECK_ARG_OR(c, "counter", NULL);

	return c->name;
}

const struct perf_event_attr *attar_counter_attr(const struct attar_counter *c)
{
	CHECK_ARG_OR(c, "counter", NULL);

	return &c->attr;
}

bool attar_attr_is_clock(const struct perf_event_attr *attr)
{
	CHECK_ARG_OR(attr, "attr", false);

	return attr->type == PERF_TYPE_SOFTWARE &&
	       (attr->config == PERF_COUNT_SW_CPU_CLOCK ||
		       attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

size_t attar_counter_instances(const struct attar_counter *c)
{
	CHECK_ARG_OR(c, "counter", 0);

	return c->fds.n;
}

struct attar_counter_instance attar_counter_instance_at(const struct attar_counter *c, size_t i)
{
	static const struct attar_counter_instance none = {
		.fd = -1, .cpu = -1, .tid = -1, .cgroup = -1};
	const struct counter_fd *it;

	CHECK_ARG_OR(c, "counter", none);
	if (i >= c->fds.n) {
		check_range(__func__, "i", i, c->fds.n);
		return none;
	}
	it = &c->fds.at[i];
	return (struct attar_counter_instance){.fd = it->fd,
		.cpu = it->cpu,
		.tid = it->tid,
		.cgroup = it->cgroup,
		.id = counter_id(it)};
}
