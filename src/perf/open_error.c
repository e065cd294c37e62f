/* SPDX-License-Identifier: MIT */
/*
 * perf_event_open(2) returns only an errno. Its cause is determined in three steps: from the type
 * of the event, from the state of the system (permissions, limits, sandboxes), and by testing which
 * option causes the failure.
 */
#include "perf/open_error.h"

#include <linux/hw_breakpoint.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/vfs.h>

#include "base/file.h"
#include "base/file_limit.h"
#include "perf/attr_bisect.h"
#include "perf/kernel.h"
#include "perf/open.h"
#include "perf/permission_error.h"

/* ---- missing events ---- */

static bool has_cycles(void)
{
	return permission_try_own_code(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == 0;
}

static int open_error_no_hardware(const struct refusal *r)
{
	if (has_cycles())
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: this CPU does not support the event",
			CLIP(r->event));
	return attar_fail(-EOPNOTSUPP,
		"'%s' is not available: no hardware performance counters found (a virtual machine "
		"without a PMU, or an event that this CPU does not support);" ATTAR_FIX
		"use a software event such as cpu-clock",
		CLIP(r->event));
}

/* For a probe, ENOENT refers to the probed file: the PMU exists. */
static int open_error_no_pmu_event(const struct refusal *r)
{
	struct buf pmu _cleanup_(buf_done) = {0};

	permission_find_pmu(&pmu, r->attr->attr.type);
	if (!pmu.len)
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: this system has no PMU of type %u" ATTAR_FIX
			"see /sys/bus/event_source/devices",
			CLIP(r->event), r->attr->attr.type);
	if (!strcmp(pmu.data, "uprobe") || !strcmp(pmu.data, "kprobe"))
		return attar_fail(-ENOENT,
			"'%s' cannot be probed: the file does not exist, or does not contain the "
			"function or offset",
			CLIP(r->event));
	return attar_fail(-EOPNOTSUPP, "'%s' is not available: PMU %s does not support the event",
		CLIP(r->event), pmu.data);
}

/* True if /proc/cgroups lists the perf_event controller in a v1 hierarchy. */
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
 * ENOENT for a control group: a software event exists; any other may be missing, unless its group
 * lacks the controller.
 */
static bool is_about_cgroup(const struct refusal *r)
{
	struct statfs fs;

	if (!(r->instance.flags & PERF_FLAG_PID_CGROUP) || r->error != -ENOENT)
		return false;
	return r->attr->attr.type == PERF_TYPE_SOFTWARE ||
	       (is_perf_event_in_v1() && fstatfs(r->instance.pid, &fs) == 0 &&
		       fs.f_type == CGROUP2_SUPER_MAGIC);
}

/*
 * The event itself exists: the directory is not a live control group with the controller.
 */
static int open_error_no_cgroup(const struct refusal *r)
{
	if (is_perf_event_in_v1())
		return attar_fail(-EOPNOTSUPP,
			"'%s' cannot be monitored in this control group: the perf_event controller "
			"is bound to a v1 hierarchy that does not contain the group;" ATTAR_FIX
			"run mount -t cgroup -o perf_event none DIRECTORY and use a group below it",
			CLIP(r->event));
	return attar_fail(r->error,
		"'%s' cannot be monitored in the control group: it was removed, or it has no "
		"perf_event controller",
		CLIP(r->event));
}

static int open_error_no_tracepoint(const struct refusal *r)
{
	return attar_fail(-EOPNOTSUPP,
		"'%s' is not available: kernel %s has no tracepoint with id %llu for perf events",
		CLIP(r->event), kernel_get()->release, (unsigned long long)r->attr->attr.config);
}

static int open_error_missing(const struct refusal *r)
{
	const struct perf_event_attr *attr = &r->attr->attr;
	const char *release = kernel_get()->release;

	if (is_about_cgroup(r))
		return open_error_no_cgroup(r);
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return open_error_no_hardware(r);
	case PERF_TYPE_SOFTWARE:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: kernel %s does not support software event %llu",
			CLIP(r->event), release, (unsigned long long)attr->config);
	case PERF_TYPE_TRACEPOINT:
		return open_error_no_tracepoint(r);
	case PERF_TYPE_BREAKPOINT:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: this CPU does not support hardware breakpoints of "
			"this type",
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

	if (known >= open_attr_size(r->attr)) /* E2BIG is not about the attributes */
		return attar_fail(r->error,
			"'%s' exceeds the kernel's limit of 16 KiB for a record or for the values "
			"of a group" ATTAR_FIX "use fewer sample fields or group members",
			CLIP(r->event));
	if (!f)
		return attar_fail(-EOPNOTSUPP,
			"'%s' uses attributes that are newer than kernel %s, which supports %u "
			"bytes of struct perf_event_attr",
			CLIP(r->event), kernel_get()->release, known);
	return attar_fail(-EOPNOTSUPP,
		"'%s' uses %s (%s), which requires %s or newer; this is kernel %s", CLIP(r->event),
		f->option, f->what, since(f, first, sizeof(first)), kernel_get()->release);
}

