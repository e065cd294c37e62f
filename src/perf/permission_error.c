/* SPDX-License-Identifier: MIT */
/*
 * The kernel returns EACCES or EPERM for missing privileges, seccomp filters, security modules and
 * subsystems with their own checks. A cause is reported only with evidence for it: a setting, a
 * capability, or another event that can be opened.
 *
 * Source: perf_event_open() and perf_copy_attr() in kernel/events/core.c, perf_trace_event_perm()
 * in kernel/trace/trace_event_perf.c, hw_breakpoint_parse() in kernel/events/hw_breakpoint.c.
 */
#include "perf/permission_error.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "perf/attr_bisect.h"
#include "perf/capabilities.h"
#include "perf/kernel.h"
#include "perf/open.h"

enum { PROGRAM_MAX = 512 };

/* The number of ftrace:function: TRACE_FN of kernel/trace/trace.h. */
enum { FTRACE_FUNCTION = 1 };

/* ---- trying other events ---- */

int permission_try_own_code(uint32_t type, uint64_t config)
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

static bool is_refusal(int error)
{
	return error == -EPERM || error == -EACCES || error == -ENOSYS;
}

/*
 * True if no event can be opened, not even a dummy event for this thread's own user code.
 */
static bool is_everything_refused(void)
{
	return is_refusal(permission_try_own_code(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY));
}

/* True if a dummy event is refused on the same instance, too. */
static bool is_instance_refused(const struct refusal *r)
{
	union uapi_attr attr = {.attr = {.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = r->attr->attr.exclude_kernel,
					.exclude_hv = r->attr->attr.exclude_hv,
					.disabled = 1}};
	int fd = open_event(&attr, r->instance.pid, r->instance.cpu, -1, r->instance.flags);

	if (fd >= 0)
		close(fd);
	return fd < 0;
}

/*
 * True if the system call fails before the kernel checks its arguments. All kernels check for
 * unknown flags (EINVAL) first.
 */
static bool is_call_blocked(void)
{
	union uapi_attr attr = {.attr = {.size = PERF_ATTR_SIZE_VER0}};

	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, ~0UL) >= 0)
		return false;
	/* ENOSYS without this sysctl: the kernel was built without perf events */
	return errno == EPERM || errno == EACCES ||
	       (errno == ENOSYS && kernel_get()->paranoid != INT64_MIN);
}

/* ---- system state ---- */

bool permission_has_seccomp_filter(void)
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

/* An active security module that may deny perf events; NULL: none is known to be active. */
static const char *security_module(void)
{
	struct buf b _cleanup_(buf_done) = {0};
	int64_t enforcing;

	if (file_read_i64("/sys/fs/selinux/enforce", &enforcing) == 0)
		return enforcing ? "SELinux" : NULL;
	if (file_read("/sys/kernel/security/lsm", 4096, &b) < 0)
		return NULL;
	if (strstr(buf_text(&b), "selinux"))
		return "SELinux";
	return strstr(buf_text(&b), "bpf") ? "a BPF program (LSM)" : NULL;
}

/* The /proc files of a non-dumpable process belong to root. */
static bool is_other_user(pid_t pid, bool *ret_undumpable)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[64];
	const char *line;
	struct stat st;
	unsigned uid;

	*ret_undumpable = false;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (stat(path, &st) < 0 || st.st_uid == geteuid())
		return false;
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read(path, 65536, &b) == 0 && (line = strstr(buf_text(&b), "\nUid:")) &&
		sscanf(line, " Uid: %u", &uid) == 1 && uid == geteuid())
		*ret_undumpable = true;
	return true;
}

void permission_find_pmu(struct buf *b, uint32_t type)
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

static bool is_probe(const struct refusal *r, const char *which)
{
	struct buf pmu _cleanup_(buf_done) = {0};

	if (r->attr->attr.type < PERF_TYPE_MAX)
		return false;
	permission_find_pmu(&pmu, r->attr->attr.type);
	return !strcmp(buf_text(&pmu), which);
}

bool permission_refused_by_seccomp(void)
{
	return permission_has_seccomp_filter() && is_call_blocked();
}

