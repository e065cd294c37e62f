/* SPDX-License-Identifier: MIT */
/*
 * The files of enum ProcSource, each parsed by one function into an array of its entries.
 *
 * Formats: proc(5), Documentation/filesystems/proc.rst of the kernel.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "handles.h"
#include "pmu.h"
#include "proc.h"

struct source {
	const char *path; /* with %d for the process */
	size_t size;      /* of an entry */
	proc_line_fn *line;
	proc_file_fn *file;
	proc_folder_fn *folder;
};

#define LINES(path, type, fn)                                                                      \
	{                                                                                          \
		path, sizeof(struct type), fn, NULL, NULL                                          \
	}
#define FILES(path, type, fn)                                                                      \
	{                                                                                          \
		path, sizeof(struct type), NULL, fn, NULL                                          \
	}
#define FOLDER(path, type, fn)                                                                     \
	{                                                                                          \
		path, sizeof(struct type), NULL, NULL, fn                                          \
	}

static const struct source sources[MAX_PROC_SOURCE] = {
	[PROC_STAT] = LINES("/proc/stat", ProcStatEntry, proc_stat_line),
	[PROC_CPUINFO] = LINES("/proc/cpuinfo", ProcCpuinfoEntry, proc_record_line),
	[PROC_MEMINFO] = LINES("/proc/meminfo", ProcMeminfoEntry, proc_meminfo_line),
	[PROC_LOADAVG] = LINES("/proc/loadavg", ProcLoadavgEntry, proc_loadavg_line),
	[PROC_VMSTAT] = LINES("/proc/vmstat", ProcVmstatEntry, proc_vmstat_line),
	[PROC_NET_DEV] = LINES("/proc/net/dev", ProcNetDevEntry, proc_net_dev_line),
	[PROC_DISKSTATS] = LINES("/proc/diskstats", ProcDiskstatsEntry, proc_diskstats_line),
	[PROC_UPTIME] = LINES("/proc/uptime", ProcUptimeEntry, proc_uptime_line),
	[PROC_MOUNTS] = LINES("/proc/mounts", ProcMountsEntry, proc_mounts_line),
	[PROC_SOFTIRQS] = LINES("/proc/softirqs", ProcSoftirqsEntry, proc_softirqs_line),
	[PROC_SLABINFO] = LINES("/proc/slabinfo", ProcSlabinfoEntry, proc_slabinfo_line),
	[PROC_SCHEDSTAT] = LINES("/proc/schedstat", ProcSchedstatEntry, proc_schedstat_line),
	[PROC_INTERRUPTS] = LINES("/proc/interrupts", ProcInterruptsEntry, proc_interrupts_line),
	[PROC_IRQ_AFFINITY] =
		LINES("/proc/irq/default_smp_affinity", ProcIrqAffinityEntry, proc_text_line),
	[PROC_LOCKS] = LINES("/proc/locks", ProcLocksEntry, proc_locks_line),
	[PROC_ZONEINFO] = LINES("/proc/zoneinfo", ProcZoneinfoEntry, proc_zoneinfo_line),
	[PROC_BUDDYINFO] = LINES("/proc/buddyinfo", ProcBuddyinfoEntry, proc_buddyinfo_line),
	[PROC_NET_SOCKSTAT] = LINES("/proc/net/sockstat", ProcNetSockstatEntry, proc_sockstat_line),
	[PROC_NET_NETSTAT] = LINES("/proc/net/netstat", ProcNetNetstatEntry, proc_netstat_line),
	[PROC_NET_ARP] = LINES("/proc/net/arp", ProcNetArpEntry, proc_arp_line),
	[PROC_VERSION] = LINES("/proc/version", ProcVersionEntry, proc_text_line),
	[PROC_MODULES] = LINES("/proc/modules", ProcModulesEntry, proc_modules_line),
	[PROC_FILESYSTEMS] =
		LINES("/proc/filesystems", ProcFilesystemsEntry, proc_filesystems_line),
	[PROC_SCSI] = LINES("/proc/scsi/scsi", ProcScsiEntry, proc_scsi_line),
	[PROC_PRESSURE_CPU] = LINES("/proc/pressure/cpu", ProcPressureEntry, proc_pressure_line),
	[PROC_PRESSURE_IO] = LINES("/proc/pressure/io", ProcPressureEntry, proc_pressure_line),
	[PROC_SYS_KERNEL] = FOLDER("/proc/sys/kernel", ProcSysDirEntry, proc_settings_folder),
	[PROC_SYS_FS] = FOLDER("/proc/sys/fs", ProcSysDirEntry, proc_settings_folder),
	[PROC_SYS_VM] = FOLDER("/proc/sys/vm", ProcSysDirEntry, proc_settings_folder),
	[PROC_SYS_NET_IPV4] = FOLDER("/proc/sys/net/ipv4", ProcSysDirEntry, proc_settings_folder),
	[PROC_SYS_NET_CORE] = FOLDER("/proc/sys/net/core", ProcSysDirEntry, proc_settings_folder),
	[PROC_PID_STAT] = LINES("/proc/%d/stat", ProcPidStatEntry, proc_pid_stat_line),
	[PROC_PID_STATM] = LINES("/proc/%d/statm", ProcPidStatmEntry, proc_statm_line),
	[PROC_PID_STATUS] = LINES("/proc/%d/status", ProcPidStatusEntry, proc_rollup_line),
	[PROC_PID_IO] = LINES("/proc/%d/io", ProcPidIoEntry, proc_io_line),
	[PROC_PID_SMAPS_ROLLUP] =
		LINES("/proc/%d/smaps_rollup", ProcPidSmapsRollupEntry, proc_rollup_line),
	[PROC_PID_FD] = FOLDER("/proc/%d/fd", ProcPidFdEntry, proc_fd_folder),
	[PROC_PID_NUMA_MAPS] =
		LINES("/proc/%d/numa_maps", ProcPidNumaMapsEntry, proc_numa_maps_line),
	[PROC_PID_SMAPS] = LINES("/proc/%d/smaps", ProcPidSmapsEntry, proc_smaps_line),
	[PROC_PID_ENVIRON] = FILES("/proc/%d/environ", ProcPidEnvironEntry, proc_environ_file),
	[PROC_PID_CMDLINE] = FILES("/proc/%d/cmdline", ProcPidCmdlineEntry, proc_cmdline_file),
	[PROC_PID_LIMITS] = LINES("/proc/%d/limits", ProcPidLimitsEntry, proc_limits_line),
	[PROC_PID_STACK] = LINES("/proc/%d/stack", ProcPidStackEntry, proc_stack_line),
	[PROC_PID_WCHAN] = LINES("/proc/%d/wchan", ProcPidWchanEntry, proc_text_line),
	[PROC_PID_MAPS] = LINES("/proc/%d/maps", ProcPidMapsEntry, proc_maps_line),
	[PROC_PID_COMM] = LINES("/proc/%d/comm", ProcPidCommEntry, proc_text_line),
	[PROC_PID_TASK_STAT] = FOLDER("/proc/%d/task", ProcPidTaskStatEntry, proc_task_folder),
};