static bool is_generic(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE;
}

/*
 * perf_trace_event_perm() in kernel/trace/trace_event_perf.c rejects user stacks for
 * ftrace:function.
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

/* True if even a plain count of the tracepoint fails with EINVAL. */
static bool is_unknown_tracepoint(const struct refusal *r)
{
	union uapi_attr plain = {
		.attr = {.type = PERF_TYPE_TRACEPOINT, .config = r->attr->attr.config}};

	return attr_bisect_try(r, &plain) == -EINVAL;
}

static int open_error_kernel_breakpoint(const struct refusal *r)
{
	if (r->attr->attr.bp_type != HW_BREAKPOINT_X)
		return attar_fail(r->error,
			"'%s': the kernel protects this address from breakpoints, as it does for "
			"the data of its entry code and debug registers",
			CLIP(r->event));
	if (access("/sys/bus/event_source/devices/kprobe", F_OK) < 0 &&
		access("/proc/sys/debug/kprobes-optimization", F_OK) < 0)
		return attar_fail(-EOPNOTSUPP,
			"'%s': execution breakpoints on kernel addresses require a kernel with "
			"kprobes (CONFIG_KPROBES is not set)",
			CLIP(r->event));
	return attar_fail(r->error,
		"'%s': the address is in kernel code that does not allow probes", CLIP(r->event));
}

/* Only x86 restricts the addresses: arch_build_bp_info() in arch/x86/kernel/hw_breakpoint.c. */
static bool is_kernel_breakpoint(const struct perf_event_attr *attr)
{
#if defined(__x86_64__)
	const bool has_rule = true;
#else
	const bool has_rule = false;
#endif

	return has_rule && attr->type == PERF_TYPE_BREAKPOINT && (int64_t)attr->bp_addr < 0;
}

static int open_error_option(const struct refusal *r)
{
	const struct feature *f;
	char first[32];

	if (r->leader && attr_bisect_try(r, r->attr) == 0)
		return attar_fail(r->error,
			"'%s' cannot join the group of '%s': the group cannot be scheduled as a "
			"whole (too few hardware counters, or incompatible PMUs);" ATTAR_FIX
			"use a smaller group",
			CLIP(r->event), CLIP(r->leader));
	if (lacks_user_stack_rule(r))
		return attar_fail(r->error,
			"'%s' does not support user call chains" ATTAR_FIX
			"set attr.exclude_callchain_user "
			"(--no-user-callchain) and do not set PERF_SAMPLE_STACK_USER",
			CLIP(r->event));
	f = attr_bisect_find(r);
	if (!f && is_kernel_breakpoint(&r->attr->attr))
		return open_error_kernel_breakpoint(r);
	if (!f && r->attr->attr.type == PERF_TYPE_TRACEPOINT && is_unknown_tracepoint(r))
		return open_error_no_tracepoint(r);
	if (!f && is_generic(&r->attr->attr)) /* arm64 returns EINVAL where x86 returns ENOENT */
		return open_error_no_hardware(r);
	if (!f)
		return attar_fail(r->error,
			"the kernel rejects '%s' as invalid: its type, config or a combination of "
			"options is not supported; no single option is the cause",
			CLIP(r->event));
	if (f->since > kernel_get()->version)
		return attar_fail(-EOPNOTSUPP,
			"'%s' uses %s (%s), which requires %s or newer; this is kernel %s",
			CLIP(r->event), f->option, f->what, since(f, first, sizeof(first)),
			kernel_get()->release);
	return attar_fail(r->error,
		"the kernel rejects '%s' with %s (%s): the event does not support it, or it "
		"conflicts with another option",
		CLIP(r->event), f->option, f->what);
}

/* The event's PMU lacks the option, or the event itself is missing. */
static int open_error_unsupported(const struct refusal *r)
{
	const struct feature *f = attr_bisect_find(r);

	if (!f)
		return open_error_missing(r);
	return attar_fail(-EOPNOTSUPP, "'%s' does not support %s (%s): its PMU lacks this feature",
		CLIP(r->event), f->option, f->what);
}

