/* SPDX-License-Identifier: MIT */
#include "lib/system_stat.h"

#include <stdio.h>
#include <string.h>

enum { TIMES = 8, STEAL = 7 }; /* of the line "cpu"; guest times are in user and nice */

static void read_cpu(struct system_stat *stat)
{
	unsigned long long times[TIMES] = {0};
	FILE *file = fopen("/proc/stat", "re");

	if (!file)
		return;
	if (fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &times[0], &times[1],
		    &times[2], &times[3], &times[4], &times[5], &times[6], &times[7]) >= 4)
		stat->is_known = true;
	fclose(file);
	for (int i = 0; i < TIMES; i++)
		stat->cpu_ticks += times[i];
	stat->steal_ticks = times[STEAL];
}

/* Linux 4.20 with CONFIG_PSI. */
static void read_pressure(struct system_stat *stat)
{
	FILE *file = fopen("/proc/pressure/memory", "re");
	unsigned long long total = 0;

	if (!file)
		return;
	if (fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &total) == 1)
		stat->memory_stall = total;
	fclose(file);
}

/* Linux 4.13. */
static void read_oom_kills(struct system_stat *stat)
{
	FILE *file = fopen("/proc/vmstat", "re");
	unsigned long long value;
	char name[64];

	if (!file)
		return;
	while (fscanf(file, "%63s %llu", name, &value) == 2)
		if (!strcmp(name, "oom_kill"))
			stat->oom_kills = value;
	fclose(file);
}

void system_stat_read(struct system_stat *ret_stat)
{
	*ret_stat = (struct system_stat){0};
	read_cpu(ret_stat);
	read_pressure(ret_stat);
	read_oom_kills(ret_stat);
}

struct system_change system_stat_change(
	const struct system_stat *from, const struct system_stat *to, uint64_t elapsed_ns)
{
	uint64_t ticks = to->cpu_ticks - from->cpu_ticks;
	struct system_change change = {0};

	if (!from->is_known || !to->is_known || !elapsed_ns)
		return change;
	if (ticks && to->cpu_ticks > from->cpu_ticks && to->steal_ticks > from->steal_ticks)
		change.steal = (double)(to->steal_ticks - from->steal_ticks) / (double)ticks;
	if (to->oom_kills > from->oom_kills)
		change.oom_kills = to->oom_kills - from->oom_kills;
	if (to->memory_stall > from->memory_stall)
		change.memory =
			1000 * (double)(to->memory_stall - from->memory_stall) / (double)elapsed_ns;
	return change;
}
