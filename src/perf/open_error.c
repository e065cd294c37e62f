/* SPDX-License-Identifier: MIT */
/*
 * The kernel says no more than an errno. What it means is found in three steps: from the kind of
 * event, from the state of the system (rights, limits, sandboxes), and by trying which option is at
 * fault.
 */
#include "perf/open_error.h"

#include <stdio.h>

#include "base/file.h"
#include "base/limit.h"
#include "perf/attr_bisect.h"
#include "perf/kernel.h"
#include "perf/open.h"
#include "perf/rights.h"

/* ---- what is not there ---- */

static bool has_cycles(void)
{
	return rights_try_own_code(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == 0;
}

static int open_error_no_hardware(const struct refusal *r)
{
	if (has_cycles())
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: the counters of this CPU do not know this event",
			CLIP(r->event));
	return attar_fail(-EOPNOTSUPP,
		"'%s' is not available: this machine shows no CPU performance counters (a virtual "
		"machine without a PMU, or an event that this CPU lacks); software events such as "
		"cpu-clock work everywhere",
		CLIP(r->event));
}

/* ENOENT of a probe is that of its file: the kernel has the PMU. */
static int open_error_no_pmu_event(const struct refusal *r)
{
	struct buf pmu _cleanup_(buf_done) = {0};

	rights_find_pmu(&pmu, r->attr->attr.type);
	if (!pmu.len)
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: there is no PMU of type %u here (see "
			"/sys/bus/event_source/devices)",
			CLIP(r->event), r->attr->attr.type);
	if (!strcmp(pmu.data, "uprobe") || !strcmp(pmu.data, "kprobe"))
		return attar_fail(-ENOENT,
			"'%s' cannot be probed: there is no such file, or the function or offset "
			"is not in it",
			CLIP(r->event));
	return attar_fail(-EOPNOTSUPP, "'%s' is not available: the PMU %s does not know this event",
		CLIP(r->event), pmu.data);
}

/* Whether /proc/cgroups tells of a v1 hierarchy that has the controller. */
static bool is_perf_event_in_v1(void)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *line;
	int hierarchy;

	return file_read("/proc/cgroups", 65536, &b) == 0 &&
	       (line = strstr(buf_text(&b), "\nperf_event")) &&
	       sscanf(line, " perf_event %d", &hierarchy) == 1 && hierarchy > 0;
}

/*
 * The event itself is there: the directory stands for no living control group with the controller.
 */
static int open_error_no_cgroup(const struct refusal *r)
{
	if (is_perf_event_in_v1())
		return attar_fail(-EOPNOTSUPP,
			"'%s' cannot be watched in a control group: the perf_event controller is "
			"bound to a v1 hierarchy, and this group is not in it: mount -t cgroup -o "
			"perf_event none DIRECTORY, and name a group there",
			CLIP(r->event));
	return attar_fail(r->error,
		"'%s' cannot be watched in the control group: it was removed, or it has no "
		"perf_event controller",
		CLIP(r->event));
}

static int open_error_no_tracepoint(const struct refusal *r)
{
	return attar_fail(-EOPNOTSUPP,
		"'%s' is not available: kernel %s gives perf events no tracepoint number %llu",
		CLIP(r->event), kernel_get()->release, (unsigned long long)r->attr->attr.config);
}

static int open_error_missing(const struct refusal *r)
{
	const struct perf_event_attr *attr = &r->attr->attr;
	const char *release = kernel_get()->release;

	if (r->instance.flags & PERF_FLAG_PID_CGROUP && r->error == -ENOENT &&
		attr->type == PERF_TYPE_SOFTWARE)
		return open_error_no_cgroup(r);
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return open_error_no_hardware(r);
	case PERF_TYPE_SOFTWARE:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: kernel %s has no software event number %llu",
			CLIP(r->event), release, (unsigned long long)attr->config);
	case PERF_TYPE_TRACEPOINT:
		return open_error_no_tracepoint(r);
	case PERF_TYPE_BREAKPOINT:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: this machine has no hardware breakpoints of that "
			"kind",
			CLIP(r->event));
	default:
		return open_error_no_pmu_event(r);
	}
}

/* ---- options ---- */

