/* SPDX-License-Identifier: MIT */
#include "doctor/checks.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "attar/event.h"
#include "attar/private/doctor.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/rights.h"
#include "bpf/counting.h"
#include "perf/capabilities.h"
#include "perf/kernel.h"
#include "perf/breakpoints.h"
#include "perf/kernel_defects.h"
#include "perf/open.h"
#include "perf/permission_error.h"

#define MOUNT_PROC "mount -t proc proc /proc, as root"
#define MOUNT_SYS  "mount -t sysfs sysfs /sys, as root"

static void found(struct finding *f, enum attar_check_state state, const char *detail)
{
	f->state = state;
	buf_str(&f->detail, detail);
}

/* Opens an event and closes it again: 0 or a negative errno. */
static int try_event(uint32_t type, uint64_t config, pid_t pid, int cpu, bool user_only)
{
	union uapi_attr attr = {.attr = {.type = type,
					.config = config,
					.disabled = 1,
					.exclude_kernel = user_only,
					.exclude_hv = user_only}};
	int fd = open_event(&attr, pid, cpu, -1, 0);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* ---- capabilities and permissions ---- */

bool add_missing_capabilities(struct buf *remedy)
{
	struct buf missing _cleanup_(buf_done) = {0};

	if (!capabilities_list_missing(&missing, NULL))
		return false;
	capabilities_add_commands(remedy);
	return true;
}

/* Whether the check needs /proc or /sys (`where`) and it is not mounted. */
static bool is_not_mounted(struct finding *f, const char *where, const char *remedy)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", where, strcmp(where, "/proc") ? "kernel" : "self");
	if (access(path, F_OK) == 0)
		return false;
	found(f, ATTAR_CHECK_DEGRADED, "unknown: ");
	buf_printf(&f->detail, "%s is not mounted", where);
	buf_str(&f->remedy, remedy);
	return true;
}

static int try_own_code(void)
{
	return permission_try_own_code(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
}

/* The cause, as far as it is known, of a refusal by kernel.perf_event_paranoid or an LSM. */
static void add_refusal(struct finding *f, int error)
{
	const union uapi_attr attr = {.attr = {.type = PERF_TYPE_SOFTWARE,
					      .config = PERF_COUNT_SW_TASK_CLOCK,
					      .exclude_kernel = 1,
					      .exclude_hv = 1}};
	const struct refusal refusal = {.error = error,
		.event = "task-clock",
		.attr = &attr,
		.instance = {.pid = 0, .cpu = -1}};
	const struct kernel *k = kernel_get();

	permission_error_explain(&refusal);
	found(f, ATTAR_CHECK_BLOCKED, attar_error());
	if (k->perfmon || k->paranoid <= 2) {
		buf_str(&f->remedy, "allow perf events in the policy of the security module");
		return;
	}
	capabilities_add_commands(&f->remedy);
	buf_str(&f->remedy, " (or, for all users: sysctl kernel.perf_event_paranoid=2)");
}

static void check_perf(struct finding *f)
{
	int r = try_own_code();

	if (r == 0) {
		found(f, ATTAR_CHECK_READY, "perf_event_open(2) works");
		return;
	}
	if (permission_refused_by_seccomp()) {
		found(f, ATTAR_CHECK_BLOCKED, "a seccomp filter refuses perf_event_open(2)");
		buf_str(&f->remedy,
			"docker run --cap-add PERFMON, or --security-opt seccomp=FILE with a "
			"filter that allows it");
	} else if (r == -ENOSYS) {
		found(f, ATTAR_CHECK_BLOCKED,
			"the kernel has no perf events, or a sandbox hides them");
		buf_str(&f->remedy, "use a kernel with CONFIG_PERF_EVENTS=y");
	} else if (r == -EPERM || r == -EACCES) {
		add_refusal(f, r);
	} else {
		found(f, ATTAR_CHECK_BLOCKED, "perf_event_open(2) failed: ");
		buf_str(&f->detail, strerror(-r));
		buf_str(&f->remedy, "remove the cause of this error");
	}
}

static void check_paranoid(struct finding *f)
{
	long long level = (long long)kernel_get()->paranoid;

	if (is_not_mounted(f, "/proc", MOUNT_PROC))
		return;
	buf_printf(&f->detail, "kernel.perf_event_paranoid is %lld: ", level);
	if (kernel_get()->perfmon) {
		buf_str(&f->detail, "it does not restrict this process");
		return;
	}
	buf_str(&f->detail, level < 0    ? "no restrictions"
			    : level == 0 ? "no raw tracepoint data"
			    : level == 1 ? "only this user's processes"
			    : level == 2 ? "only user code of this user's processes"
					 : "no access");
	if (level < 0)
		return;
	f->state = level > 2 && try_own_code() < 0 ? ATTAR_CHECK_BLOCKED : ATTAR_CHECK_DEGRADED;
	capabilities_add_commands(&f->remedy);
}

static void check_capabilities(struct finding *f)
{
	struct buf missing _cleanup_(buf_done) = {0};

	if (!capabilities_list_missing(&missing, &f->detail)) {
		found(f, ATTAR_CHECK_READY, "all capabilities that attar uses");
		return;
	}
	f->state = ATTAR_CHECK_DEGRADED;
	capabilities_add_commands(&f->remedy);
}

static void check_system_wide(struct finding *f)
{
	if (try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, -1, 0, false) == 0) {
		found(f, ATTAR_CHECK_READY, "all processes and the kernel can be observed");
		return;
	}
	if (try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, 0, -1, false) == 0)
		found(f, ATTAR_CHECK_DEGRADED,
			"only this user's processes, in user and kernel mode");
	else
		found(f, ATTAR_CHECK_DEGRADED, "only user code of this user's processes");
	capabilities_add_commands(&f->remedy);
}

