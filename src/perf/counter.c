/* SPDX-License-Identifier: MIT */
/*
 * One event on every place of a target. What the kernel takes is found on the first place, by a ladder
 * that gives up one thing at a time; every further place is opened with just that.
 */
#include "perf/counter.h"

#include <sys/ioctl.h>

#include "perf/kernel.h"
#include "perf/open.h"
#include "perf/target.h"
#include "perf/uapi.h"

/* A rung: what can be given up without changing an answer, the newest thing first, and since when kernels know it. */
struct rung {
	const char *what;
	int since;
	bool (*drop)(struct perf_event_attr *attr);
};

#define RUNG(name, has, drop_it)                                                                   \
	static bool name(struct perf_event_attr *a)                                                \
	{                                                                                          \
		bool had = (has) != 0;                                                             \
		if (had)                                                                           \
			(drop_it);                                                                 \
		return had;                                                                        \
	}

RUNG(drop_lost, a->read_format &PERF_FORMAT_LOST, a->read_format &= ~(uint64_t)PERF_FORMAT_LOST)
RUNG(drop_ksymbol, a->ksymbol, a->ksymbol = 0)
RUNG(drop_clockid, a->use_clockid, (a->use_clockid = 0, a->clockid = 0))
RUNG(drop_max_stack, a->sample_max_stack, a->sample_max_stack = 0)
RUNG(drop_comm_exec, a->comm_exec, a->comm_exec = 0)
RUNG(drop_mmap2, a->mmap2, a->mmap2 = 0)
RUNG(drop_exclude_host, a->exclude_guest || a->exclude_host, a->exclude_guest = a->exclude_host = 0)

static const struct rung rungs[] = {
	{"counts of lost records", KERNEL_VERSION_OF(6, 0), drop_lost},
	{"records of new kernel symbols", KERNEL_VERSION_OF(5, 1), drop_ksymbol},
	{"a depth limit of stacks", KERNEL_VERSION_OF(4, 8), drop_max_stack},
	{"the monotonic clock", KERNEL_VERSION_OF(4, 1), drop_clockid},
	{"a mark on names set by exec", KERNEL_VERSION_OF(3, 16), drop_comm_exec},
	{"inode numbers of mappings", KERNEL_VERSION_OF(3, 16), drop_mmap2},
	{"leaving out guests", KERNEL_VERSION_OF(3, 2), drop_exclude_host},
};

struct place {
	pid_t pid;
	int cpu;
	unsigned long flags;
};

static size_t place_count(const struct attar_target *t)
{
	size_t who = t->kind == ATTAR_TARGET_TASKS     ? t->tids.n
		     : t->kind == ATTAR_TARGET_CGROUPS ? t->cgroups.n
						       : 1;

	return who * t->cpus.n;
}

static struct place place_at(const struct attar_target *t, size_t i)
{
	size_t who = i / t->cpus.n;
	struct place p = {.pid = -1, .cpu = t->cpus.at[i % t->cpus.n]};

	if (t->kind == ATTAR_TARGET_TASKS)
		p.pid = t->tids.at[who];
	if (t->kind == ATTAR_TARGET_CGROUPS) {
		p.pid = t->cgroups.at[who];
		p.flags = PERF_FLAG_PID_CGROUP;
	}
	return p;
}

static int try_open(struct attar_counter *c, const struct place *p)
{
	return open_event(&c->attr, p->pid, p->cpu, -1, p->flags);
}

static int explain(const struct attar_counter *c, const struct place *p, int error)
{
	struct open_refusal refusal = {.error = error,
		.event = c->name,
		.attr = &c->attr,
		.pid = p->flags ? -1 : p->pid,
		.cpu = p->cpu,
		.in_cgroup = p->flags & PERF_FLAG_PID_CGROUP};

	return open_explain(&refusal);
}

/* Leaves the kernel out where it may not be watched. */
static int open_user_only(struct attar_counter *c, const struct place *p)
{
	int fd;

	if (c->attr.exclude_kernel)
		return -EACCES;
	c->attr.exclude_kernel = c->attr.exclude_hv = 1;
	fd = try_open(c, p);
	if (fd < 0) {
		c->attr.exclude_kernel = c->attr.exclude_hv = 0;
		return fd;
	}
	log_note("%s: only user code is watched, the kernel's part is missing: "
		 "kernel.perf_event_paranoid is %lld; run as root or give attar CAP_PERFMON "
		 "(setcap cap_perfmon,cap_sys_ptrace,cap_syslog=ep)",
		c->name, (long long)kernel_get()->paranoid);
	return fd;
}

/* Gives up what old kernels do not know, rung by rung, until it opens; what did not help is put back. */
static int open_older(struct attar_counter *c, const struct place *p)
{
	struct perf_event_attr asked = c->attr;

	for (size_t i = 0; i < ARRAY_SIZE(rungs); i++) {
		int fd;

		if (!rungs[i].drop(&c->attr))
			continue;
		fd = try_open(c, p);
		if (fd == -EINVAL || fd == -E2BIG)
			continue;
		if (fd >= 0)
			log_debug("%s: opened without %s, which kernel %s does not know", c->name,
				rungs[i].what, kernel_get()->release);
		return fd;
	}
	c->attr = asked;
	return -EINVAL;
}