/* The last entry of files with an empty line at their end has nothing. */
static void drop_empty(enum ProcSource source, struct proc_parser *p)
{
	const struct ProcCpuinfoEntry *e = proc_last_entry(p);

	if (source == PROC_CPUINFO && e && e->numFields == 0)
		p->n--;
}

/* What the caller has: the public struct, and its memory. */
struct holder {
	struct proc_block *blocks;
	void *entries;
};

/* Returns 0 or a negative errno. */
static int read_source(enum ProcSource number, int pid, struct ProcData *ret, struct holder *holder)
{
	const struct source *source = &sources[number];
	struct proc_parser p = {.entry_size = source->size, .pid = pid};
	char path[PATH_MAX];
	FILE *file = NULL;

	snprintf(path, sizeof(path), source->path, pid);
	if (access(path, R_OK) < 0)
		return -errno;
	if (source->folder) {
		source->folder(&p, path);
	} else {
		file = fopen(path, "re");
		if (!file)
			return -errno;
		if (source->line)
			proc_each_line(&p, file, source->line);
		else
			source->file(&p, file);
		fclose(file);
	}
	drop_empty(number, &p);
	if (p.failed) {
		proc_blocks_free(p.blocks);
		free(p.entries);
		return -ENOMEM;
	}
	*ret = (struct ProcData){
		.source = number, .pid = pid, .numEntries = p.n, .filePath = proc_text(&p, path)};
	ret->stat = p.entries;
	*holder = (struct holder){.blocks = p.blocks, .entries = p.entries};
	return 0;
}

/* The array has the memory of its elements behind it. */
static struct holder *holders_of(struct ProcData *data)
{
	return (struct holder *)(data + MAX_PROC_SOURCE);
}

static bool is_of_process(enum ProcSource source)
{
	return source >= PROC_PID_STAT;
}

/* path: may have %d for the pid. */
static void warn_left_out(const char *path, int pid, int error)
{
	char name[PATH_MAX];

	snprintf(name, sizeof(name), path, pid);
	kp_warn(LIBPERF_WARN_FAIL_GET_PROC, "%s is left out: %s", name, strerror(-error));
}

int ProcDataRead(int pid, struct ProcData **data, unsigned *n)
{
	struct ProcData *all;
	char path[32];

	kp_begin();
	if (!data || !n)
		return kp_fail(
			LIBPERF_ERR_PROC_DATA_NULL, "ProcDataRead(): data or numData is NULL");
	*data = NULL;
	*n = 0;
	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (pid < 0 || (pid > 0 && access(path, F_OK) < 0))
		return kp_fail(LIBPERF_ERR_INVALID_PID, "there is no process %d", pid);
	all = calloc(1, MAX_PROC_SOURCE * (sizeof(*all) + sizeof(struct holder)));
	if (!all || !kp_handle_add(all)) {
		free(all);
		return kp_fail(COMMON_ERR_NOMEM, "out of memory");
	}
	for (int source = 0; source < MAX_PROC_SOURCE; source++) {
		struct ProcData one;
		int r;

		if (pid == 0 && is_of_process((enum ProcSource)source))
			continue;
		r = read_source((enum ProcSource)source, pid, &one, &holders_of(all)[*n]);
		if (r == 0)
			all[(*n)++] = one;
		else
			warn_left_out(sources[source].path, pid, r);
	}
	*data = all;
	return SUCCESS;
}

void ProcDataFree(struct ProcData *data, unsigned n)
{
	if (!data)
		return;
	if (!kp_handle_remove(data)) {
		kp_fail(LIBPERF_ERR_INVALID_PMU_DATA,
			"ProcDataFree(): this is not data of ProcDataRead(), or it is already "
			"freed");
		return;
	}
	for (unsigned i = 0; i < n && i < MAX_PROC_SOURCE; i++) {
		proc_blocks_free(holders_of(data)[i].blocks);
		free(holders_of(data)[i].entries);
	}
	free(data);
}