static void check_seccomp(struct finding *f)
{
	if (!permission_has_seccomp_filter()) {
		found(f, ATTAR_CHECK_READY, "no filter");
	} else if (!permission_refused_by_seccomp()) {
		found(f, ATTAR_CHECK_READY, "a filter is active and allows perf_event_open(2)");
	} else {
		found(f, ATTAR_CHECK_BLOCKED, "a filter refuses perf_event_open(2)");
		buf_str(&f->remedy,
			"use a filter that allows it (docker run --security-opt seccomp=FILE)");
	}
}

/* ---- kernel features and settings ---- */

static void check_pmu(struct finding *f)
{
	int r = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 0, -1, true);

	if (r == 0) {
		found(f, ATTAR_CHECK_READY, "the CPU can count cycles");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED,
		"no hardware counters: profiles sample cpu-clock; IPC and cache misses"
		" are unavailable");
	buf_str(&f->remedy,
		"use a machine with a PMU, or a virtual machine whose host passes the PMU through"
		" (KVM: -cpu host,pmu=on)");
}

/* Chooses an event like the profilers ldlat-loads and ldlat-stores. */
static void check_memory_accesses(struct finding *f)
{
	static const char *const samplers[] = {
		"ibs_op", "cpu/events/mem-loads", "cpu_core/events/mem-loads"};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(samplers); i++) {
		snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", samplers[i]);
		if (access(path, F_OK) == 0) {
			buf_printf(&f->detail, "the CPU samples them (%s)", samplers[i]);
			return;
		}
	}
	if (is_not_mounted(f, "/sys", MOUNT_SYS))
		return;
	found(f, ATTAR_CHECK_DEGRADED, "needs PEBS of Intel (mem-loads) or IBS of AMD (ibs_op)");
	buf_str(&f->remedy,
		"use a machine whose CPU has one of them: most virtual machines have neither");
}

/*
 * The first nonzero address. Hidden addresses are all 0, and so are the addresses of the first
 * per-CPU symbols.
 */
static unsigned long long first_address(FILE *kallsyms)
{
	enum { LINES = 1000 };
	unsigned long long address = 0;

	for (int i = 0; i < LINES && !address; i++)
		if (fscanf(kallsyms, "%llx%*[^\n]", &address) != 1)
			break;
	return address;
}

void check_kernel_symbols(struct finding *f)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address = file ? first_address(file) : 0;
	int64_t restricted = 0;

	if (!file && is_not_mounted(f, "/proc", MOUNT_PROC))
		return;
	if (file)
		fclose(file);
	else if (errno == ENOMEM)
		base_oom();
	file_read_i64("/proc/sys/kernel/kptr_restrict", &restricted);
	if (address) {
		buf_printf(&f->detail,
			"/proc/kallsyms shows addresses (kernel.kptr_restrict is %lld)",
			(long long)restricted);
		return;
	}
	f->state = ATTAR_CHECK_DEGRADED;
	if (!file) {
		buf_str(&f->detail, "/proc/kallsyms does not exist: no kernel symbols");
		buf_str(&f->remedy, "use a kernel with CONFIG_KALLSYMS=y");
		return;
	}
	buf_printf(&f->detail,
		"/proc/kallsyms hides addresses (kernel.kptr_restrict is %lld): no kernel symbols",
		(long long)restricted);
	if (restricted > 1)
		buf_str(&f->remedy, "sysctl kernel.kptr_restrict=1; ");
	capabilities_add_commands(&f->remedy);
}

