/* SPDX-License-Identifier: MIT */
#include "perf/open.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/buf.h"
#include "perf/kernel.h"
#include "perf/uapi.h"

/* Sizes that kernels have published, PERF_ATTR_SIZE_VER0 and later. */
static const uint32_t attr_sizes[] = {64, 72, 80, 96, 104, 112, 120, 128, 136, 144};

uint32_t open_attr_size(const union uapi_attr *attr)
{
	const unsigned char *bytes = (const unsigned char *)attr;
	size_t used = sizeof(*attr);

	while (used && !bytes[used - 1])
		used--;
	for (size_t i = 0; i < ARRAY_SIZE(attr_sizes); i++)
		if (used <= attr_sizes[i])
			return attr_sizes[i];
	return sizeof(*attr);
}

int open_event(union uapi_attr *attr, pid_t pid, int cpu, int group_fd, unsigned long flags)
{
	long fd;

	attr->attr.size = 0; /* not a field that counts for the size */
	attr->attr.size = open_attr_size(attr);
	do {
		fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd,
			flags | PERF_FLAG_FD_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* Whether the process is another user's: no setting of perf_event_paranoid opens it then. */
static bool is_foreign(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return stat(path, &st) == 0 && st.st_uid != geteuid();
}

static int explain_rights(const struct open_refusal *r, struct buf *b)
{
	const struct kernel *k = kernel_get();

	buf_printf(b, "not permitted to open '%s' ", r->event);
	if (r->pid > 0)
		buf_printf(b, "on thread %d: ", r->pid);
	else
		buf_printf(b, "system-wide on CPU %d: ", r->cpu);
	if (k->perfmon)
		buf_str(b, "this process has CAP_PERFMON, so a seccomp filter, a security module "
			   "or kernel lockdown refuses it");
	else if (r->pid > 0 && is_foreign(r->pid))
		buf_str(b, "it belongs to another user; run as root or as that user, or give attar "
			   "CAP_PERFMON and CAP_SYS_PTRACE");
	else if (k->paranoid > 2)
		buf_printf(b,
			"kernel.perf_event_paranoid is %lld, which leaves it to CAP_PERFMON; run "
			"as root, or: sysctl kernel.perf_event_paranoid=2 (own processes, user "
			"code), =-1 (everything)",
			(long long)k->paranoid);
	else if (r->pid > 0)
		kernel_paranoid_remedy(b, 1);
	else
		kernel_paranoid_remedy(b, r->attr->attr.type == PERF_TYPE_TRACEPOINT ? -1 : 0);
	return attar_fail(r->error, "%s", buf_text(b));
}

static int explain_missing(const struct open_refusal *r)
{
	if (r->attr->attr.type == PERF_TYPE_HARDWARE || r->attr->attr.type == PERF_TYPE_HW_CACHE ||
		r->attr->attr.type == PERF_TYPE_RAW)
		return attar_fail(-EOPNOTSUPP,
			"'%s' is not available: this machine shows no CPU performance counters (a "
			"virtual machine without a PMU, or an event that this CPU lacks); software "
			"events such as cpu-clock work everywhere",
			r->event);
	if (r->in_cgroup && r->error == -ENOENT)
		return attar_fail(-EOPNOTSUPP,
			"'%s' cannot be watched in a control group: the perf_event controller is "
			"bound to a v1 hierarchy that is not mounted: mount -t cgroup -o "
			"perf_event "
			"none DIRECTORY",
			r->event);
	return attar_fail(-EOPNOTSUPP, "'%s' is not available: kernel %s does not know this event",
		r->event, kernel_get()->release);
}

static int explain_fds(const struct open_refusal *r)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return attar_fail(r->error,
		"'%s' needs more open files than the limit of %llu: raise it with ulimit -n, or "
		"watch fewer CPUs (-C) or threads (-t)",
		r->event, (unsigned long long)limit.rlim_cur);
}

int open_explain(const struct open_refusal *r)
{
	struct buf b _cleanup_(buf_done) = {0};

	switch (-r->error) {
	case EACCES:
	case EPERM:
		return explain_rights(r, &b);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		if (r->error == -ENODEV && r->cpu >= 0)
			return attar_fail(r->error,
				"cannot open '%s' on CPU %d: the CPU is offline", r->event, r->cpu);
		return explain_missing(r);
	case EMFILE:
	case ENFILE:
		return explain_fds(r);
	case ESRCH:
		return attar_fail(r->error, "there is no process or thread %d (any more)", r->pid);
	case ENOSPC:
		return attar_fail(r->error,
			"'%s' needs a hardware slot, and all are taken (a breakpoint: most CPUs "
			"have four)",
			r->event);
	case EBUSY:
		return attar_fail(r->error,
			"'%s' is in use by somebody else who asked for it exclusively", r->event);
	case E2BIG:
		return attar_fail(r->error,
			"'%s' asks for something that is newer than kernel %s (it knows %u bytes "
			"of attributes)",
			r->event, kernel_get()->release, r->attr->attr.size);
	case ENOSYS:
		return attar_fail(r->error, "this kernel was built without perf events "
					    "(CONFIG_PERF_EVENTS), or a sandbox hides them");
	case EINVAL:
		return attar_fail(r->error,
			"the kernel refuses '%s' as it was asked for: kernel %s does not know one "
			"of its options, or they exclude each other",
			r->event, kernel_get()->release);
	default:
		return attar_fail(r->error, "cannot open '%s': %s", r->event, strerror(-r->error));
	}
}
