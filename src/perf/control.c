/* SPDX-License-Identifier: MIT */
/* Operations on open counters; each affects all instances. */
#include "attar/perf.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>

#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "perf/counter.h"
#include "perf/counter_read.h"
#include "perf/group.h"
#include "perf/kernel_defects.h"
#include "record/uapi.h"

enum { BPF_PROGRAMS_MAX = 64 }; /* per tracepoint: BPF_TRACE_MAX_PROGS in the kernel */

/* "cannot enable 'cycles' on CPU 3: why" */
static int failed(const struct attar_counter *c, const struct counter_fd *it, int error,
	const char *what, const char *why)
{
	if (it->cpu < 0)
		return attar_fail(error, "cannot %s '%s' on thread %d: %s", what, CLIP(c->name),
			it->tid, why);
	return attar_fail(error, "cannot %s '%s' on CPU %d: %s", what, CLIP(c->name), it->cpu, why);
}

/* A request for all instances, and the meaning of EINVAL, EEXIST and EOPNOTSUPP. */
struct request {
	unsigned long request;
	const void *argument;
	const char *what, *invalid, *exists, *unsupported;
	bool is_eperm_invalid; /* EPERM means EINVAL */
	bool leave_waiting;    /* not for instances that wait for an exec */
};

/* Ignores ESRCH: the thread exited. */
static int each_instance(const struct attar_counter *c, const struct request *o)
{
	vec_each (&c->fds, it) {
		if (it->gone || (o->leave_waiting && counter_waits_for_exec(c, it)))
			continue;
		if (TEMP_FAILURE_RETRY(ioctl(it->fd, o->request, o->argument)) >= 0 ||
			errno == ESRCH)
			continue;
		if (errno == EPERM && o->is_eperm_invalid)
			errno = EINVAL;
		return failed(c, it, -errno, o->what,
			errno == EINVAL && o->invalid           ? o->invalid
			: errno == EEXIST && o->exists          ? o->exists
			: errno == EOPNOTSUPP && o->unsupported ? o->unsupported
								: strerror(errno));
	}
	return 0;
}

static const void *number(uintptr_t n)
{
	return (const void *)n;
}

int attar_counter_enable(struct attar_counter *c)
{
	CHECK_OWN(c, "counter");

	c->enabled = true;
	return each_instance(c, &(struct request){PERF_EVENT_IOC_ENABLE, NULL, "enable"});
}

int attar_counter_resume(struct attar_counter *c)
{
	CHECK_OWN(c, "counter");

	c->enabled = true;
	return each_instance(
		c, &(struct request){PERF_EVENT_IOC_ENABLE, NULL, "enable", .leave_waiting = true});
}

int attar_counter_disable(struct attar_counter *c)
{
	CHECK_OWN(c, "counter");

	c->enabled = false;
	return each_instance(c, &(struct request){PERF_EVENT_IOC_DISABLE, NULL, "disable"});
}

static int all_of_this_thread(int request, const char *what)
{
	if (prctl(request, 0, 0, 0, 0) < 0)
		return attar_fail(-errno, "cannot %s the events opened by this thread: %s", what,
			strerror(errno));
	return 0;
}

int counters_enable_all(void)
{
	return all_of_this_thread(PR_TASK_PERF_EVENTS_ENABLE, "enable");
}

int counters_disable_all(void)
{
	return all_of_this_thread(PR_TASK_PERF_EVENTS_DISABLE, "disable");
}

/*
 * Siblings are always enabled and follow their leader. PERF_IOC_FLAG_GROUP would disable each
 * sibling, and Linux 6.18 does not count siblings of another PMU after they are enabled again.
 */
int attar_group_enable(struct attar_group *g)
{
	CHECK_OWN(g, "group");

	return attar_counter_enable(g->members[0]);
}

int attar_group_disable(struct attar_group *g)
{
	CHECK_OWN(g, "group");

	return attar_counter_disable(g->members[0]);
}

int attar_counter_set_period(struct attar_counter *c, uint64_t period)
{
	CHECK_OWN(c, "counter");

	const char *invalid = !c->attr.sample_period ? "it is not a sampled event"
			      : c->attr.freq
				      ? "the frequency is above kernel.perf_event_max_sample_rate"
				      : "the period must be between 1 and 2^63 - 1";
	int r = each_instance(
		c, &(struct request){PERF_EVENT_IOC_PERIOD, &period, "set the period of", invalid});

	if (r == 0)
		c->attr.sample_period = period;
	return r;
}

int attar_counter_refresh(struct attar_counter *c, unsigned n)
{
	CHECK_OWN(c, "counter");

	if (attar_attr_is_clock(&c->attr) && kernel_may_have(kernel_get(), DEFECT_CLOCK_REFRESH))
		return attar_fail(-EOPNOTSUPP, "cannot refresh '%s': Linux %s %s" ATTAR_FIX "%s",
			CLIP(c->name), kernel_get()->release,
			kernel_defect_info(DEFECT_CLOCK_REFRESH)->what,
			kernel_defect_info(DEFECT_CLOCK_REFRESH)->avoid);
	return each_instance(c, &(struct request){PERF_EVENT_IOC_REFRESH, number(n), "refresh",
					c->attr.inherit ? "inherited events cannot be limited to a "
							  "number of overflows (attr.inherit)"
							: "it is not a sampled event"});
}

/* ---- settings kept for fds that are opened later ---- */

static void keep_text(char **kept, const char *text)
{
	free(*kept);
	*kept = strdup(text);
}

