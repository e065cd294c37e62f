/* SPDX-License-Identifier: MIT */
/*
 * Drops one requirement at a time until the event opens: first features that old kernels do not
 * support, then kernel code if it may not be monitored.
 */
#include "perf/negotiate.h"

#include "perf/capabilities.h"
#include "perf/features.h"
#include "perf/kernel.h"
#include "perf/open.h"
#include "perf/selfread.h"

int instance_open(struct attar_counter *c, const struct instance *p)
{
	return open_event(&c->whole, p->pid, p->cpu, p->group_fd, p->flags);
}

static bool is_too_new(int error)
{
	return error == -EINVAL || error == -E2BIG;
}

static bool may_give_up(const struct feature *f, unsigned flags)
{
	return f->loss == FEATURE_ALWAYS ||
	       (f->loss == FEATURE_QUIET && flags & ATTAR_COUNTER_DEGRADE);
}

/* Before 4.13 inherited counters have no group reads: members are then read one by one. */
static bool drop_group(union uapi_attr *attr)
{
	bool had = attr->attr.inherit && attr->attr.read_format & PERF_FORMAT_GROUP;

	if (had)
		attr->attr.read_format &= ~(uint64_t)PERF_FORMAT_GROUP;
	return had;
}

static int try_without(struct attar_counter *c, const struct instance *p, const char *what)
{
	int fd = instance_open(c, p);

	if (fd >= 0)
		log_debug("%s: opened without %s, which kernel %s does not support", c->name, what,
			kernel_get()->release);
	return fd;
}

/*
 * Drops one feature after the other until the event opens. If it still fails, they stay dropped, so
 * that the remaining attributes contain only the reason of the refusal.
 */
static int open_older(
	struct attar_counter *c, const struct instance *p, unsigned flags, int refused)
{
	size_t n;
	const struct feature *f = features_all(&n);
	int fd = refused;

	for (size_t i = 0; i < n && is_too_new(fd); i++) {
		if (!may_give_up(&f[i], flags) || !feature_is_in(&f[i], &c->whole))
			continue;
		feature_drop(&f[i], &c->whole);
		fd = try_without(c, p, f[i].what);
	}
	if (is_too_new(fd) && drop_group(&c->whole))
		fd = try_without(c, p, "group reads");
	return fd;
}

/*
 * Some kernels (such as 6.12.117) refuse kernel call chains separately, even for events of user
 * code, whose call chains have no kernel part. Returns -EACCES if there is nothing to drop.
 */
static int open_user_chains(struct attar_counter *c, const struct instance *p)
{
	int fd;

	if (!(c->attr.sample_type & PERF_SAMPLE_CALLCHAIN) || c->attr.exclude_callchain_kernel)
		return -EACCES;
	c->attr.exclude_callchain_kernel = 1;
	fd = instance_open(c, p);
	if (fd < 0)
		c->attr.exclude_callchain_kernel = 0;
	return fd;
}

static void note_user_only(const char *name)
{
	struct buf fix _cleanup_(buf_done) = {0};

	if (!kernel_get()->user_namespace) {
		buf_str(&fix, ", or ");
		capabilities_add_hint(&fix);
	}
	log_note("%s: only user code is monitored, because kernel.perf_event_paranoid is %lld; for "
		 "kernel code, run as root%s",
		name, (long long)kernel_get()->paranoid,
		fix.len ? buf_text(&fix) : " outside this user namespace");
}

/* Excludes kernel code if it may not be monitored. */
static int open_user_only(struct attar_counter *c, const struct instance *p)
{
	int fd;

	if (c->attr.exclude_kernel)
		return open_user_chains(c, p);
	if (c->attr.exclude_user) /* nothing would remain */
		return -EACCES;
	c->attr.exclude_kernel = c->attr.exclude_hv = 1;
	fd = instance_open(c, p);
	if (fd == -EACCES)
		fd = open_user_chains(c, p);
	if (fd < 0) {
		c->attr.exclude_kernel = c->attr.exclude_hv = 0;
		return fd;
	}
	if (attar_attr_is_clock(&c->attr) && !c->attr.sample_period)
		return fd; /* the count includes the time in kernel code all the same */
	note_user_only(c->name);
	return fd;
}

/* A PMU that cannot be read from user space refuses events that request it. */
static int open_readable(struct attar_counter *c, const struct instance *p)
{
	uint64_t plain = c->attr.config1;
	int fd;

	selfread_ask(&c->attr);
	fd = instance_open(c, p);
	if (fd >= 0 || c->attr.config1 == plain)
		return fd;
	c->attr.config1 = plain;
	return instance_open(c, p);
}

/*
 * Since Linux 7.0 a virtual machine can have the hardware counters for itself (mediated vPMU):
 * while it exists, events that count guests are refused.
 */
static int open_host_only(struct attar_counter *c, const struct instance *p, int refused)
{
	int fd;

	if (c->attr.exclude_guest || c->attr.exclude_host)
		return refused;
	c->attr.exclude_guest = 1;
	fd = instance_open(c, p);
	if (fd >= 0)
		log_note("%s: guests are left out, because a virtual machine has the hardware "
			 "counters for itself",
			c->name);
	else
		c->attr.exclude_guest = 0;
	return fd < 0 ? refused : fd;
}

int instance_open_first(struct attar_counter *c, const struct instance *p, unsigned flags)
{
	int fd = flags & ATTAR_COUNTER_SELF_READ ? open_readable(c, p) : instance_open(c, p);

	if (is_too_new(fd))
		fd = open_older(c, p, flags, fd);
	if ((fd == -EACCES || fd == -EPERM) && flags & ATTAR_COUNTER_DEGRADE) {
		int user = open_user_only(c, p);

		/*
		 * Permissions are checked before existence: only now can the kernel report a
		 * missing PMU.
		 */
		fd = user == -EACCES || user == -EPERM ? fd : user;
	}
	if (fd == -EOPNOTSUPP && flags & ATTAR_COUNTER_DEGRADE)
		fd = open_host_only(c, p, fd);
	return fd;
}
