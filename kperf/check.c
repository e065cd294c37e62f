/* SPDX-License-Identifier: MIT */
/* Checks of attributes. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "error.h"
#include "task.h"
#include "topology.h"

enum {
	MOST = 1 << 16, /* entries of a list: more are garbage */
	PRIVILEGES = KPERF_SAMPLE_BRANCH_USER | KPERF_SAMPLE_BRANCH_KERNEL | KPERF_SAMPLE_BRANCH_HV,
};

static int check_pids(const struct PmuAttr *attr)
{
	if (attr->numPid > MOST || (attr->numPid > 0 && !attr->pidList))
		return kp_fail(LIBPERF_ERR_INVALID_PIDLIST,
			"numPid is %u, but pidList does not have that many processes",
			attr->numPid);
	for (unsigned i = 0; i < attr->numPid; i++) {
		int pid = attr->pidList[i];

		if (pid < 0)
			return kp_fail(
				LIBPERF_ERR_INVALID_PIDLIST, "pidList: %d is not a process", pid);
		/* EPERM: it exists. */
		if (pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			return kp_fail(
				LIBPERF_ERR_INVALID_PID, "pidList: there is no process %d", pid);
	}
	return SUCCESS;
}

static int check_cpus(const struct PmuAttr *attr)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	if (attr->numCpu > MOST || (attr->numCpu > 0 && !attr->cpuList))
		return kp_fail(LIBPERF_ERR_INVALID_CPULIST,
			"numCpu is %u, but cpuList does not have that many CPUs", attr->numCpu);
	for (unsigned i = 0; i < attr->numCpu; i++) {
		bool any = attr->cpuList[i] == -1 && attr->numCpu == 1 && attr->numPid > 0;

		if ((attr->cpuList[i] < 0 && !any) || attr->cpuList[i] >= configured)
			return kp_fail(LIBPERF_ERR_INVALID_CPULIST,
				"cpuList: there is no CPU %d; this machine has 0 to %ld",
				attr->cpuList[i], configured - 1);
	}
	return SUCCESS;
}

/* At least one of user and kernel code must be monitored. */
static int check_code(const struct PmuAttr *attr)
{
	for (unsigned i = 0; i < attr->numEvt; i++) {
		const struct EvtAttr *own = i < attr->numEvtAttr ? &attr->evtAttr[i] : NULL;

		if ((attr->excludeUser || (own && own->excludeUser)) &&
			(attr->excludeKernel || (own && own->excludeKernel)))
			return kp_fail(LIBPERF_ERR_INVALID_EVTATTR,
				"'%s' has excludeUser and excludeKernel, of PmuAttr or EvtAttr: "
				"nothing would be monitored",
				attr->evtList[i]);
	}
	return SUCCESS;
}

static int check_events(const struct PmuAttr *attr)
{
	if (attr->numEvt > MOST || (attr->numEvt > 0 && !attr->evtList))
		return kp_fail(LIBPERF_ERR_INVALID_EVTLIST,
			"numEvt is %u, but evtList does not have that many events", attr->numEvt);
	if (attr->numEvt == 0)
		return kp_fail(LIBPERF_ERR_INVALID_EVTLIST, "evtList has no events");
	for (unsigned i = 0; i < attr->numEvt; i++)
		if (!attr->evtList[i] || !*attr->evtList[i])
			return kp_fail(
				LIBPERF_ERR_INVALID_EVENT, "evtList: event %u has no name", i);
	if (attr->numEvtAttr > 0 && !attr->evtAttr)
		return kp_fail(LIBPERF_ERR_INVALID_EVTATTR, "numEvtAttr is %u, but evtAttr is NULL",
			attr->numEvtAttr);
	if (attr->numEvtAttr > attr->numEvt)
		return kp_fail(LIBPERF_ERR_INVALID_EVTATTR,
			"numEvtAttr is %u, but there are only %u events", attr->numEvtAttr,
			attr->numEvt);
	return check_code(attr);
}

int kp_check_lists(const struct PmuAttr *attr)
{
	int r = check_cpus(attr);

	if (r == SUCCESS)
		r = check_pids(attr);
	if (r == SUCCESS &&
		(attr->numCgroup > MOST || (attr->numCgroup > 0 && !attr->cgroupNameList)))
		r = kp_fail(LIBPERF_ERR_INVALID_CGROUP_LIST,
			"numCgroup is %u, but cgroupNameList does not have that many names",
			attr->numCgroup);
	if (r == SUCCESS && attr->numCgroup > 0 && attr->numPid > 0)
		r = kp_fail(LIBPERF_ERR_INVALID_CGROUP_LIST,
			"cgroupNameList and pidList are mutually exclusive");
	for (unsigned i = 0; r == SUCCESS && i < attr->numCgroup; i++) {
		const char *name = attr->cgroupNameList[i];

		if (!name || !*name || strpbrk(name, ",*?["))
			r = kp_fail(LIBPERF_ERR_INVALID_CGROUP_LIST,
				"cgroupNameList: '%s' is not the name of a control group",
				name ? name : "NULL");
	}
	return r;
}

static int check_rate(const struct PmuAttr *attr)
{
	int64_t most = kp_read_number("/proc/sys/kernel/perf_event_max_sample_rate", 0);

	if (!attr->useFreq || (attr->freq > 0 && (most == 0 || attr->freq <= most)))
		return SUCCESS;
	return kp_fail(LIBPERF_ERR_INVALID_SAMPLE_RATE,
		"freq is %u; the kernel allows 1 to %lld, see kernel.perf_event_max_sample_rate",
		attr->freq, (long long)most);
}

