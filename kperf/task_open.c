/* SPDX-License-Identifier: MIT */
/* The target and the events of a task. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "spe.h"
#include "task.h"

char *kp_join_numbers(const int *numbers, size_t n)
{
	char *text = malloc(n * 12 + 1), *at = text;

	if (text)
		*text = '\0';
	for (size_t i = 0; text && i < n; i++)
		at += sprintf(at, "%s%d", i > 0 ? "," : "", numbers[i]);
	return text;
}

char *kp_join_pids(const struct PmuAttr *attr)
{
	int *pids = calloc(attr->numPid, sizeof(*pids));
	char *text = NULL;

	for (unsigned i = 0; pids && i < attr->numPid; i++)
		pids[i] = attr->pidList[i] ? attr->pidList[i] : getpid();
	if (pids)
		text = kp_join_numbers(pids, attr->numPid);
	free(pids);
	return text;
}

static char *join_names(char *const *names, size_t n)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", names[i]);
	fclose(out);
	return text;
}

/* One descriptor per thread: counts need no more, samples of inherited events do. */
static bool is_any_cpu(const struct kp_task *task, const struct PmuAttr *attr)
{
	if (attr->numPid == 0)
		return false;
	if (attr->perThread || attr->enableUserAccess)
		return true;
	return task->type == COUNTING && (attr->numCpu == 0 || attr->cpuList[0] == -1);
}

char *kp_target_cpus(const struct kp_task *task, const struct PmuAttr *attr)
{
	return attr->numCpu > 0 && !is_any_cpu(task, attr)
		       ? kp_join_numbers(attr->cpuList, attr->numCpu)
		       : NULL;
}

/* The code of a target that could not be created. */
static int target_code(const struct PmuAttr *attr, int r)
{
	if (r == -ENODEV || r == -ERANGE)
		return LIBPERF_ERR_INVALID_CPULIST;
	return attr->numCgroup > 0 ? LIBPERF_ERR_INVALID_CGROUP_LIST : LIBPERF_ERR_INVALID_PIDLIST;
}

/* Data refers to the names of control groups after the target is freed. */
static int keep_cgroups(struct kp_task *task, size_t n)
{
	task->cgroups = calloc(n, sizeof(*task->cgroups));
	for (size_t i = 0; i < n && task->cgroups; i++) {
		const char *name = attar_target_cgroup(task->target, i);

		task->cgroups[i] = kp_origin_text(task->origin, name ? name : "");
		task->n_cgroups = i + 1;
	}
	return task->cgroups ? SUCCESS : kp_fail(COMMON_ERR_NOMEM, "out of memory");
}

int kp_open_target(struct kp_task *task, const struct PmuAttr *attr)
{
	bool any = is_any_cpu(task, attr), self = attr->enableUserAccess;
	char *cpus = kp_target_cpus(task, attr);
	char *pids = attr->numPid > 0 && !self ? kp_join_pids(attr) : NULL;
	char *cgroups =
		attr->numCgroup > 0 ? join_names(attr->cgroupNameList, attr->numCgroup) : NULL;
	struct attar_target_opts opts = {
		.size = sizeof(opts),
		.cpus = cpus,
		.pids = pids,
		.cgroups = cgroups,
		.self = self,
		.any_cpu = any,
		.no_inherit = self || (any && task->type != COUNTING),
	};
	int r = attar_target_new(&opts, &task->target);

	free(cpus);
	free(pids);
	free(cgroups);
	task->has_pids = attr->numPid > 0;
	task->by_exec = attr->enableOnExec;
	task->self_read = self;
	if (r < 0)
		return kp_fail_errno(r, target_code(attr, r));
	return attr->numCgroup > 0 ? keep_cgroups(task, attr->numCgroup) : SUCCESS;
}

/* ---- names of events ---- */

static int keep_list(struct kp_origin *origin, struct attar_event_list *list)
{
	struct attar_event_list **lists = reallocarray(
		origin->events, origin->n_events + 1, sizeof(struct attar_event_list *));

	if (!lists) {
		attar_event_list_free(list);
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	}
	origin->events = lists;
	lists[origin->n_events++] = list;
	return SUCCESS;
}