/* ---- causes, with ATTAR_FIX before the fix; each returns false if it does not apply ---- */

static bool add_seccomp(struct buf *b)
{
	if (!permission_refused_by_seccomp())
		return false;
	buf_printf(b,
		"a seccomp filter blocks perf_event_open(2) for this process%s" ATTAR_FIX
		"run it with a filter that allows the system call (docker run --cap-add PERFMON, "
		"or --security-opt seccomp=FILE)",
		in_container() ? " (default in containers)" : "");
	return true;
}

/* These are not governed by kernel.perf_event_paranoid. */
static bool add_special(struct buf *b, const struct refusal *r, const struct kernel *k)
{
	const struct perf_event_attr *attr = &r->attr->attr;

	if (attr->type == PERF_TYPE_BREAKPOINT && !k->sys_admin && (int64_t)attr->bp_addr < 0) {
		buf_str(b, "breakpoints on kernel addresses require CAP_SYS_ADMIN;" ATTAR_FIX
			   "run as root");
		return true;
	}
	if (!k->sys_admin && is_probe(r, "uprobe")) {
		buf_str(b,
			"uprobes require CAP_SYS_ADMIN (on some kernels since 5.8 CAP_PERFMON), "
			"regardless of kernel.perf_event_paranoid;" ATTAR_FIX "run as root, or ");
		capabilities_add_hint(b);
		return true;
	}
	if (!k->perfmon && is_probe(r, "kprobe")) {
		buf_str(b,
			"probes require CAP_PERFMON (CAP_SYS_ADMIN before Linux 5.8), regardless "
			"of kernel.perf_event_paranoid;" ATTAR_FIX "run as root, or ");
		capabilities_add_hint(b);
		return true;
	}
	return false;
}

static bool add_other_user(struct buf *b, const struct refusal *r, const struct kernel *k)
{
	bool undumpable;

	if (k->sys_ptrace || !is_other_user(r->instance.pid, &undumpable) ||
		!is_instance_refused(r))
		return false;
	buf_printf(b,
		"%s;" ATTAR_FIX
		"run as root%s, or give this program CAP_PERFMON and CAP_SYS_PTRACE",
		undumpable ? "the process is not dumpable (as setuid programs are) and cannot be "
			     "traced by its own user"
			   : "the process belongs to another user",
		undumpable ? "" : " or as that user");
	return true;
}

/* An option that needs more rights than the event itself. */
static bool add_option_at_fault(struct buf *b, const struct refusal *r)
{
	const struct feature *f = attr_bisect_find(r);
	union uapi_attr without = *r->attr;

	if (!f)
		return false;
	feature_drop(f, &without);
	if (attr_bisect_try(r, &without) != 0)
		return false;
	buf_printf(b,
		"%s (%s) requires CAP_PERFMON, or kernel.perf_event_paranoid below 2 if it reports "
		"only addresses;" ATTAR_FIX "run as root, do not use it, or ",
		f->option, f->what);
	capabilities_add_hint(b);
	return true;
}

/* The highest value of kernel.perf_event_paranoid that allows it without CAP_PERFMON. */
static int needed_level(const struct refusal *r, bool task)
{
	const struct perf_event_attr *attr = &r->attr->attr;

	if (attr->type == PERF_TYPE_TRACEPOINT &&
		(attr->sample_type & PERF_SAMPLE_RAW || attr->config == FTRACE_FUNCTION))
		return -1;
	return !task ? 0 : attr->exclude_kernel ? 2 : 1;
}

static void add_level(struct buf *b, const struct kernel *k, int needed)
{
	if (k->user_namespace) {
		buf_printf(b,
			"kernel.perf_event_paranoid is %lld, and even root lacks CAP_PERFMON in a "
			"user namespace (rootless container);" ATTAR_FIX
			"run as root outside the container, or run there: "
			"sysctl kernel.perf_event_paranoid=%d",
			(long long)k->paranoid, needed);
		return;
	}
	buf_printf(b,
		"kernel.perf_event_paranoid is %lld and this process lacks CAP_PERFMON;" ATTAR_FIX
		"run as root, or ",
		(long long)k->paranoid);
	capabilities_add_hint(b);
	buf_printf(b, ", or: sysctl kernel.perf_event_paranoid=%d", needed);
}