static const char *since(const struct feature *f, char *text, size_t size)
{
	snprintf(text, size, "Linux %d.%d", f->since / 1000, f->since % 1000);
	return text;
}

static int open_error_too_big(const struct refusal *r)
{
	uint32_t known;
	const struct feature *f = attr_bisect_too_new(r, &known);
	char first[32];

	if (known >= open_attr_size(r->attr)) /* it is not the attributes that are too big */
		return attar_fail(r->error,
			"'%s' makes records or values of its group larger than the 16 KiB that the "
			"kernel allows: leave out fields of the sample or members of the group",
			CLIP(r->event));
	if (!f)
		return attar_fail(r->error,
			"'%s' asks for something that is newer than kernel %s, which knows %u "
			"bytes of attributes",
			CLIP(r->event), kernel_get()->release, known);
	return attar_fail(r->error,
		"'%s' asks for %s (%s), which kernel %s does not know: it is there since %s",
		CLIP(r->event), f->option, f->what, kernel_get()->release,
		since(f, first, sizeof(first)));
}

static bool is_generic(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
}

/*
 * perf_trace_event_perm() in kernel/trace/trace_event_perf.c allows ftrace:function no user stacks.
 */
static bool lacks_user_stack_rule(const struct refusal *r)
{
	union uapi_attr without = *r->attr;

	if (r->attr->attr.type != PERF_TYPE_TRACEPOINT)
		return false;
	without.attr.exclude_callchain_user = 1;
	without.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_STACK_USER;
	return memcmp(&without, r->attr, sizeof(without)) &&
	       attr_bisect_try(r, &without) != r->error;
}

/* Whether not even a plain count of the tracepoint is taken. */
static bool is_unknown_tracepoint(const struct refusal *r)
{
	union uapi_attr plain = {
		.attr = {.type = PERF_TYPE_TRACEPOINT, .config = r->attr->attr.config}};

	return attr_bisect_try(r, &plain) == -EINVAL;
}

static int open_error_option(const struct refusal *r)
{
	const struct feature *f;
	char first[32];

	if (r->leader && attr_bisect_try(r, r->attr) == 0)
		return attar_fail(r->error,
			"'%s' cannot join the group of '%s': they cannot all be counted at the "
			"same time (too few hardware counters, or PMUs that do not go together)",
			CLIP(r->event), CLIP(r->leader));
	if (lacks_user_stack_rule(r))
		return attar_fail(r->error,
			"'%s' cannot have the user's part of call chains: "
			"attr.exclude_callchain_user (--no-user-callchain) must be set, and "
			"PERF_SAMPLE_STACK_USER must not",
			CLIP(r->event));
	f = attr_bisect_find(r);
	if (!f && r->attr->attr.type == PERF_TYPE_TRACEPOINT && is_unknown_tracepoint(r))
		return open_error_no_tracepoint(r);
	if (!f && is_generic(&r->attr->attr)) /* arm64 says EINVAL where x86 says ENOENT */
		return open_error_no_hardware(r);
	if (!f)
		return attar_fail(r->error,
			"the kernel refuses '%s': its type, config or options contradict each "
			"other in a way that no single option shows",
			CLIP(r->event));
	if (f->since > kernel_get()->version)
		return attar_fail(r->error,
			"'%s' asks for %s (%s), which kernel %s does not know: it is there since "
			"%s",
			CLIP(r->event), f->option, f->what, kernel_get()->release,
			since(f, first, sizeof(first)));
	return attar_fail(r->error,
		"the kernel refuses '%s' with %s (%s): this event cannot have it, or it "
		"contradicts another option",
		CLIP(r->event), f->option, f->what);
}

/* An option that the event's PMU lacks, or the event itself. */
static int open_error_unsupported(const struct refusal *r)
{
	const struct feature *f = attr_bisect_find(r);

	if (!f)
		return open_error_missing(r);
	return attar_fail(-EOPNOTSUPP,
		"'%s' cannot have %s (%s): what counts it does not offer that", CLIP(r->event),
		f->option, f->what);
}

/* ---- limits ---- */

