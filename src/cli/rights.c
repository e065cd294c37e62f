/* SPDX-License-Identifier: MIT */
#include "cli/rights.h"

#include <sys/prctl.h>

#include "attar/builtin.h"
#include "attar/count.h"
#include "attar/event.h"
#include "attar/profiler.h"
#include "base/base.h"
#include "base/file.h"
#include "base/rights.h"

/* Capabilities that profilers use, and for what. All others are given up at the start. */
static const int used[] = {
	CAP_PERFMON,            /* events of the kernel and of all processes, also of later tasks */
	CAP_SYS_PTRACE,         /* memory, mappings and files of processes */
	CAP_CHECKPOINT_RESTORE, /* /proc/PID/map_files */
	CAP_SYSLOG,             /* addresses in /proc/kallsyms */
	CAP_DAC_READ_SEARCH,    /* tracefs, binaries of others */
	CAP_BPF,                /* filters in the kernel */
	CAP_SYS_ADMIN,          /* mounting tracefs, uprobes, kernels before 5.9 */
	CAP_IPC_LOCK,           /* rings larger than perf_event_mlock_kb */
	CAP_SYS_NICE,           /* the former priority after a time of low priority */
	CAP_KILL,               /* the command, if it has changed its user */
	CAP_NET_BIND_SERVICE,   /* --listen and --push on ports below 1024 */
};

/*
 * With these, readers of files (symbol/reader.h), which a run starts when it needs them, get a user
 * of their own. They are not in effect in attar.
 */
static const uint64_t for_readers = RIGHT(CAP_SETUID) | RIGHT(CAP_SETGID);

static void give_up(uint64_t unused, bool for_good)
{
	rights_drop(unused & ~for_readers, for_good);
	rights_drop(unused & for_readers, for_good && geteuid() != 0);
}

static uint64_t used_by(const struct attar_profiler *profiler)
{
	uint64_t set = RIGHTS_FOR_FILES;

	for (size_t i = 0; i < ARRAY_SIZE(used); i++)
		set |= RIGHT(used[i]);
	if (profiler->uses & ATTAR_READS_KERNEL_MEMORY)
		set |= RIGHT(CAP_SYS_RAWIO);
	if (profiler->uses & ATTAR_READS_SOURCES)
		set |= for_readers;
	return set;
}

/* Probes of programs that start or register later, and probes of each run of a command. */
static bool opens_later(const struct attar_run *run)
{
	for (uint32_t i = 0; i < attar_run_sources(run); i++) {
		const struct attar_event_spec *spec = attar_run_source_spec(run, i);

		if (spec && (spec->kind == ATTAR_EVENT_USER || spec->kind == ATTAR_EVENT_PROBE))
			return true;
	}
	return false;
}

/*
 * A program that root executes has all rights again; but not with no_new_privs, as in containers
 * that forbid to gain privileges.
 */
static bool are_passed_on(bool executes)
{
	return executes && prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 1;
}

void rights_begin(const struct attar_run *run, bool has_command, bool allows_exec)
{
	bool executes = has_command || allows_exec;

	if (!are_passed_on(executes))
		give_up(~used_by(attar_run_profiler(run)), !executes);
}

/*
 * Kernels of Debian and Ubuntu ask for CAP_SYS_ADMIN to open events if perf_event_paranoid is above
 * 2, and events are opened later on CPUs that come online.
 */
static bool needs_admin(void)
{
	int64_t paranoid;

	return file_read_i64("/proc/sys/kernel/perf_event_paranoid", &paranoid) < 0 || paranoid > 2;
}

/* The command has been forked, unless it runs again. */
void rights_opened(const struct attar_run *run, bool has_command, bool allows_exec)
{
	const struct attar_profiler *profiler = attar_run_profiler(run);
	bool executes = allows_exec || run_rounds(run) > 1;
	uint64_t unused = ~used_by(profiler);

	if (rights_has(CAP_CHECKPOINT_RESTORE) && !opens_later(run) && !needs_admin() &&
		!(profiler->uses & ATTAR_READS_KERNEL_STACKS))
		unused |= RIGHT(CAP_SYS_ADMIN);
	if (!are_passed_on(executes))
		give_up(unused, !executes);
	if (!has_command && !allows_exec)
		prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L);
}
