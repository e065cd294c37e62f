/* SPDX-License-Identifier: MIT */
/* Findings about control groups: their limits, and waits for memory. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "overview/findings.h"

enum {
	STOPPED = 5,        /* percent of the periods */
	STALLED = 10,       /* percent of the time */
	PERIODS_LEAST = 5,  /* in which it has been stopped */
	PROCESSES_MAX = 64, /* whose groups are read */
	GROUPS_MAX = 64,
};

/* Groups whose limits have been read: many processes are in a few. */
struct groups {
	uint64_t at[GROUPS_MAX]; /* hashes of /proc/PID/cgroup */
	size_t n;
};

/* Whether the process has other groups than the one before it. */
static bool is_new_group(struct groups *groups, pid_t pid)
{
	uint64_t hash = 14695981039346656037U; /* FNV-1a */
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n; i++)
		hash = (hash ^ (unsigned char)text[i]) * 1099511628211U;
	for (size_t i = 0; i < groups->n; i++)
		if (groups->at[i] == hash)
			return false;
	if (groups->n < GROUPS_MAX)
		groups->at[groups->n++] = hash;
	return n > 0;
}

static void add_limit(struct overview_groups *all, pid_t pid)
{
	struct cpu_limit limit;

	if (all->n_limits == OVERVIEW_LIMITS_MAX || !cgroups_cpu_limit(pid, &limit))
		return;
	for (size_t i = 0; i < all->n_limits; i++)
		if (!strcmp(all->limits[i].group, limit.group))
			return;
	all->limits[all->n_limits++] = limit;
}

static const struct group_pressure *pressure_of(
	const struct overview_groups *all, const char *group)
{
	for (size_t i = 0; i < all->n_pressures; i++)
		if (!strcmp(all->pressures[i].group, group))
			return &all->pressures[i];
	return NULL;
}

static void add_group(struct overview_groups *all, struct groups *groups, pid_t pid)
{
	struct group_pressure pressure;

	if (!is_new_group(groups, pid))
		return;
	add_limit(all, pid);
	if (all->n_pressures < OVERVIEW_LIMITS_MAX && cgroups_pressure(pid, &pressure) &&
		!pressure_of(all, pressure.group))
		all->pressures[all->n_pressures++] = pressure;
}

void overview_read_groups(const struct usages *usages, struct overview_groups *ret_groups)
{
	struct groups groups = {.n = 0};
	size_t n = 0;

	*ret_groups = (struct overview_groups){.time = usages->time};
	add_group(ret_groups, &groups, getpid()); /* a command begins in the same group */
	for (size_t i = 0; i < usages->n && n < PROCESSES_MAX; i++) {
		if (!usages->at[i].is_selected)
			continue;
		add_group(ret_groups, &groups, usages->at[i].pid);
		n++;
	}
}

/* What happened since the start. False: the group has not been stopped in this time. */
static bool limit_since(const struct overview_groups *began, pid_t pid, struct cpu_limit *limit)
{
	if (!cgroups_cpu_limit(pid, limit))
		return false;
	for (size_t i = 0; i < began->n_limits; i++) {
		if (strcmp(began->limits[i].group, limit->group) != 0)
			continue;
		limit->periods -= began->limits[i].periods;
		limit->throttled -= began->limits[i].throttled;
	}
	return limit->throttled >= PERIODS_LEAST;
}

/* Of the most active processes. */
static void check_limits(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_process *process = NULL;
	struct cpu_limit worst = {.throttled = 0}, limit;
	struct groups groups = {.n = 0};
	struct overview_finding *finding;

	for (size_t i = 0; i < sums->n_processes && i < PROCESSES_MAX; i++) {
		pid_t pid = sums->processes[i].pid;

		if (!is_new_group(&groups, pid > 0 ? pid : getpid()) ||
			!limit_since(
				&sums->overview->groups_began, pid > 0 ? pid : getpid(), &limit) ||
			limit.throttled <= worst.throttled)
			continue;
		worst = limit;
		process = &sums->processes[i];
	}
	finding = process ? overview_add_finding(findings, "CPU limit",
				    overview_percent(worst.throttled, worst.periods), STOPPED, "%")
			  : NULL;
	if (!finding)
		return;
	overview_say(finding,
		"control group %s may use %.2f CPUs, and was stopped in %llu of %llu periods, "
		"because it had used them; its most active process is %s",
		worst.group, worst.cpus, (unsigned long long)worst.throttled,
		(unsigned long long)worst.periods, overview_name_of(process, false).text);
	overview_set_process_command(findings, finding, "profile -g", process->pid);
}

/* Of the most active processes: the group whose tasks waited longest for memory. */
static void check_memory(struct overview_findings *findings)
{
	const struct overview_sums *sums = findings->sums;
	const struct overview_groups *began = &sums->overview->groups_began;
	const struct overview_process *process = NULL;
	struct group_pressure worst = {.memory = 0}, now;
	const struct group_pressure *before;
	struct groups groups = {.n = 0};
	struct overview_finding *finding;
	char text[256];

	for (size_t i = 0; i < sums->n_processes && i < PROCESSES_MAX; i++) {
		pid_t pid = sums->processes[i].pid;

		if (pid <= 0 || !is_new_group(&groups, pid) || !cgroups_pressure(pid, &now))
			continue;
		before = pressure_of(began, now.group);
		if (!before || now.memory <= before->memory + worst.memory)
			continue;
		worst = now;
		worst.memory -= before->memory;
		process = &sums->processes[i];
	}
	finding = process ? overview_add_finding(findings, "memory pressure",
				    overview_percent(1000 * worst.memory,
					    sums->overview->usage.now.time - began->time),
				    STALLED, "%")
			  : NULL;
	if (!finding)
		return;
	overview_say(finding,
		"tasks of control group %s, such as %s, wait until memory is reclaimed or read "
		"back",
		worst.group, overview_name_of(process, false).text);
	if (cgroups_memory_is_full(process->pid, text, sizeof(text)))
		overview_say(finding, "; %s", text);
	overview_set_process_command(findings, finding, "drsnoop", process->pid);
}

void overview_check_groups(struct overview_findings *findings)
{
	if (!attar_run_is_live(findings->sums->run))
		return;
	check_limits(findings);
	check_memory(findings);
}