static int check_branches(enum PmuTaskType type, const struct PmuAttr *attr)
{
	unsigned long filter = attr->branchSampleFilter;

	if (filter == KPERF_NO_BRANCH_SAMPLE)
		return SUCCESS;
	if (type != SAMPLING)
		return kp_fail(LIBPERF_ERR_BRANCH_JUST_SUPPORT_SAMPLING,
			"branchSampleFilter requires a task of SAMPLING");
	if (!(filter & ~(unsigned long)PRIVILEGES) || filter >= KPERF_SAMPLE_BRANCH_TYPE_SAVE << 1)
		return kp_fail(LIBPERF_ERR_INVALID_BRANCH_SAMPLE_FILTER,
			"branchSampleFilter 0x%lx has no kind of branch, or unknown bits", filter);
	return SUCCESS;
}

static int check_blocked(enum PmuTaskType type, const struct PmuAttr *attr)
{
	if (type != SAMPLING)
		return kp_fail(LIBPERF_ERR_INVALID_BLOCKED_SAMPLE,
			"blockedSample requires a task of SAMPLING");
	if (attr->numPid == 0)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_SYSTEM_SAMPLE,
			"blockedSample needs the processes of a pidList");
	if (attr->evtAttr)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_GROUP_EVENT,
			"blockedSample chooses the events itself: evtAttr must be NULL");
	if (attr->evtList || attr->numEvt > 0)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_CONFIG_EVENT,
			"blockedSample chooses the events itself: evtList must be NULL");
	return SUCCESS;
}

static int check_spe(const struct PmuAttr *attr)
{
	if (attr->evtAttr)
		return kp_fail(
			LIBPERF_ERR_INVALID_GROUP_SPE, "SPE_SAMPLING has no groups of events");
	if (attr->minLatency > 4095)
		return kp_fail(LIBPERF_ERR_INVALID_MIN_LATENCY,
			"minLatency is %lu, but must not exceed 4095 cycles", attr->minLatency);
	if (attr->evFilter & ~(unsigned)(SPE_EVENT_RETIRED | SPE_EVENT_L1DMISS |
					 SPE_EVENT_TLB_WALK | SPE_EVENT_MISPREDICTED))
		return kp_fail(LIBPERF_ERR_INVALID_EVT_FILTER, "evFilter 0x%x has unknown bits",
			attr->evFilter);
	if ((unsigned long)attr->dataFilter & ~(unsigned long)SPE_DATA_ALL)
		return kp_fail(LIBPERF_ERR_INVALID_DATA_FILTER, "dataFilter 0x%lx has unknown bits",
			(unsigned long)attr->dataFilter);
	if (attr->useFreq)
		return kp_fail(LIBPERF_ERR_INVALID_SAMPLE_RATE,
			"SPE_SAMPLING has a period, but no frequency: set period, and useFreq to "
			"0");
	return SUCCESS;
}

static int check_options(enum PmuTaskType type, const struct PmuAttr *attr)
{
	if (attr->enableBpf && (type != COUNTING || attr->evtAttr))
		return kp_fail(LIBPERF_ERR_INVALID_BPF_PARAM,
			"enableBpf requires a task of COUNTING without groups");
	if (attr->enableHwMetric)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_HWMETRIC,
			"enableHwMetric needs a kernel with CONFIG_HISILICON_HW_METRIC");
	if (attr->enableOnExec && attr->numPid == 0)
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_EXEC_ON,
			"enableOnExec needs the process of a pidList");
	if (attr->perThread && (type != SAMPLING || attr->numPid == 0 || attr->numCpu > 0))
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_PER_THREAD,
			"perThread requires a task of SAMPLING with a pidList and no cpuList");
	if (attr->enableUserAccess &&
		(type != COUNTING || attr->numPid != 1 || attr->pidList[0] != 0))
		return kp_fail(LIBPERF_ERR_CHECK_USER_ACCESS,
			"enableUserAccess counts the calling thread: COUNTING, with pidList {0}");
	return SUCCESS;
}

int kp_check(enum PmuTaskType type, const struct PmuAttr *attr)
{
	int r;

	if ((unsigned)type >= MAX_TASK_TYPE)
		return kp_fail(LIBPERF_ERR_INVALID_TASK_TYPE,
			"the type of task %d is unknown: use COUNTING, SAMPLING or SPE_SAMPLING",
			type);
	if (!attr)
		return kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuOpen(): attr is NULL");
	r = kp_check_lists(attr);
	if (r == SUCCESS && type == SPE_SAMPLING)
		r = check_spe(attr);
	else if (r == SUCCESS)
		r = attr->blockedSample ? check_blocked(type, attr) : check_events(attr);
	if (r == SUCCESS && type == SAMPLING)
		r = check_rate(attr);
	if (r == SUCCESS)
		r = check_branches(type, attr);
	return r == SUCCESS ? check_options(type, attr) : r;
}

void kp_warn_ignored(enum PmuTaskType type, const struct PmuAttr *attr)
{
	if (attr->enableBpf)
		kp_warn(LIBPERF_WARN_REPLACED,
			"enableBpf: events are counted by the kernel's perf, not by BPF programs");
	if ((unsigned)attr->symbolMode > RESOLVE_DELAY_DWARF)
		kp_warn(LIBPERF_WARN_IGNORED, "symbolMode %d is unknown: NO_SYMBOL_RESOLVE is used",
			(int)attr->symbolMode);
	if (type != SPE_SAMPLING && (attr->dataFilter || attr->evFilter || attr->minLatency))
		kp_warn(LIBPERF_WARN_IGNORED,
			"dataFilter, evFilter and minLatency are ignored: they require a task of "
			"SPE_SAMPLING");
	if (type != COUNTING && attr->includeNewFork)
		kp_warn(LIBPERF_WARN_IGNORED,
			"includeNewFork is ignored: it requires a task of COUNTING");
}