/* ---- limits ---- */

static int open_error_files(const struct refusal *r)
{
	uint64_t limit = file_limit_get(), needed = limit + r->files_left + FILE_LIMIT_SPARE;

	if (r->error == -ENFILE)
		return file_limit_fail(ENFILE, "cannot open '%s'", CLIP(r->event));
	return attar_fail(r->error,
		"'%s' exceeds the limit of %llu open files: %zu event%s in %zu instance%s (CPUs x "
		"threads or control groups) and other files need up to %llu in total" ATTAR_FIX
		"%s, or monitor fewer CPUs (-C) or threads (-t)",
		CLIP(r->event), (unsigned long long)limit, r->events, PLURAL_S(r->events),
		r->instances, PLURAL_S(r->instances), (unsigned long long)needed,
		file_limit_raise(needed));
}

static int open_error_stack_depth(const struct refusal *r)
{
	struct kernel k;

	kernel_read_settings(&k);
	return attar_fail(r->error,
		"'%s' requests stacks of %u frames (attr.sample_max_stack), but sysctl "
		"kernel.perf_event_max_stack allows %lld" ATTAR_FIX
		"request fewer, or run sysctl kernel.perf_event_max_stack=%u as root",
		CLIP(r->event), r->attr->attr.sample_max_stack, (long long)k.max_stack,
		r->attr->attr.sample_max_stack);
}

/* The kernel lowers the limit automatically when interrupts take too long. */
static int open_error_rate(const struct refusal *r)
{
	int64_t limit;

	if (file_read_i64("/proc/sys/kernel/perf_event_max_sample_rate", &limit) < 0 ||
		!r->attr->attr.freq || r->attr->attr.sample_freq <= (uint64_t)limit)
		return open_error_option(r);
	return attar_fail(r->error,
		"'%s': %llu samples per second (attr.sample_freq) exceed the current limit of %lld "
		"(sysctl kernel.perf_event_max_sample_rate)" ATTAR_FIX
		"request fewer, or raise the limit as root",
		CLIP(r->event), (unsigned long long)r->attr->attr.sample_freq, (long long)limit);
}

static int open_error_no_slot(const struct refusal *r)
{
	if (r->attr->attr.type != PERF_TYPE_BREAKPOINT)
		return attar_fail(r->error, "cannot open '%s': %s (its PMU has no free counter)",
			CLIP(r->event), strerror(ENOSPC));
	return attar_fail(r->error,
		"'%s' needs a hardware breakpoint, and all are in use (most CPUs have "
		"four)" ATTAR_FIX
		"stop other users of breakpoints, such as debuggers, or request fewer",
		CLIP(r->event));
}

/* The kernel returns EBADF for an open directory that is not a control group. */
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
		"cannot open '%s': %s is not a control group of the v2 hierarchy, or of a v1 "
		"hierarchy with perf_event",
		CLIP(r->event), n > 0 ? name : "this directory");
}

int open_error_refusal(const struct refusal *r)
{
	switch (-r->error) {
	case EACCES:
	case EPERM:
		return permission_error_explain(r);
	case ENOENT:
		return open_error_missing(r);
	case ENODEV:
		if (r->instance.cpu >= 0)
			return attar_fail(r->error,
				"cannot open '%s' on CPU %d: the CPU is offline, or the event does "
				"not count on this CPU",
				CLIP(r->event), r->instance.cpu);
		return open_error_missing(r);
	case EOPNOTSUPP:
		return open_error_unsupported(r);
	case EMFILE:
	case ENFILE:
		return open_error_files(r);
	case ESRCH:
		return attar_fail(r->error, "process or thread %d does not exist, or has exited",
			r->instance.pid);
	case ENOSPC:
		return open_error_no_slot(r);
	case EBUSY:
		return attar_fail(r->error,
			"'%s' is busy: its counter or PMU is held exclusively by another event or "
			"profiler",
			CLIP(r->event));
	case EBADF:
		return open_error_bad_file(r);
	case E2BIG:
		return open_error_too_big(r);
	case EOVERFLOW:
		return open_error_stack_depth(r);
	case ENOSYS:
		return attar_fail(r->error,
			"perf_event_open(2) is not available: the kernel was built "
			"without CONFIG_PERF_EVENTS, or a sandbox blocks it");
	case EINVAL:
		return open_error_rate(r);
	default:
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), strerror(-r->error));
	}
}