static void keep_fd(int *kept, int fd)
{
	if (*kept >= 0)
		close(*kept);
	*kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int counter_restore(const struct attar_counter *c, const struct counter_fd *it)
{
	if (c->filter && ioctl(it->fd, PERF_EVENT_IOC_SET_FILTER, c->filter) < 0)
		return failed(c, it, -errno, "filter", strerror(errno));
	if (c->bpf_fd >= 0 && ioctl(it->fd, PERF_EVENT_IOC_SET_BPF, c->bpf_fd) < 0 &&
		errno != EEXIST)
		return failed(c, it, -errno, "attach a BPF program to", strerror(errno));
	return c->signo ? signal_route(c, it->fd, c->signo, c->signal_tid) : 0;
}

/* All fds of a tracepoint share its programs: attaching to the second fd fails with EEXIST. */
int attar_counter_attach_bpf(struct attar_counter *c, int program_fd)
{
	CHECK_OWN(c, "counter");

	vec_each (&c->fds, it) {
		if (TEMP_FAILURE_RETRY(ioctl(it->fd, PERF_EVENT_IOC_SET_BPF, program_fd)) >= 0)
			continue;
		if (errno == EEXIST && it != c->fds.at)
			continue;
		return failed(c, it, -errno, "attach a BPF program to",
			errno == EEXIST   ? "the program is already attached"
			: errno == EINVAL ? "the program's type is for other events, or the event "
					    "is not sampled"
					  : strerror(errno));
	}
	keep_fd(&c->bpf_fd, program_fd);
	return 0;
}

/* struct perf_event_query_bpf with space for the ids. */
struct query {
	uint32_t ids_len, prog_cnt;
	uint32_t ids[BPF_PROGRAMS_MAX];
};

int attar_counter_query_bpf(struct attar_counter *c, uint32_t *ret_ids, size_t room, size_t *ret_n)
{
	CHECK_OWN(c, "counter");
	CHECK_ARG(ret_ids || !room, "ret_ids");
	CHECK_ARG(ret_n, "ret_n");

	struct query q = {.ids_len = BPF_PROGRAMS_MAX};
	const struct counter_fd *it = c->fds.at;

	if (TEMP_FAILURE_RETRY(ioctl(it->fd, PERF_EVENT_IOC_QUERY_BPF, &q)) < 0)
		return failed(c, it, -errno, "query the BPF programs of",
			errno == EINVAL
				? "only tracepoints and probes support this (since Linux 4.16)"
				: strerror(errno));
	memcpy(ret_ids, q.ids, MIN(room, (size_t)q.prog_cnt) * sizeof(*ret_ids));
	*ret_n = q.prog_cnt;
	return 0;
}

int attar_counter_filter(struct attar_counter *c, const char *filter)
{
	CHECK_OWN(c, "counter");
	CHECK_ARG(filter, "filter");

	const char *invalid =
		c->attr.type == PERF_TYPE_TRACEPOINT
			? "syntax error, unknown field, or operator not valid for its type"
			: "only tracepoints and PMUs with an AUX area support filters";
	/* Linux (seen on 6.18) reports some syntax errors, such as a single &, as EPERM. */
	int r = each_instance(
		c, &(struct request){PERF_EVENT_IOC_SET_FILTER, filter, "filter", invalid,
			   "it already has a filter, which cannot be changed",
			   "the filter has more address ranges than the PMU supports, or "
			   "unsupported ones",
			   c->attr.type == PERF_TYPE_TRACEPOINT});

	if (r < 0)
		return attar_context(r, "the filter '%s'", CLIP(filter));
	keep_text(&c->filter, filter);
	return 0;
}

int attar_counter_modify(struct attar_counter *c, const struct perf_event_attr *attr)
{
	CHECK_OWN(c, "counter");
	CHECK_ARG(attr, "attr");

	union uapi_attr wanted = {0};
	int r;

	if (c->attr.type != PERF_TYPE_BREAKPOINT || attr->type != PERF_TYPE_BREAKPOINT)
		return attar_fail(-EINVAL,
			"cannot modify '%s': only breakpoints can be modified, and the new "
			"attributes must also describe a breakpoint",
			CLIP(c->name));
	wanted = c->whole;
	wanted.attr.bp_type = attr->bp_type;
	wanted.attr.bp_addr = attr->bp_addr;
	wanted.attr.bp_len = attr->bp_len;
	wanted.attr.disabled = attr->disabled;
	r = each_instance(c,
		&(struct request){PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &wanted, "modify",
			"the CPU does not support breakpoints of this length, type or alignment"});
	if (r == 0)
		c->whole = wanted;
	return r;
}

int attar_counter_pause(struct attar_counter *c, bool pause)
{
	CHECK_OWN(c, "counter");

	return each_instance(c, &(struct request){PERF_EVENT_IOC_PAUSE_OUTPUT, number(pause),
					pause ? "pause" : "resume", "it has no ring"});
}

int attar_counter_redirect(struct attar_counter *c, struct attar_counter *to)
{
	CHECK_OWN(c, "counter");

	if (to && to->fds.n != c->fds.n)
		return attar_fail(-EINVAL,
			"cannot redirect '%s' to the rings of '%s': they have %zu and %zu "
			"instances",
			CLIP(c->name), CLIP(to->name), c->fds.n, to->fds.n);
	for (size_t i = 0; i < c->fds.n; i++) {
		const struct counter_fd *it = &c->fds.at[i];
		long fd = to ? to->fds.at[i].fd : -1; /* the kernel checks all 64 bits of -1 */

		if (TEMP_FAILURE_RETRY(ioctl(it->fd, PERF_EVENT_IOC_SET_OUTPUT, fd)) >= 0)
			continue;
		return failed(c, it, -errno, "redirect",
			errno == EINVAL  ? "the other counter has no ring, another clock, or "
					   "another CPU or thread"
			: errno == EBUSY ? "its own ring is mapped"
					 : strerror(errno));
	}
	return 0;
}