/* Each entry is one event, or the same event of several devices. */
static int check_entry(const char *name, const struct attar_event_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct attar_event_spec *spec = &list->at[i];

		if (spec->item != 0 || list->n_groups > 0)
			return kp_fail(LIBPERF_ERR_INVALID_EVENT,
				"evtList: '%s' is more than one event: use an entry for each",
				name);
		if (spec->kind == ATTAR_EVENT_USER)
			return kp_fail(LIBPERF_ERR_INVALID_EVENT,
				"evtList: '%s' is not registered in the kernel: start the program "
				"that emits it first; only attar receives events in shared memory",
				name);
		if (spec->kind == ATTAR_EVENT_PROFILER)
			return kp_fail(LIBPERF_ERR_INVALID_EVENT,
				"evtList: '%s' is a profiler, not an event: run it with attar",
				name);
	}
	if (list->n == 0)
		return kp_fail(LIBPERF_ERR_INVALID_EVENT, "evtList: there is no event '%s'", name);
	return SUCCESS;
}

/*
 * The forms of names that only libkperf has: an event of the CPU's PMU without its slashes
 * ("inst_retired"), and a device without its number, which stands for all of them
 * ("hisi_sccl1_ddrc/flux_rd/"). NULL: the name is not of such a form. The caller frees it.
 */
static char *other_form(const char *name)
{
	const char *slash = strchr(name, '/');
	char *text = NULL;
	int n = slash ? asprintf(&text, "%.*s[0-9]*%s", (int)(slash - name), name, slash)
		: strpbrk(name, ":,{}") ? -1
					: asprintf(&text, "cpu/%s/", name);

	return n < 0 ? NULL : text;
}

static int parse_name(
	struct attar_catalog *catalog, const char *name, struct attar_event_list **ret_list)
{
	int r = attar_event_list_parse(catalog, name, ret_list), other;
	char *text;

	if (r != -ENOENT && r != -EOPNOTSUPP)
		return r < 0 ? kp_fail_errno(r, LIBPERF_ERR_INVALID_EVENT) : SUCCESS;
	kp_fail_errno(r, LIBPERF_ERR_INVALID_EVENT);
	text = other_form(name);
	other = text ? attar_event_list_parse(catalog, text, ret_list) : r;
	free(text);
	return other < 0 ? Perrorno() : SUCCESS;
}

int kp_event_parse(
	struct attar_catalog *catalog, const char *name, struct attar_event_list **ret_list)
{
	struct attar_event_list *list;
	int r = parse_name(catalog, name, &list);

	if (r != SUCCESS)
		return r;
	r = check_entry(name, list);
	if (r == SUCCESS)
		*ret_list = list;
	else
		attar_event_list_free(list);
	return r;
}

/* The lock of the origin is held. */
static int parse_event(struct kp_task *task, const char *name, struct kp_event *ret_event)
{
	struct attar_event_list *list;
	int r = kp_event_parse(task->origin->catalog, name, &list);

	if (r != SUCCESS)
		return r;
	r = keep_list(task->origin, list);
	if (r != SUCCESS)
		return r;
	ret_event->name = kp_origin_text(task->origin, name);
	ret_event->specs = list;
	return ret_event->name ? SUCCESS : kp_fail(COMMON_ERR_NOMEM, "out of memory");
}

static int parse_events(struct kp_task *task, const struct PmuAttr *attr)
{
	int r = SUCCESS;

	task->events = calloc(attr->numEvt, sizeof(*task->events));
	if (!task->events)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (unsigned i = 0; i < attr->numEvt && r == SUCCESS; i++) {
		struct kp_event *event = &task->events[task->n_events++];

		event->attr =
			i < attr->numEvtAttr ? attr->evtAttr[i] : (struct EvtAttr){.groupId = -1};
		r = parse_event(task, attr->evtList[i], event);
	}
	return r;
}

/* ---- counters ---- */

static void event_attr(const struct kp_task *task, const struct PmuAttr *attr,
	const struct kp_event *event, const struct attar_event_spec *spec,
	struct perf_event_attr *ret)
{
	memset(ret, 0, sizeof(*ret));
	attar_event_spec_attr(spec, ret, sizeof(*ret));
	ret->exclude_user |= attr->excludeUser | event->attr.excludeUser;
	ret->exclude_kernel |= attr->excludeKernel | event->attr.excludeKernel;
	ret->exclude_guest |= attr->excludeGuest;
	ret->exclude_host |= attr->excludeHost;
	ret->disabled = 1;
	ret->enable_on_exec = attr->enableOnExec;
	if (task->type == SAMPLING)
		kp_sample_attr(task, attr, &event->attr, spec, ret);
	else if (task->type == SPE_SAMPLING)
		kp_spe_attr(attr, ret);
}

/* A device counts on its own CPUs, whatever the task's target is. */
static int open_device(const struct attar_event_spec *spec, struct attar_target **ret_target)
{
	char *cpus = spec->n_cpus > 0 ? kp_join_numbers(spec->cpus, spec->n_cpus) : NULL;
	struct attar_target_opts opts = {.size = sizeof(opts), .cpus = cpus};
	int r = attar_target_new(&opts, ret_target);

	free(cpus);
	return r;
}

