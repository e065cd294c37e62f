/* SPDX-License-Identifier: MIT */
#include "lib/system_stat.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	TIMES = 8,
	IDLE = 3,
	IOWAIT = 4,
	IRQ = 5,
	SOFTIRQ = 6,
	STEAL = 7,
	CPUS_MAX = 4096,
}; /* of the line "cpu"; guest times are in user and nice */

#define CLOCKS "/sys/devices/system/clocksource/clocksource0/"

static FILE *open_below(const char *root, const char *path)
{
	char text[PATH_MAX];

	return (size_t)snprintf(text, sizeof(text), "%s%s", root, path) < sizeof(text)
		       ? fopen(text, "re")
		       : NULL;
}

static void read_cpu(const char *root, struct system_stat *stat)
{
	unsigned long long times[TIMES] = {0};
	FILE *file = open_below(root, "/proc/stat");

	if (!file)
		return;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &times[0], &times[1],
		    &times[2], &times[3], &times[4], &times[5], &times[6], &times[7]) >= 4)
		stat->is_known = true;
	fclose(file);
	for (int i = 0; i < TIMES; i++)
		stat->cpu_ticks += times[i];
	stat->steal_ticks = times[STEAL];
	stat->idle_ticks = times[IDLE] + times[IOWAIT];
	stat->irq_ticks = times[IRQ] + times[SOFTIRQ];
}

/* Linux 4.20 with CONFIG_PSI. */
static void read_pressure(const char *root, struct system_stat *stat)
{
	FILE *file = open_below(root, "/proc/pressure/memory");
	unsigned long long total = 0;

	if (!file)
		return;
	if (fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &total) == 1)
		stat->memory_stall = total;
	fclose(file);
}

/* oom_kill: Linux 4.13. */
static void read_memory(const char *root, struct system_stat *stat)
{
	FILE *file = open_below(root, "/proc/vmstat");
	unsigned long long value;
	char name[64];

	if (!file)
		return;
	while (fscanf(file, "%63s %llu", name, &value) == 2) {
		if (!strcmp(name, "oom_kill"))
			stat->oom_kills = value;
		if (!strcmp(name, "pswpin"))
			stat->swap_ins = value;
		if (!strcmp(name, "pswpout"))
			stat->swap_outs = value;
	}
	fclose(file);
}

/* A line for each CPU: packets, and those that were dropped. */
static void read_drops(const char *root, struct system_stat *stat)
{
	FILE *file = open_below(root, "/proc/net/softnet_stat");
	char line[256];
	unsigned drops;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%*x %x", &drops) == 1)
			stat->drops += drops;
	if (file)
		fclose(file);
}

/* x86 with its driver; virtual machines have none. */
static void read_heat(const char *root, struct system_stat *stat)
{
	char path[128];
	unsigned long long n;

	for (unsigned cpu = 0; cpu < CPUS_MAX; cpu++) {
		FILE *file;

		snprintf(path, sizeof(path),
			"/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count", cpu);
		file = open_below(root, path);
		if (!file)
			return;
		if (fscanf(file, "%llu", &n) == 1)
			stat->hot += n;
		fclose(file);
	}
}

void system_stat_read(const char *root, struct system_stat *ret_stat)
{
	*ret_stat = (struct system_stat){0};
	read_cpu(root, ret_stat);
	read_pressure(root, ret_stat);
	read_memory(root, ret_stat);
	read_drops(root, ret_stat);
	read_heat(root, ret_stat);
}

static bool read_line(const char *root, const char *path, char *ret_line, int size)
{
	FILE *file = open_below(root, path);
	bool is_read = file && fgets(ret_line, size, file);

	if (file)
		fclose(file);
	if (is_read)
		ret_line[strcspn(ret_line, "\n")] = '\0';
	return is_read && *ret_line;
}

bool system_clock_is_slow(const char *root, char *ret_text, size_t size)
{
	static const char *const fast[] = {
		"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
	char current[64], all[128];

	if (!read_line(root, CLOCKS "current_clocksource", current, sizeof(current)) ||
		!read_line(root, CLOCKS "available_clocksource", all, sizeof(all)))
		return false;
	for (size_t i = 0; i < sizeof(fast) / sizeof(*fast); i++)
		if (!strcmp(current, fast[i]))
			return false;
	snprintf(ret_text, size, "%s (of %.*s)", current,
		(int)(strlen(all) - (all[strlen(all) - 1] == ' ')), all);
	return true;
}

/* 0 if a counter has begun again. */
static uint64_t grown(uint64_t from, uint64_t to)
{
	return to > from ? to - from : 0;
}

static double cpus_of(uint64_t ticks, uint64_t elapsed_ns)
{
	return 1e9 * (double)ticks / (double)sysconf(_SC_CLK_TCK) / (double)elapsed_ns;
}

struct system_change system_stat_change(
	const struct system_stat *from, const struct system_stat *to, uint64_t elapsed_ns)
{
	uint64_t ticks = to->cpu_ticks - from->cpu_ticks;
	struct system_change change = {0};
	uint64_t idle = to->idle_ticks - from->idle_ticks;

	if (!from->is_known || !to->is_known || !elapsed_ns)
		return change;
	if (ticks && to->cpu_ticks > from->cpu_ticks && to->steal_ticks > from->steal_ticks)
		change.steal = (double)(to->steal_ticks - from->steal_ticks) / (double)ticks;
	if (ticks > idle)
		change.busy = cpus_of(ticks - idle, elapsed_ns);
	change.irqs = cpus_of(grown(from->irq_ticks, to->irq_ticks), elapsed_ns);
	change.stolen = cpus_of(grown(from->steal_ticks, to->steal_ticks), elapsed_ns);
	change.taken = change.irqs + change.stolen;
	change.oom_kills = grown(from->oom_kills, to->oom_kills);
	change.swap_ins = grown(from->swap_ins, to->swap_ins);
	change.swap_outs = grown(from->swap_outs, to->swap_outs);
	change.drops = grown(from->drops, to->drops);
	change.hot = grown(from->hot, to->hot);
	if (to->memory_stall > from->memory_stall)
		change.memory =
			1000 * (double)(to->memory_stall - from->memory_stall) / (double)elapsed_ns;
	return change;
}
