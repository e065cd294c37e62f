/* SPDX-License-Identifier: MIT */
/* Findings about the whole system. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "overview/file_systems.h"
#include "overview/findings.h"

enum {
	STEAL = 10,  /* percent of the CPU time */
	MEMORY = 10, /* percent of the time */
	SWAPS = 100, /* pages a second */
	DROPS = 1,   /* packets a second */
	DROPS_LEAST = 5,
	FULL = 95, /* percent of a file system */
	CLOCK = 5, /* percent of the CPU time */
};

/* Whether one of the processes that are watched is missing, as one that was killed is. */
static bool has_lost_process(const struct overview_sums *sums)
{
	const struct usage_readings *usage = &sums->overview->usage;

	for (size_t i = 0; i < usage->began.n; i++)
		if (usage->began.at[i].is_selected &&
			!usages_same(&usage->now, &usage->began.at[i]))
			return true;
	return false;
}

/* The reason why processes are missing afterwards. */
static void check_oom_kills(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	bool is_of_others =
		sums->overview->has_selection && sums->is_service && !has_lost_process(sums);
	uint64_t kills = is_of_others ? 0 : sums->system.oom_kills;
	struct overview_finding *finding =
		overview_add_finding(findings, "OOM kill", (double)kills, 1, "");

	if (!finding)
		return;
	finding->is_stuck = true;
	snprintf(finding->value_text, sizeof(finding->value_text), "%llu process%s",
		(unsigned long long)kills, kills == 1 ? "" : "es");
	snprintf(finding->limit_text, sizeof(finding->limit_text), "1");
	overview_say(finding,
		"of the system killed by the kernel, because the memory of the machine or of a "
		"control group was used up: dmesg names %s",
		kills == 1 ? "it" : "them");
	if (*sums->overview->log.killed)
		overview_say(finding, "; the last one was process %s", sums->overview->log.killed);
	overview_set_system_command(findings, finding, &(struct overview_next){"oomkill"});
}

static void check_rates(struct overview_findings *findings)
{
	static const struct overview_rate
		swap = {"swap", "pages of memory that were needed again were read from swap space",
			.limit = SWAPS, .is_of_system = true, .next = {"swapin"}},
		drops = {"dropped packets",
			"received packets were dropped, because the queue of a CPU was full "
			"(net.core.netdev_max_backlog)",
			.limit = DROPS, .least = DROPS_LEAST, .is_of_system = true,
			.next = {"softirqs"}};
	const struct system_change *system = &findings->sums->system;
	struct overview_finding *finding = overview_check_rate(findings, system->swap_ins, &swap);

	if (finding)
		overview_say(finding, "; %llu were written to it",
			(unsigned long long)system->swap_outs);
	overview_check_rate(findings, system->drops, &drops);
}

static void check_heat(struct overview_findings *findings)
{
	uint64_t times = findings->sums->system.hot;
	struct overview_finding *finding =
		overview_add_finding(findings, "thermal throttling", (double)times, 1, "");

	if (!finding)
		return;
	overview_say(finding,
		"times a CPU was made slower, because it was too hot: its speed is no measure now");
	snprintf(finding->command, COMMAND_BYTES,
		"grep . /sys/devices/system/cpu/cpu*/thermal_throttle/core_throttle_count");
}

/* Whether a shell takes it as one word. */
static bool is_plain(const char *path)
{
	for (; *path; path++)
		if (!isalnum((unsigned char)*path) && !strchr("/._-", *path))
			return false;
	return true;
}

static void check_file_systems(struct overview_findings *findings)
{
	struct file_system fullest;
	struct overview_finding *finding;
	bool is_inodes;

	/* of selected processes, calls that fail with ENOSPC show it */
	if (findings->sums->overview->has_selection ||
		!file_systems_fullest("/proc/self/mounts", &fullest))
		return;
	is_inodes = fullest.inodes_used > fullest.used;
	finding = overview_add_finding(findings, "full file system",
		is_inodes ? fullest.inodes_used : fullest.used, FULL, "%");
	if (!finding)
		return;
	overview_say(
		finding, "of the %s of %s are used", is_inodes ? "inodes" : "space", fullest.path);
	if (is_plain(fullest.path))
		snprintf(finding->command, COMMAND_BYTES, "du -x -d 2%s %s | sort -n | tail",
			is_inodes ? " --inodes" : "", fullest.path);
	else
		snprintf(finding->command, COMMAND_BYTES, "df%s", is_inodes ? " -i" : "");
}

/* Programs read the time with a system call, each of which reads a slow device. */
static void check_clock(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	struct overview_finding *finding;
	struct attar_keyrow *row = NULL;
	uint64_t clock = 0, all = 0;
	char text[256];

	while ((row = attar_keytable_next(sums->overview->calls, row))) {
		const char *name = ((const struct overview_call *)row->key)->name;

		if (!strcmp(name, "clock_gettime") || !strcmp(name, "gettimeofday"))
			clock += attar_keyrow_sums(row, sums->scope)->sums[CALL_RUNS];
	}
	for (int part = 0; part <= PART_UNDIVIDED; part++)
		all += sums->parts[part];
	if (overview_percent(clock, all) < CLOCK || !system_clock_is_slow("", text, sizeof(text)))
		return;
	finding = overview_add_finding(
		findings, "clock source", overview_percent(clock, all), CLOCK, "%");
	if (!finding)
		return;
	overview_say(finding,
		"of the CPU time is spent to read the time, by system calls, because the kernel "
		"uses the clock source %s; its log says why",
		text);
	snprintf(finding->command, COMMAND_BYTES, "dmesg | grep -i -e clocksource -e tsc");
}

static void check_log(struct overview_findings *findings)
{
	const struct kernel_log *log = &findings->sums->overview->log;
	struct overview_finding *finding =
		overview_add_finding(findings, "kernel log", (double)log->errors, 1, "");

	if (!finding)
		return;
	overview_say(finding, "message%s about errors; the first one: %s",
		log->errors == 1 ? "" : "s", log->error);
	snprintf(finding->command, COMMAND_BYTES,
		"dmesg --level=emerg,alert,crit,err,warn | tail -n 20");
}

static void check_machine(struct overview_findings *findings)
{
	if (!attar_run_is_live(findings->sums->run))
		return;
	check_rates(findings);
	check_heat(findings);
	check_file_systems(findings);
	check_clock(findings);
	check_log(findings);
}

void overview_check_system(struct overview_findings *findings)
{
	const struct system_change *system = &findings->sums->system;
	struct overview_finding *finding =
		overview_add_finding(findings, "steal", 100 * system->steal, STEAL, "%");

	check_machine(findings);
	check_oom_kills(findings);
	if (finding) {
		overview_say(finding,
			"the host of this virtual machine runs something else on its CPUs");
		overview_set_system_command(
			findings, finding, &(struct overview_next){"cpu-util -i 1s"});
	}
	finding = overview_add_finding(
		findings, "memory pressure", 100 * system->memory, MEMORY, "%");
	if (!finding)
		return;
	overview_say(finding, "tasks wait until memory is reclaimed or swapped in");
	overview_set_system_command(findings, finding, &(struct overview_next){"drsnoop"});
}