/* NULL: out of memory; the counter is owned by the task all the same. */
static struct kp_counter *add_counter(struct kp_task *task, unsigned event,
	const struct attar_event_spec *spec, struct attar_counter *counter)
{
	struct kp_counter *c = &task->counters[task->n_counters++];
	size_t n = attar_counter_instances(counter);

	*c = (struct kp_counter){.counter = counter,
		.event = event,
		.format = spec->format,
		.filter = spec->filter,
		.n = n};
	c->instances = calloc(n, sizeof(*c->instances));
	c->before = calloc(n, sizeof(*c->before));
	c->now = calloc(n, sizeof(*c->now));
	for (size_t i = 0; c->instances && i < n; i++)
		c->instances[i] = attar_counter_instance_at(counter, i);
	return c->instances && c->before && c->now ? c : NULL;
}

/* 0 or a negative errno. */
static int set_filter(const struct kp_counter *c)
{
	return c->filter ? attar_counter_filter(c->counter, c->filter) : 0;
}

static void warn_if_reduced(
	const char *name, const struct attar_counter *counter, const struct perf_event_attr *wanted)
{
	if (attar_counter_attr(counter)->exclude_kernel && !wanted->exclude_kernel)
		kp_warn(LIBPERF_WARN_KERNEL_EXCLUDED,
			"'%s' covers user code only: the kernel may not be monitored without "
			"CAP_PERFMON, see kernel.perf_event_paranoid",
			name);
}

/* The machine does not have the event: a reason to leave it out if there are others. */
static bool is_missing(int r)
{
	return r == -EOPNOTSUPP || r == -ENOENT || r == -ENODEV;
}

/* The code of an error for an event that the kernel refused. */
static int code_of_event(const struct kp_event *event, int r)
{
	return is_missing(r) || (r == -EINVAL && event->specs->at[0].filter)
		       ? LIBPERF_ERR_INVALID_EVENT
		       : LIBPERF_ERR_DEVICE_INVAL;
}

static int open_spec(struct kp_task *task, const struct PmuAttr *attr, unsigned event,
	const struct attar_event_spec *spec)
{
	const char *name = task->events[event].name;
	unsigned flags = ATTAR_COUNTER_DEGRADE | (task->self_read ? ATTAR_COUNTER_SELF_READ : 0);
	struct attar_target *device = NULL;
	struct attar_counter *counter;
	struct perf_event_attr pattr;
	int r = spec->system_wide ? open_device(spec, &device) : 0;

	event_attr(task, attr, &task->events[event], spec, &pattr);
	if (r == 0)
		r = attar_counter_open(
			device ? device : task->target, &pattr, name, flags, &counter);
	if (r < 0) {
		attar_target_free(device);
		return r;
	}
	warn_if_reduced(name, counter, &pattr);
	r = add_counter(task, event, spec, counter) ? 0 : -ENOMEM;
	task->counters[task->n_counters - 1].target = device;
	return r == 0 ? set_filter(&task->counters[task->n_counters - 1]) : r;
}

/* An event without a group. */
static int open_single(struct kp_task *task, const struct PmuAttr *attr, unsigned event)
{
	const struct kp_event *e = &task->events[event];
	int r = 0;

	for (size_t i = 0; i < e->specs->n && r == 0; i++)
		r = open_spec(task, attr, event, &e->specs->at[i]);
	if (r == 0)
		return SUCCESS;
	kp_fail_errno(r, code_of_event(e, r));
	if (!is_missing(r))
		return Perrorno();
	kp_warn(LIBPERF_WARN_EVENT_DROPPED, "'%s' is left out: %s", e->name, attar_error());
	return SUCCESS;
}

static bool is_device(const struct kp_event *event)
{
	return event->specs->at[0].system_wide;
}

/* The events of a group from its first one on. Returns their number. */
static size_t members_of(const struct kp_task *task, unsigned first, unsigned *members)
{
	size_t n = 0;

	for (unsigned i = first; i < task->n_events; i++)
		if (task->events[i].attr.groupId == task->events[first].attr.groupId)
			members[n++] = i;
	return n;
}