/* Newer kernels need only CAP_PERFMON for the mappings, but not for the files of a process. */
static bool reads_mappings_of_others(void)
{
	static const char maps[] = "/proc/1/maps";
	struct stat st;
	int fd = stat(maps, &st) == 0 && st.st_uid != geteuid() ? open(maps, O_RDONLY | O_CLOEXEC)
								: -1;

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void check_process_names(struct finding *f)
{
	if (capabilities_has(CAP_SYS_PTRACE)) {
		found(f, ATTAR_CHECK_READY, "mappings and files of all processes are readable");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED,
		reads_mappings_of_others()
			? "the files of other users' containers are not readable"
			: "the mappings of other users' processes are not readable");
	capabilities_add_commands(&f->remedy);
}

static void no_tracefs(struct finding *f, int error)
{
	if (is_not_mounted(f, "/sys", MOUNT_SYS))
		return;
	if (error == -EOPNOTSUPP) {
		found(f, ATTAR_CHECK_DEGRADED, "not supported by this kernel");
		buf_str(&f->remedy, "use a kernel with CONFIG_FTRACE=y");
		return;
	}
	if (geteuid() == 0 && error != -EACCES) {
		found(f, ATTAR_CHECK_READY,
			"not mounted: attar mounts it when a tracepoint is requested");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED, "no tracepoints");
	if (error == -EACCES)
		buf_printf(&f->remedy,
			"mount -o remount,gid=%u,mode=750 /sys/kernel/tracing, as root (gives "
			"access to this user's group only)",
			(unsigned)getegid());
	else
		buf_str(&f->remedy, "mount -t tracefs nodev /sys/kernel/tracing, as root");
}

void check_tracefs(struct finding *f)
{
	struct attar_catalog *catalog = NULL;
	const char *path;
	int r = attar_catalog_new(NULL, &catalog);

	if (r == 0)
		r = attar_catalog_tracefs(catalog, &path);
	if (r == 0)
		buf_printf(&f->detail, "tracepoints are readable in %s", path);
	else
		no_tracefs(f, r);
	attar_catalog_free(catalog);
}

/* Before Linux 4.17 there are no probe PMUs; probes are created in tracefs. */
static bool has_file_in_tracefs(const char *name)
{
	static const char *const roots[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		snprintf(path, sizeof(path), "%s/%s", roots[i], name);
		if (access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static void check_probe_pmu(struct finding *f, const char *kind, const char *config)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", kind);
	if (capabilities_refuse_probes(kind)) {
		found(f, ATTAR_CHECK_DEGRADED,
			"the kernel refuses to open them without capabilities");
		capabilities_add_commands(&f->remedy);
		return;
	}
	if (access(path, R_OK) == 0) {
		found(f, ATTAR_CHECK_READY, "the kernel has a PMU for them");
		return;
	}
	snprintf(path, sizeof(path), "%s_events", kind);
	if (has_file_in_tracefs(path)) {
		found(f, ATTAR_CHECK_READY, "created in tracefs: this kernel has no PMU for them");
		return;
	}
	if (is_not_mounted(f, "/sys", MOUNT_SYS))
		return;
	found(f, ATTAR_CHECK_DEGRADED, "not supported by this kernel");
	buf_printf(&f->remedy, "use a kernel with %s=y", config);
}

static void check_kprobes(struct finding *f)
{
	check_probe_pmu(f, "kprobe", "CONFIG_KPROBE_EVENTS");
}

static void check_uprobes(struct finding *f)
{
	check_probe_pmu(f, "uprobe", "CONFIG_UPROBE_EVENTS");
}

static void check_user_events(struct finding *f)
{
	if (has_file_in_tracefs("user_events_data")) {
		found(f, ATTAR_CHECK_READY, "programs can emit user_events through the kernel");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED,
		"not supported by this kernel, or hidden by tracefs: libperfume delivers events to "
		"attar through shared memory, and to other tools as USDT probes");
	buf_str(&f->remedy, "use Linux 6.4 or newer with CONFIG_USER_EVENTS=y");
}

static void check_bpf(struct finding *f)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	int fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));

	if (fd >= 0) {
		close(fd);
		found(f, ATTAR_CHECK_READY, "bpf(2) is allowed");
	} else {
		found(f, ATTAR_CHECK_DEGRADED,
			errno == ENOSYS ? "not supported by this kernel"
					: "bpf(2) is not permitted");
		if (errno == ENOSYS)
			buf_str(&f->remedy, "use a kernel with CONFIG_BPF_SYSCALL=y");
		else
			capabilities_add_commands(&f->remedy);
	}
}

