/* SPDX-License-Identifier: MIT */
/*
 * Keeps a run from known defects of the kernel (perf/kernel_defects.h): it warns of user stacks
 * beside uprobes and of breakpoints without effect, refuses return probes that would kill a
 * program, and says what the kernel does differently with switches of tasks.
 */
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "perf/breakpoints.h"
#include "perf/kernel_defects.h"
#include "report/model/model.h"
#include "run/parts.h"
#include "run/parts/programs.h"
#include "run/run.h"

enum { STATUS_MAX = 64 << 10, MAPS_MAX = 16 << 20 };

struct kernel_guard {
	bool has_uprobes, has_user_stacks, was_said, has_proxies;
	bool has_breakpoints, has_no_hits;
};

static bool is_user_probe(const struct source *s)
{
	const char *name = s->spec && s->spec->kind == ATTAR_EVENT_PROBE ? s->spec->name : "";

	return *name == 'u';
}

static bool has_user_stacks(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_CALLCHAIN && !attr->exclude_callchain_user;
}

static bool guard_has_filter(pid_t pid)
{
	struct buf status _cleanup_(buf_done) = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	return file_read(path, STATUS_MAX, &status) == 0 &&
	       strstr(buf_text(&status), "\nSeccomp:\t2\n");
}

static bool guard_has_mapped(pid_t pid, const char *file)
{
	struct buf maps _cleanup_(buf_done) = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return file_read(path, MAPS_MAX, &maps) == 0 && strstr(buf_text(&maps), file);
}

struct return_probe {
	const char *name;
	char *file; /* real; NULL: unknown, which every process may have mapped */
};

static int guard_check_process(void *ctx, int pid)
{
	const struct return_probe *probe = ctx;
	const struct kernel_defect_info *defect = kernel_defect_info(DEFECT_RETURN_PROBES_SECCOMP);

	if (!guard_has_filter(pid) || (probe->file && !guard_has_mapped(pid, probe->file))) {
		attar_error_clear();
		return 0;
	}
	return attar_fail(-EOPNOTSUPP,
		"'%s' is refused: Linux %s %s, as process %d is" ATTAR_FIX "%s", CLIP(probe->name),
		kernel_get()->release, defect->what, pid, defect->avoid);
}

/* A return probe must not reach a program under a seccomp filter, which denies its system call. */
static int guard_check_return(struct attar_run *run, const char *name)
{
	const char *file = strchr(name, '@');
	struct return_probe probe = {.name = name};
	parse_ints pids = {0};
	int r = 0;

	if (run_only_command(run)) /* which has the filters of this process */
		return guard_check_process(&probe, getpid());
	if (!run->opts.pids && !run->opts.tids) {
		probe.file = file ? realpath(file + 1, NULL) : NULL;
		r = proc_each_process(guard_check_process, &probe);
	} else if ((r = run_list_processes(run, &pids)) == 0) {
		vec_each (&pids, pid)
			if (r == 0)
				r = guard_check_process(&probe, *pid);
	}
	vec_done(&pids);
	free(probe.file);
	return r;
}

/* Before the first one is opened: CPUs have few, and the test needs one. */
static void guard_test_breakpoints(struct kernel_guard *guard)
{
	if (guard->has_breakpoints)
		return;
	guard->has_breakpoints = true;
	guard->has_no_hits = breakpoints_test() == 0;
	if (guard->has_no_hits)
		log_warn("hardware breakpoints have no effect on this machine: a test breakpoint "
			 "was set and not hit, as in virtual machines whose host does not emulate "
			 "them; no hits will be counted");
}

static int kernel_guard_attr(
	struct attar_run *run, void *self, const struct source *s, struct perf_event_attr *attr)
{
	struct kernel_guard *guard = self;

	if (attr->type == PERF_TYPE_BREAKPOINT)
		guard_test_breakpoints(guard);
	guard->has_user_stacks |= has_user_stacks(attr);
	guard->has_uprobes |= is_user_probe(s);
	if (!is_user_probe(s) || strncmp(s->spec->name, "uretprobe:", 10) != 0 ||
		!kernel_may_have(kernel_get(), DEFECT_RETURN_PROBES_SECCOMP))
		return 0;
	return guard_check_return(run, s->spec->name);
}

/* Before the events are enabled: the user can still end the run. */
static int kernel_guard_begin(struct attar_run *run, void *self)
{
	struct kernel_guard *guard = self;
	const struct kernel_defect_info *defect = kernel_defect_info(DEFECT_STACKS_BESIDE_UPROBES);

	if (guard->was_said || !guard->has_uprobes || !guard->has_user_stacks ||
		!kernel_may_have(kernel_get(), DEFECT_STACKS_BESIDE_UPROBES))
		return 0;
	guard->was_said = true;
	log_warn("Linux %s %s, unless it has commit b583ef82b671; %s avoids it",
		kernel_get()->release, defect->what, defect->avoid);
	return 0;
}

static int kernel_guard_opened(struct attar_run *run, void *self)
{
	struct kernel_guard *guard = self;
	bool has_switches = false;

	vec_each (&run->sources.list, s)
		has_switches |= !strcmp(s->name, "sched:sched_switch");
	guard->has_proxies =
		has_switches && !run->replay && kernel_has_proxy_execution(kernel_get());
	return 0;
}

static void kernel_guard_remark(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	const struct kernel_guard *guard = self;

	if (guard->has_no_hits)
		attar_report_remark(report,
			"hardware breakpoints have no effect on this machine: their hits are not "
			"counted");
	if (guard->has_proxies)
		attar_report_remark(report,
			"this kernel has proxy execution: a task that waits for a mutex of the "
			"kernel stays in the run queue, and its wait counts as run delay");
}

const struct run_part part_kernel_guard = {
	.size = sizeof(struct kernel_guard),
	.attr = kernel_guard_attr,
	.opened = kernel_guard_opened,
	.begin = kernel_guard_begin,
	.remark = kernel_guard_remark,
};
