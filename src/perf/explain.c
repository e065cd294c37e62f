/* SPDX-License-Identifier: MIT */
/*
 * The kernel says no more than an errno. What it means is found in three steps: from the kind of event, from
 * the state of the system (rights, limits, sandboxes), and by trying which option is at fault.
 */
#include "perf/explain.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limit.h"
#include "perf/culprit.h"
#include "perf/kernel.h"
#include "perf/open.h"

enum { PROGRAM_MAX = 512 };

/* ---- rights ---- */

/* Whether the process is another user's: no setting of perf_event_paranoid opens it then. */
static bool is_foreign(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

/* 0, or a negative errno: whether this thread's own user code can be watched with the event. */
static int try_own_code(uint32_t type, uint64_t config)
{
	union uapi_attr attr = {.attr = {.type = type,
					.config = config,
					.exclude_kernel = 1,
					.exclude_hv = 1,
					.disabled = 1}};
	int fd = open_event(&attr, 0, -1, -1, 0);

	if (fd >= 0)
		close(fd);
	return MIN(fd, 0);
}

/* Nothing at all may be opened, not even what this thread's own user code does with no event. */
static bool is_sandboxed(void)
{
	int r = try_own_code(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY);

	return r == -EPERM || r == -EACCES || r == -ENOSYS;
}

static bool has_seccomp_filter(void)
{
	struct buf b _cleanup_(buf_done) = {0};

	return file_read("/proc/self/status", 65536, &b) == 0 &&
	       strstr(buf_text(&b), "\nSeccomp:\t2");
}

static bool in_container(void)
{
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static bool is_locked_down(void)
{
	struct buf b _cleanup_(buf_done) = {0};

	return file_read("/sys/kernel/security/lockdown", 256, &b) == 0 &&
	       strstr(buf_text(&b), "[confidentiality]");
}

/* What refuses where the kernel's own rules allow it. */
static void add_sandbox(struct buf *b)
{
	if (has_seccomp_filter())
		buf_printf(b,
			"a seccomp filter refuses perf_event_open(2) to this process%s: run it "
			"with a filter that allows it (docker run --cap-add PERFMON, or "
			"--security-opt seccomp=FILE)",
			in_container() ? ", as containers have it" : "");
	else if (is_locked_down())
		buf_str(b, "the kernel is locked down (confidentiality): boot with "
			   "lockdown=integrity");
	else
		buf_str(b, "this process has CAP_PERFMON, so a security module (SELinux, AppArmor) "
			   "refuses it: see its log");
}

/* An option that needs more rights than the event itself; false when none is at fault. */
static bool add_option_at_fault(struct buf *b, const struct refusal *r)
{
	const struct feature *f = culprit_find(r);
	union uapi_attr without = *r->attr;
	char program[PROGRAM_MAX];

	if (!f)
		return false;
	feature_drop(f, &without);
	if (culprit_try(r, &without) != 0)
		return false;
	file_of_program(program, sizeof(program));
	buf_printf(b,
		"%s (%s) needs CAP_PERFMON, or kernel.perf_event_paranoid below 2 where it tells "
		"only addresses; run as root, leave it out, or: setcap cap_perfmon=ep %s",
		f->option, f->what, program);
	return true;
}

/* What would mend it: the value of kernel.perf_event_paranoid that is needed. */
static void add_paranoid(struct buf *b, const struct kernel *k, int needed)
{
	char program[PROGRAM_MAX];

	file_of_program(program, sizeof(program));
	if (k->user_namespace)
		buf_printf(b,
			"kernel.perf_event_paranoid is %lld, and in a user namespace (a rootless "
			"container) not even root has CAP_PERFMON; run it outside as root, or "
			"allow it there with: sysctl kernel.perf_event_paranoid=%d",
			(long long)k->paranoid, needed);
	else
		buf_printf(b,
			"kernel.perf_event_paranoid is %lld and this process lacks CAP_PERFMON; "
			"run as root, or allow it with: setcap "
			"cap_perfmon,cap_sys_ptrace,cap_syslog=ep %s, or: sysctl "
			"kernel.perf_event_paranoid=%d",
			(long long)k->paranoid, program, needed);
}

static void add_reason(struct buf *b, const struct refusal *r, const struct kernel *k)
{
	const struct perf_event_attr *attr = &r->attr->attr;
	bool task = r->place.pid > 0 && !(r->place.flags & PERF_FLAG_PID_CGROUP);

	if (k->perfmon || (k->paranoid <= 2 && is_sandboxed()))
		add_sandbox(b);
	else if (task && is_foreign(r->place.pid))
		buf_str(b, "it belongs to another user; run as root or as that user, or give this "
			   "program CAP_PERFMON and CAP_SYS_PTRACE");
	else if (k->paranoid > 2)
		buf_printf(b,
			"kernel.perf_event_paranoid is %lld, which leaves it to CAP_PERFMON; run "
			"as root, or: sysctl kernel.perf_event_paranoid=2 (own processes, user "
			"code), =-1 (everything)",
			(long long)k->paranoid);
	else if (task && attr->exclude_kernel && add_option_at_fault(b, r))
		return;
	else
		add_paranoid(b, k, attr->type == PERF_TYPE_TRACEPOINT ? -1 : task ? 1 : 0);
}

static int explain_rights(const struct refusal *r)
{
	struct buf b _cleanup_(buf_done) = {0};
	struct kernel k;

	kernel_ask(&k);
	buf_printf(&b, "not permitted to open '%s' ", CLIP(r->event));
	if (r->place.flags & PERF_FLAG_PID_CGROUP)
		buf_printf(&b, "in a control group on CPU %d: ", r->place.cpu);
	else if (r->place.pid > 0)
		buf_printf(&b, "on thread %d: ", r->place.pid);
	else
		buf_printf(&b, "system-wide on CPU %d: ", r->place.cpu);
	add_reason(&b, r, &k);
	return attar_fail(r->error, "%s", buf_text(&b));
}

/* ---- what is not there ---- */

static bool has_cycles(void)
{
	return try_own_code(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES) == 0;
}

static int explain_no_hardware(const struct refusal *r)
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

/* The device of that type; "" when there is none. */
static void find_pmu(struct buf *b, uint32_t type)
{
	static const char devices[] = "/sys/bus/event_source/devices";
	struct dirent *entry;
	DIR *dir = opendir(devices);

	while (dir && !b->len && (entry = readdir(dir))) {
		char path[512];
		int64_t number;

		snprintf(path, sizeof(path), "%s/%s/type", devices, entry->d_name);
		if (entry->d_name[0] != '.' && file_read_i64(path, &number) == 0 && number == type)
			buf_str(b, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* ENOENT of a probe is that of its file: the kernel has the PMU. */
static int explain_no_pmu_event(const struct refusal *r)
{
	struct buf pmu _cleanup_(buf_done) = {0};

	find_pmu(&pmu, r->attr->attr.type);
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

static int explain_missing(const struct refusal *r)
{
	const struct perf_event_attr *attr = &r->attr->attr;
	const char *release = kernel_get()->release;

	if (r->place.flags & PERF_FLAG_PID_CGROUP && r->error == -ENOENT &&
		attr->type == PERF_TYPE_SOFTWARE)
		return attar_fail(-EOPNOTSUPP,
			"'%s' cannot be watched in a control group: the perf_event controller is "
			"bound to a v1 hierarchy that is not mounted: mount -t cgroup -o "
			"perf_event none DIRECTORY",
			CLIP(r->event));
	switch (attr->type) {
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
	case PERF_TYPE_RAW:
		return explain_no_hardware(r);
	case PERF_TYPE_SOFTWARE:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: kernel %s has no software event number %llu",
			CLIP(r->event), release, (unsigned long long)attr->config);
	case PERF_TYPE_TRACEPOINT:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: kernel %s has no tracepoint number %llu",
			CLIP(r->event), release, (unsigned long long)attr->config);
	case PERF_TYPE_BREAKPOINT:
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: this machine has no hardware breakpoints of that "
			"kind",
			CLIP(r->event));
	default:
		return explain_no_pmu_event(r);
	}
}

/* ---- options ---- */

static const char *since(const struct feature *f, char *text, size_t size)
{
	snprintf(text, size, "Linux %d.%d", f->since / 1000, f->since % 1000);
	return text;
}

static int explain_too_big(const struct refusal *r)
{
	uint32_t known;
	const struct feature *f = culprit_too_new(r, &known);
	char first[32];

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

static int explain_option(const struct refusal *r)
{
	const struct feature *f;
	char first[32];

	if (r->leader && culprit_try(r, r->attr) == 0)
		return attar_fail(r->error,
			"'%s' cannot join the group of '%s': they cannot all be counted at the "
			"same time (too few hardware counters, or PMUs that do not go together)",
			CLIP(r->event), CLIP(r->leader));
	f = culprit_find(r);
	if (!f && is_generic(&r->attr->attr)) /* arm64 says EINVAL where x86 says ENOENT */
		return explain_no_hardware(r);
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
static int explain_unsupported(const struct refusal *r)
{
	const struct feature *f = culprit_find(r);

	if (!f)
		return explain_missing(r);
	return attar_fail(-EOPNOTSUPP,
		"'%s' cannot have %s (%s): what counts it does not offer that", CLIP(r->event),
		f->option, f->what);
}

/* ---- limits ---- */

static int explain_files(const struct refusal *r)
{
	uint64_t limit = limit_open_files(), needed = limit + r->files_left + LIMIT_SPARE_FILES;

	if (r->error == -ENFILE)
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), limit_open_error(ENFILE));
	return attar_fail(r->error,
		"'%s' needs more open files than the limit of %llu: with all else, %zu event%s in "
		"%zu place%s (CPUs x threads or control groups) need%s %llu: %s, or watch fewer "
		"CPUs "
		"(-C) or threads (-t)",
		CLIP(r->event), (unsigned long long)limit, r->events, r->events == 1 ? "" : "s",
		r->places, r->places == 1 ? "" : "s", r->events == 1 ? "s" : "",
		(unsigned long long)needed, limit_raise_files(needed));
}

static int explain_stack_depth(const struct refusal *r)
{
	struct kernel k;

	kernel_ask(&k);
	return attar_fail(r->error,
		"'%s' asks for stacks of %u frames (attr.sample_max_stack): sysctl "
		"kernel.perf_event_max_stack allows %lld",
		CLIP(r->event), r->attr->attr.sample_max_stack, (long long)k.max_stack);
}

/* The kernel lowers its limit by itself when interrupts take too long. */
static int explain_rate(const struct refusal *r)
{
	int64_t limit;

	if (file_read_i64("/proc/sys/kernel/perf_event_max_sample_rate", &limit) < 0 ||
		!r->attr->attr.freq || r->attr->attr.sample_freq <= (uint64_t)limit)
		return explain_option(r);
	return attar_fail(r->error,
		"'%s': %llu samples per second (attr.sample_freq) are more than the %lld that the "
		"kernel allows at present (kernel.perf_event_max_sample_rate)",
		CLIP(r->event), (unsigned long long)r->attr->attr.sample_freq, (long long)limit);
}

/* The kernel's word for a directory that is open, and no control group. */
static int explain_bad_file(const struct refusal *r)
{
	char path[64], name[4096];
	ssize_t n;

	if (!(r->place.flags & PERF_FLAG_PID_CGROUP))
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), strerror(EBADF));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", r->place.pid);
	n = readlink(path, name, sizeof(name) - 1);
	name[MAX(n, 0)] = '\0';
	return attar_fail(r->error,
		"cannot open '%s': %s is no control group of a hierarchy that perf events take "
		"(v2, or v1 with perf_event)",
		CLIP(r->event), n > 0 ? name : "this directory");
}

int explain_refusal(const struct refusal *r)
{
	switch (-r->error) {
	case EACCES:
	case EPERM:
		return explain_rights(r);
	case ENOENT:
		return explain_missing(r);
	case ENODEV:
		if (r->place.cpu >= 0)
			return attar_fail(r->error,
				"cannot open '%s' on CPU %d: the CPU is offline, or not one that "
				"this event counts on",
				CLIP(r->event), r->place.cpu);
		return explain_missing(r);
	case EOPNOTSUPP:
		return explain_unsupported(r);
	case EMFILE:
	case ENFILE:
		return explain_files(r);
	case ESRCH:
		return attar_fail(
			r->error, "there is no process or thread %d (any more)", r->place.pid);
	case ENOSPC:
		return attar_fail(r->error,
			"'%s' needs a hardware slot, and all are taken (a breakpoint: most CPUs "
			"have four)",
			CLIP(r->event));
	case EBUSY:
		return attar_fail(r->error,
			"'%s' is in use by somebody else who asked for it exclusively",
			CLIP(r->event));
	case EBADF:
		return explain_bad_file(r);
	case E2BIG:
		return explain_too_big(r);
	case EOVERFLOW:
		return explain_stack_depth(r);
	case ENOSYS:
		return attar_fail(r->error, "this kernel was built without perf events "
					    "(CONFIG_PERF_EVENTS), or a sandbox hides them");
	case EINVAL:
		return explain_rate(r);
	default:
		return attar_fail(
			r->error, "cannot open '%s': %s", CLIP(r->event), strerror(-r->error));
	}
}