static void check_btf(struct finding *f)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK) == 0) {
		found(f, ATTAR_CHECK_READY, "/sys/kernel/btf/vmlinux is readable");
		return;
	}
	if (is_not_mounted(f, "/sys", MOUNT_SYS))
		return;
	found(f, ATTAR_CHECK_DEGRADED, "/sys/kernel/btf/vmlinux is missing");
	buf_str(&f->remedy, "use a kernel with CONFIG_DEBUG_INFO_BTF=y");
}

/* libbpf, BTF and rights; the message has what is missing, and how to fix it. */
static void check_in_kernel(struct finding *f)
{
	if (counting_check() == 0) {
		found(f, ATTAR_CHECK_READY, "a program in the kernel can count events");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED, attar_error_reason());
	buf_str(&f->detail, "; profilers receive each event instead");
	buf_str(&f->remedy, attar_error_fix());
}

/* perf_mmap() in kernel/events/core.c: the limit applies only while paranoid is 0 or above. */
static void check_locked_memory(struct finding *f)
{
	const struct kernel *k = kernel_get();
	bool unlimited = k->ipc_lock || (k->paranoid < 0 && k->paranoid != INT64_MIN);

	if (unlimited) {
		buf_printf(&f->detail, "the size of ring buffers is not limited (%s)",
			k->ipc_lock ? "CAP_IPC_LOCK" : "kernel.perf_event_paranoid is -1");
		return;
	}
	buf_printf(
		&f->detail, "ring buffers of up to %lld KiB per CPU", (long long)k->mlock_kb - 4);
	if (k->mlock_kb >= 516)
		return;
	f->state = ATTAR_CHECK_DEGRADED;
	buf_str(&f->remedy, "sysctl kernel.perf_event_mlock_kb=516");
}

static void check_files(struct finding *f)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	buf_printf(&f->detail,
		"at most %llu open files: one is needed for each event on each CPU or thread",
		(unsigned long long)limit.rlim_max);
	if (limit.rlim_max >= 4096)
		return;
	f->state = ATTAR_CHECK_DEGRADED;
	buf_str(&f->remedy, "ulimit -n 65536 (hard limit, as root)");
}

static void check_debug_info(struct finding *f)
{
	if (access("/usr/lib/debug/.build-id", R_OK) == 0) {
		found(f, ATTAR_CHECK_READY, "separate debug files are in /usr/lib/debug");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED,
		"no separate debug files: static functions of stripped binaries have no symbols");
	buf_str(&f->remedy, "install the -dbgsym (debuginfo) packages of these binaries");
}

static void check_cgroups(struct finding *f)
{
	struct buf mounts _cleanup_(buf_done) = {0};

	if (is_not_mounted(f, "/proc", MOUNT_PROC))
		return;
	if (file_read("/proc/self/mounts", 4 << 20, &mounts) == 0 &&
		(strstr(buf_text(&mounts), " cgroup2 ") ||
			strstr(buf_text(&mounts), "perf_event"))) {
		found(f, ATTAR_CHECK_READY, "control groups can be observed");
		return;
	}
	found(f, ATTAR_CHECK_DEGRADED,
		"no control group hierarchy is mounted: --cgroups finds nothing");
	buf_str(&f->remedy, "mount -t cgroup2 none /sys/fs/cgroup, as root");
}

static void check_lockdown(struct finding *f)
{
	struct buf b _cleanup_(buf_done) = {0};

	if (is_not_mounted(f, "/sys", MOUNT_SYS))
		return;
	if (file_read("/sys/kernel/security/lockdown", 256, &b) < 0 ||
		strstr(buf_text(&b), "[none]")) {
		found(f, ATTAR_CHECK_READY, "off");
	} else if (strstr(buf_text(&b), "[integrity]")) {
		found(f, ATTAR_CHECK_READY, "integrity: perf events are not restricted");
	} else {
		found(f, ATTAR_CHECK_DEGRADED, "confidentiality: the kernel cannot be observed");
		buf_str(&f->remedy, "boot with lockdown=integrity");
	}
}