/* The target of a group of a device is owned by the first of its counters. */
static int open_members(struct kp_task *task, const struct PmuAttr *attr, const unsigned *members,
	size_t n, struct attar_target *device)
{
	struct perf_event_attr *attrs = calloc(n, sizeof(*attrs));
	struct attar_group_event *events = calloc(n, sizeof(*events));
	struct attar_group *group = NULL;
	int r = attrs && events ? 0 : -ENOMEM;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct kp_event *event = &task->events[members[i]];

		event_attr(task, attr, event, event->specs->at, &attrs[i]);
		events[i] = (struct attar_group_event){.name = event->name, .attr = &attrs[i]};
	}
	if (r == 0)
		r = attar_group_open(
			device ? device : task->target, events, n, ATTAR_COUNTER_DEGRADE, &group);
	if (r < 0)
		attar_target_free(device);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct kp_counter *c = add_counter(task, members[i],
			task->events[members[i]].specs->at, attar_group_counter(group, i));

		r = c ? set_filter(c) : -ENOMEM;
		c = &task->counters[task->n_counters - 1];
		c->group = group;
		c->member = (unsigned)i;
		c->target = i == 0 ? device : NULL;
		warn_if_reduced(events[i].name, c->counter, &attrs[i]);
	}
	free(events);
	free(attrs);
	if (r < 0)
		return kp_fail_errno(
			r, is_missing(r) ? LIBPERF_ERR_INVALID_EVENT : LIBPERF_ERR_DEVICE_INVAL);
	return SUCCESS;
}

static int open_group_of_device(
	struct kp_task *task, const struct PmuAttr *attr, const unsigned *members, size_t n)
{
	struct attar_target *device;
	int r = open_device(task->events[members[0]].specs->at, &device);

	return r < 0 ? kp_fail_errno(r, LIBPERF_ERR_DEVICE_INVAL)
		     : open_members(task, attr, members, n, device);
}

/* Events of devices cannot be in a group with others: then each event counts alone. */
static int open_group_of(
	struct kp_task *task, const struct PmuAttr *attr, const unsigned *members, size_t n)
{
	int id = task->events[members[0]].attr.groupId, r = SUCCESS;
	size_t devices = 0;

	for (size_t i = 0; i < n; i++)
		devices += is_device(&task->events[members[i]]);
	if (devices == n && task->of_metrics)
		return open_group_of_device(task, attr, members, n);
	if (devices == n && n > 1)
		return kp_fail(LIBPERF_ERR_INVALID_GROUP_ALL_UNCORE,
			"the group %d has events of devices only, which cannot be in a group", id);
	if (devices == 0)
		return open_members(task, attr, members, n, NULL);
	kp_warn(LIBPERF_WARN_INVALID_GROUP_HAS_UNCORE,
		"the group %d has events of a device: its events are counted separately", id);
	for (size_t i = 0; i < n && r == SUCCESS; i++)
		r = open_single(task, attr, members[i]);
	return r;
}

static int open_group(struct kp_task *task, const struct PmuAttr *attr, unsigned first)
{
	unsigned *members = calloc(task->n_events, sizeof(*members));
	int r = members ? open_group_of(task, attr, members, members_of(task, first, members))
			: kp_fail(COMMON_ERR_NOMEM, "out of memory");

	free(members);
	return r;
}

static bool is_first_of_group(const struct kp_task *task, unsigned event)
{
	for (unsigned i = 0; i < event; i++)
		if (task->events[i].attr.groupId == task->events[event].attr.groupId)
			return false;
	return true;
}

/* The threads of the counters, with their processes and names. */
static int find_threads(struct kp_task *task)
{
	const struct kp_counter *c = &task->counters[0];

	task->threads = calloc(c->n, sizeof(*task->threads));
	if (!task->threads)
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (size_t i = 0; i < c->n; i++) {
		pid_t tid = c->instances[i].tid;

		if (tid < 0 ||
			(task->n_threads > 0 && task->threads[task->n_threads - 1].tid == tid))
			continue;
		if (kp_thread_read(task->origin, tid, &task->threads[task->n_threads]) != SUCCESS)
			return Perrorno();
		task->n_threads++;
	}
	return SUCCESS;
}

int kp_open_events(struct kp_task *task, const struct PmuAttr *attr)
{
	size_t most = 0;
	int r = parse_events(task, attr);

	for (size_t i = 0; r == SUCCESS && i < task->n_events; i++)
		most += task->events[i].specs->n;
	task->counters = r == SUCCESS ? calloc(most, sizeof(*task->counters)) : NULL;
	if (r == SUCCESS && !task->counters)
		r = kp_fail(COMMON_ERR_NOMEM, "out of memory");
	for (unsigned i = 0; r == SUCCESS && i < task->n_events; i++)
		if (task->events[i].attr.groupId == -1 || task->type != COUNTING)
			r = open_single(task, attr, i);
		else if (is_first_of_group(task, i))
			r = open_group(task, attr, i);
	if (r != SUCCESS)
		return r;
	if (task->n_counters == 0)
		return Perrorno(); /* of the last event that was left out */
	return task->has_pids && task->type == COUNTING ? find_threads(task) : SUCCESS;
}
