/* SPDX-License-Identifier: MIT */
/*
 * A ladder that gives up one thing at a time: first what old kernels do not know, then the kernel's own part
 * where it may not be watched.
 */
#include "perf/negotiate.h"

#include "perf/kernel.h"
#include "perf/open.h"
#include "perf/selfread.h"

/* A rung: what can be given up without changing an answer, the newest thing first. */
struct rung {
	const char *what;
	bool always; /* added by the library itself: given up without being allowed to */
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

RUNG(drop_lost, a->read_format &PERF_FORMAT_LOST_, a->read_format &= ~(uint64_t)PERF_FORMAT_LOST_)
RUNG(drop_ksymbol, a->ksymbol, a->ksymbol = 0)
RUNG(drop_max_stack, a->sample_max_stack, a->sample_max_stack = 0)
RUNG(drop_group, a->inherit && a->read_format & PERF_FORMAT_GROUP,
	a->read_format &= ~(uint64_t)PERF_FORMAT_GROUP)
RUNG(drop_clockid, a->use_clockid, (a->use_clockid = 0, a->clockid = 0))
RUNG(drop_comm_exec, a->comm_exec, a->comm_exec = 0)
RUNG(drop_mmap2, a->mmap2, a->mmap2 = 0)
RUNG(drop_exclude_host, a->exclude_guest || a->exclude_host, a->exclude_guest = a->exclude_host = 0)

static const struct rung rungs[] = {
	{"counts of lost records (6.0)", true, drop_lost},
	{"records of new kernel symbols (5.1)", false, drop_ksymbol},
	{"group reads of inherited counters (4.13)", true, drop_group},
	{"a depth limit of stacks (4.8)", false, drop_max_stack},
	{"the monotonic clock (4.1)", false, drop_clockid},
	{"a mark on names set by exec (3.16)", false, drop_comm_exec},
	{"inode numbers of mappings (3.16)", false, drop_mmap2},
	{"leaving out guests (3.2)", false, drop_exclude_host},
};

int place_open(struct attar_counter *c, const struct place *p)
{
	return open_event(&c->whole, p->pid, p->cpu, p->group_fd, p->flags);
}

static bool is_too_new(int error)
{
	return error == -EINVAL || error == -E2BIG;
}

/* Gives up rung by rung until it opens; what did not help is put back. */
static int open_older(struct attar_counter *c, const struct place *p, unsigned flags, int refused)
{
	union uapi_attr asked = c->whole;

	for (size_t i = 0; i < ARRAY_SIZE(rungs); i++) {
		int fd;

		if ((!rungs[i].always && !(flags & ATTAR_COUNTER_DEGRADE)) ||
			!rungs[i].drop(&c->attr))
			continue;
		fd = place_open(c, p);
		if (is_too_new(fd))
			continue;
		if (fd >= 0)
			log_debug("%s: opened without %s, which kernel %s does not know", c->name,
				rungs[i].what, kernel_get()->release);
		return fd;
	}
	c->whole = asked;
	return refused;
}

/* Leaves the kernel out where it may not be watched. */
static int open_user_only(struct attar_counter *c, const struct place *p)
{
	int fd;

	if (c->attr.exclude_kernel)
		return -EACCES;
	c->attr.exclude_kernel = c->attr.exclude_hv = 1;
	fd = place_open(c, p);
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

/* A PMU that does not know how to be read by user code refuses what asks for it. */
static int open_readable(struct attar_counter *c, const struct place *p)
{
	uint64_t plain = c->attr.config1;
	int fd;

	selfread_ask(&c->attr);
	fd = place_open(c, p);
	if (fd >= 0 || c->attr.config1 == plain)
		return fd;
	c->attr.config1 = plain;
	return place_open(c, p);
}

int place_open_first(struct attar_counter *c, const struct place *p, unsigned flags)
{
	int fd = flags & ATTAR_COUNTER_SELF_READ ? open_readable(c, p) : place_open(c, p);

	if (is_too_new(fd))
		fd = open_older(c, p, flags, fd);
	if ((fd == -EACCES || fd == -EPERM) && flags & ATTAR_COUNTER_DEGRADE) {
		int user = open_user_only(c, p);

		/* Rights are checked before existence: only now may the kernel say that there is no PMU. */
		fd = user == -EACCES || user == -EPERM ? fd : user;
	}
	return fd;
}