static int open_first(struct attar_counter *c, const struct place *p, unsigned flags)
{
	int fd = try_open(c, p);

	if (fd == -EINVAL || fd == -E2BIG) {
		int older = open_older(c, p);

		fd = older == -EINVAL ? fd : older;
	}
	if ((fd == -EACCES || fd == -EPERM) && flags & ATTAR_COUNTER_DEGRADE) {
		int user = open_user_only(c, p);

		/* Rights are checked before existence: only now may the kernel say that there is no PMU. */
		fd = user == -EACCES || user == -EPERM ? fd : user;
	}
	return fd;
}

static int keep(struct attar_counter *c, int fd, int cpu)
{
	struct counter_fd one = {.fd = fd, .cpu = cpu};

	if (ioctl(fd, PERF_EVENT_IOC_ID, &one.id) < 0)
		one.id = 0;
	if (vec_push(&c->fds, one) < 0) {
		close(fd);
		return base_oom();
	}
	return 0;
}

/* A thread may end, and a CPU go offline, between being listed and being opened: that is no failure. */
static bool vanished(const struct attar_target *t, int error)
{
	if (t->kind == ATTAR_TARGET_TASKS &&
		(error == -ESRCH || (t->skip_refused && error == -EACCES)))
		return true;
	return error == -ENODEV;
}

static int open_places(
	struct attar_counter *c, const struct attar_target *t, size_t first, unsigned flags)
{
	struct place last = {.pid = -1};
	int gone = 0;

	for (size_t i = first; i < place_count(t); i++) {
		struct place p = place_at(t, i);
		int fd = c->fds.n ? try_open(c, &p) : open_first(c, &p, flags), r;

		if (fd < 0 && vanished(t, fd)) {
			last = p;
			gone = fd;
			continue;
		}
		if (fd < 0)
			return explain(c, &p, fd);
		r = keep(c, fd, p.cpu);
		if (r < 0)
			return r;
	}
	return c->fds.n ? 0 : explain(c, &last, gone);
}

int counter_add_tids(struct attar_counter *c, struct attar_target *t, size_t first)
{
	return open_places(c, t, first * t->cpus.n, 0);
}

int attar_counter_open(struct attar_target *target, const struct perf_event_attr *attr,
	const char *name, unsigned flags, struct attar_counter **ret_counter)
{
	struct attar_counter *c = calloc(1, sizeof(*c));
	int r;

	if (!c || !(c->name = strdup(name))) {
		free(c);
		return base_oom();
	}
	c->attr = *attr;
	c->attr.inherit = target->kind == ATTAR_TARGET_TASKS && target->inherit;
	r = open_places(c, target, 0, flags);
	if (r < 0) {
		attar_counter_close(c);
		return r;
	}
	c->has_lost = c->attr.read_format & PERF_FORMAT_LOST;
	*ret_counter = c;
	return 0;
}

/* Closing the last fd of a tracepoint waits for every CPU: the kernel does so once for fds closed together. */
struct attar_counter *attar_counter_close(struct attar_counter *c)
{
	if (!c)
		return NULL;
	vec_each (&c->fds, it)
		close(it->fd);
	vec_done(&c->fds);
	free(c->name);
	free(c);
	return NULL;
}

const char *attar_counter_name(const struct attar_counter *c)
{
	return c->name;
}

const struct perf_event_attr *attar_counter_attr(const struct attar_counter *c)
{
	return &c->attr;
}

static int each_ioctl(struct attar_counter *c, unsigned long request, const char *what)
{
	vec_each (&c->fds, it)
		if (ioctl(it->fd, request, 0) < 0 && errno != ESRCH)
			return attar_fail(-errno, "cannot %s '%s' on CPU %d: %s", what, c->name,
				it->cpu, strerror(errno));
	return 0;
}

int attar_counter_filter(struct attar_counter *c, const char *filter)
{
	vec_each (&c->fds, it) {
		if (ioctl(it->fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0)
			continue;
		if (errno == EINVAL)
			return attar_fail(-EINVAL, "'%s': the kernel does not take the filter '%s'",
				c->name, filter);
		return attar_fail(-errno, "cannot filter '%s': %s", c->name, strerror(errno));
	}
	return 0;
}

int attar_counter_enable(struct attar_counter *c)
{
	return each_ioctl(c, PERF_EVENT_IOC_ENABLE, "enable");
}

int attar_counter_disable(struct attar_counter *c)
{
	return each_ioctl(c, PERF_EVENT_IOC_DISABLE, "disable");
}

/* The read_format that the house samples with is ID | LOST: value, id, lost. */
uint64_t attar_counter_lost(const struct attar_counter *c)
{
	bool has_id = c->attr.read_format & PERF_FORMAT_ID;
	uint64_t values[5], lost = 0;
	size_t extra = !!(c->attr.read_format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		       !!(c->attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (!c->has_lost || c->attr.read_format & PERF_FORMAT_GROUP)
		return 0;
	vec_each (&c->fds, it) {
		ssize_t n = read(it->fd, values, sizeof(values));

		if (n == (ssize_t)((2 + has_id + extra) * sizeof(uint64_t)))
			lost += values[1 + extra + has_id];
	}
	return lost;
}