static void check_breakpoints(struct finding *f)
{
	int r = breakpoints_test();

	if (r > 0) {
		found(f, ATTAR_CHECK_READY, "a test breakpoint was hit");
	} else if (r == 0) {
		found(f, ATTAR_CHECK_DEGRADED, "they can be set, but are not hit");
		buf_str(&f->remedy,
			"use a machine that is not virtual, or whose host emulates debug "
			"registers");
	} else {
		found(f, ATTAR_CHECK_DEGRADED, "no test breakpoint can be set: ");
		buf_str(&f->detail, strerror(-r));
		buf_str(&f->remedy,
			r == -ENOSPC ? "end debuggers and other programs that use breakpoints"
				     : "see the checks above");
	}
}

/* Defects that attar avoids or warns of, but other tools may not. */
static void check_defects(struct finding *f)
{
	for (enum kernel_defect defect = 0; defect < DEFECT_COUNT; defect++) {
		const struct kernel_defect_info *info = kernel_defect_info(defect);

		if (!kernel_may_have(kernel_get(), defect))
			continue;
		f->state = ATTAR_CHECK_DEGRADED;
		buf_printf(&f->detail, "%s %s",
			f->detail.len ? "; it" : "unless it was corrected, it", info->what);
		buf_printf(&f->remedy, "%s%s", f->remedy.len ? "; " : "", info->avoid);
	}
	if (f->state == ATTAR_CHECK_READY)
		buf_str(&f->detail, "none that perf events trigger is known for this version");
}

static void check_container(struct finding *f)
{
	bool pids = !proc_has_first_pids();
	bool users = kernel_get()->user_namespace;
	bool marked = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;

	found(f, ATTAR_CHECK_READY,
		pids || users || marked ? "inside a container" : "not inside a container");
	if (pids)
		buf_str(&f->detail, "; processes outside it are shown by PID only");
	if (users)
		buf_str(&f->detail, "; its root has no capabilities in the host's user namespace");
}

const struct check checks[] = {
	{"perf events", "all measurements", check_perf},
	{"paranoid", "access without capabilities", check_paranoid},
	{"capabilities", "access beyond that", check_capabilities},
	{"seccomp", "the perf_event_open(2) system call", check_seccomp},
	{"whole system", "other users' processes, the kernel", check_system_wide},
	{"hardware counters", "cycles, instructions, cache misses", check_pmu},
	{"breakpoints", "breakpoint, and events mem:ADDRESS", check_breakpoints},
	{"memory accesses", "samples of loads and stores by PEBS or IBS", check_memory_accesses},
	{"kernel names", "names of kernel functions", check_kernel_symbols},
	{"process names", "names of functions in other users' processes", check_process_names},
	{"tracefs", "tracepoints", check_tracefs},
	{"delivery", "samples of events on idle CPUs", check_delivery},
	{"tasks", "samples of switches of all tasks", check_tasks},
	{"kprobes", "kprobe: and kretprobe: events", check_kprobes},
	{"uprobes", "uprobe: and uretprobe: events, USDT", check_uprobes},
	{"user_events", "events of programs, also for perf and ftrace", check_user_events},
	{"BPF", "counting and filtering inside the kernel", check_bpf},
	{"BTF", "portable BPF programs (CO-RE)", check_btf},
	{"in-kernel counting", "sums of frequent events at a low cost: --in-kernel",
		check_in_kernel},
	{"locked memory", "large ring buffers", check_locked_memory},
	{"open files", "many threads, CPUs and events", check_files},
	{"debug information", "symbols of stripped binaries", check_debug_info},
	{"control groups", "--cgroups", check_cgroups},
	{"lockdown", "observing the kernel", check_lockdown},
	{"kernel defects", "safety of stacks, probes and clocks", check_defects},
	{"container", "visibility of processes", check_container},
	{0},
};

int doctor_check_system(attar_check_fn *fn, void *ctx)
{
	int r = 0;

	CHECK_ARG(fn, "fn");
	for (const struct check *check = checks; check->name && r == 0; check++) {
		struct finding f = {0};

		check->run(&f);
		attar_error_clear();
		if (buf_failed(&f.detail) || buf_failed(&f.remedy))
			r = base_oom();
		else
			r = fn(ctx, &(struct attar_check){.name = check->name,
					    .gives = check->gives,
					    .state = f.state,
					    .found = buf_text(&f.detail),
					    .remedy = buf_text(&f.remedy)});
		buf_done(&f.detail);
		buf_done(&f.remedy);
	}
	return r;
}