static int open_error_files(const struct refusal *r)
{
	uint64_t limit = limit_open_files(), needed = limit + r->files_left + LIMIT_SPARE_FILES;

	if (r->error == -ENFILE)
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), limit_open_error(ENFILE));
	return attar_fail(r->error,
		"'%s' needs more open files than the limit of %llu: with all else, %zu event%s in "
		"%zu instance%s (CPUs x threads or control groups) need%s %llu: %s, or watch fewer "
		"CPUs "
		"(-C) or threads (-t)",
		CLIP(r->event), (unsigned long long)limit, r->events, r->events == 1 ? "" : "s",
		r->instances, r->instances == 1 ? "" : "s", r->events == 1 ? "s" : "",
		(unsigned long long)needed, limit_raise_files(needed));
}

static int open_error_stack_depth(const struct refusal *r)
{
	struct kernel k;

	kernel_ask(&k);
	return attar_fail(r->error,
		"'%s' asks for stacks of %u frames (attr.sample_max_stack): sysctl "
		"kernel.perf_event_max_stack allows %lld",
		CLIP(r->event), r->attr->attr.sample_max_stack, (long long)k.max_stack);
}

/* The kernel lowers its limit by itself when interrupts take too long. */
static int open_error_rate(const struct refusal *r)
{
	int64_t limit;

	if (file_read_i64("/proc/sys/kernel/perf_event_max_sample_rate", &limit) < 0 ||
		!r->attr->attr.freq || r->attr->attr.sample_freq <= (uint64_t)limit)
		return open_error_option(r);
	return attar_fail(r->error,
		"'%s': %llu samples per second (attr.sample_freq) are more than the %lld that the "
		"kernel allows at present (kernel.perf_event_max_sample_rate)",
		CLIP(r->event), (unsigned long long)r->attr->attr.sample_freq, (long long)limit);
}

static int open_error_no_slot(const struct refusal *r)
{
	if (r->attr->attr.type != PERF_TYPE_BREAKPOINT)
		return attar_fail(r->error,
			"cannot open '%s': %s (what counts it has no room left)", CLIP(r->event),
			strerror(ENOSPC));
	return attar_fail(r->error,
		"'%s' needs a hardware breakpoint, and all are taken (most CPUs have four)",
		CLIP(r->event));
}

/* The kernel's word for a directory that is open, and no control group. */
static int open_error_bad_file(const struct refusal *r)
{
	char path[64], name[4096];
	ssize_t n;

	if (!(r->instance.flags & PERF_FLAG_PID_CGROUP))
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), strerror(EBADF));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->instance.pid);
	n = readlink(path, name, sizeof(name) - 1);
	name[MAX(n, 0)] = '\0';
	return attar_fail(r->error,
		"cannot open '%s': %s is no control group of a hierarchy that perf events take "
		"(v2, or v1 with perf_event)",
		CLIP(r->event), n > 0 ? name : "this directory");
}

int open_error_refusal(const struct refusal *r)
{
	switch (-r->error) {
	case EACCES:
	case EPERM:
		return rights_explain(r);
	case ENOENT:
		return open_error_missing(r);
	case ENODEV:
		if (r->instance.cpu >= 0)
			return attar_fail(r->error,
				"cannot open '%s' on CPU %d: the CPU is offline, or not one that "
				"this event counts on",
				CLIP(r->event), r->instance.cpu);
		return open_error_missing(r);
	case EOPNOTSUPP:
		return open_error_unsupported(r);
	case EMFILE:
	case ENFILE:
		return open_error_files(r);
	case ESRCH:
		return attar_fail(
			r->error, "there is no process or thread %d (any more)", r->instance.pid);
	case ENOSPC:
		return open_error_no_slot(r);
	case EBUSY:
		return attar_fail(r->error,
			"'%s' is busy: another event or profiler holds what counts it",
			CLIP(r->event));
	case EBADF:
		return open_error_bad_file(r);
	case E2BIG:
		return open_error_too_big(r);
	case EOVERFLOW:
		return open_error_stack_depth(r);
	case ENOSYS:
		return attar_fail(r->error, "this kernel was built without perf events "
					    "(CONFIG_PERF_EVENTS), or a sandbox hides them");
	case EINVAL:
		return open_error_rate(r);
	default:
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), strerror(-r->error));
	}
}