static bool add_paranoid(struct buf *b, const struct refusal *r, const struct kernel *k, bool task)
{
	int needed = needed_level(r, task);

	if (k->perfmon)
		return false;
	if (is_everything_refused()) {
		/* Some distributions' kernels refuse all events if the value is above 2. */
		if (k->paranoid <= 2)
			return false;
		buf_printf(b,
			"kernel.perf_event_paranoid is %lld, which requires CAP_PERFMON for all "
			"events;" ATTAR_FIX
			"run as root, or run: sysctl kernel.perf_event_paranoid=2 (own processes, "
			"user code), =-1 (everything)",
			(long long)k->paranoid);
		return true;
	}
	if (task && r->attr->attr.exclude_kernel && add_option_at_fault(b, r))
		return true;
	if (k->paranoid <= needed)
		return false;
	add_level(b, k, needed);
	return true;
}

static bool add_lockdown(struct buf *b, const struct refusal *r)
{
	bool registers = r->attr->attr.sample_type & PERF_SAMPLE_REGS_INTR;

	if (!is_locked_down() || (!registers && !is_probe(r, "kprobe")))
		return false;
	buf_printf(b,
		"the kernel is locked down (confidentiality), which forbids %s" ATTAR_FIX
		"boot with lockdown=integrity",
		registers ? "PERF_SAMPLE_REGS_INTR (registers at the interrupt)" : "kprobes");
	return true;
}

/* The refusal does not follow from the kernel's own rules for perf events. */
static void add_unexplained(struct buf *b, const struct refusal *r, const struct kernel *k)
{
	const struct perf_event_attr *attr = &r->attr->attr;
	const char *module = security_module();
	bool refused_alone = !is_instance_refused(r);

	if (module)
		buf_printf(b,
			"kernel.perf_event_paranoid and the capabilities of this process allow it, "
			"but %s is active and may deny it" ATTAR_FIX "see its log",
			module);
	else if (refused_alone && attr->type == PERF_TYPE_TRACEPOINT &&
		 attr->config == FTRACE_FUNCTION)
		buf_str(b, "other events can be opened, but this kernel does not allow function "
			   "tracing (ftrace)");
	else if (refused_alone)
		buf_str(b, "other events can be opened; the kernel gives no reason for refusing "
			   "this one");
	else
		buf_printf(b,
			"%s, and no seccomp filter or security module is known to deny it; the "
			"kernel gives no reason",
			k->perfmon ? "this process has CAP_PERFMON"
				   : "kernel.perf_event_paranoid allows it");
}

static void add_reason(struct buf *b, const struct refusal *r)
{
	bool task = r->instance.pid >= 0 && !(r->instance.flags & PERF_FLAG_PID_CGROUP);
	struct kernel k;

	kernel_read_settings(&k);
	if (add_seccomp(b) || add_special(b, r, &k))
		return;
	if (r->instance.pid > 0 && task && add_other_user(b, r, &k))
		return;
	if (add_paranoid(b, r, &k, task) || add_lockdown(b, r))
		return;
	add_unexplained(b, r, &k);
}

int permission_error_explain(const struct refusal *r)
{
	struct buf b _cleanup_(buf_done) = {0};

	buf_printf(&b, "not permitted to open '%s' ", CLIP(r->event));
	if (r->instance.flags & PERF_FLAG_PID_CGROUP)
		buf_printf(&b, "in a control group on CPU %d: ", r->instance.cpu);
	else if (r->instance.pid > 0)
		buf_printf(&b, "on thread %d: ", r->instance.pid);
	else if (r->instance.pid == 0)
		buf_str(&b, "on this thread: ");
	else
		buf_printf(&b, "system-wide on CPU %d: ", r->instance.cpu);
	add_reason(&b, r);
	return base_fail_text(r->error, buf_text(&b));
}
