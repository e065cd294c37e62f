/* SPDX-License-Identifier: MIT */
#include "lib/cgroups.h"

#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>

bool cgroups_hierarchy(const char *controller, char *ret_path, size_t size, bool *ret_v1)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	const struct mntent *mount;
	bool is_found = false;

	*ret_v1 = false;
	while (mounts && !*ret_v1 && (mount = getmntent(mounts))) {
		*ret_v1 = !strcmp(mount->mnt_type, "cgroup") && hasmntopt(mount, controller);
		if (!*ret_v1 && (is_found || strcmp(mount->mnt_type, "cgroup2") != 0))
			continue;
		snprintf(ret_path, size, "%s", mount->mnt_dir);
		is_found = true;
	}
	if (mounts)
		endmntent(mounts);
	return is_found;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == n && !strncmp(list, word, n))
			return true;
	return false;
}

/* "4:cpu,cpuacct:/group", or "0::/group" */
static bool find_group(pid_t pid, bool is_v1, char group[PATH_MAX])
{
	char path[64], line[PATH_MAX + 256];
	bool is_found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	while (file && !is_found && fgets(line, sizeof(line), file)) {
		char *list = strchr(line, ':'), *name = list ? strchr(list + 1, ':') : NULL;

		if (!name)
			continue;
		*name++ = '\0';
		name[strcspn(name, "\n")] = '\0';
		is_found = *name == '/' && (is_v1 ? has_word(list + 1, "cpu") : !list[1]);
		snprintf(group, PATH_MAX, "%s", name);
	}
	if (file)
		fclose(file);
	return is_found;
}

static FILE *open_file(const char *hierarchy, const char *group, const char *name)
{
	char path[2 * PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s%s/%s", hierarchy, group, name);
	return fopen(path, "re");
}

static long long read_number(const char *hierarchy, const char *group, const char *name)
{
	FILE *file = open_file(hierarchy, group, name);
	long long value = -1;

	if (file && fscanf(file, "%lld", &value) != 1)
		value = -1;
	if (file)
		fclose(file);
	return value;
}

/* us in each period; -1: no limit */
static void read_quota(const char *hierarchy, const char *group, bool is_v1, long long *ret_quota,
	long long *ret_period)
{
	FILE *file;

	if (is_v1) {
		*ret_quota = read_number(hierarchy, group, "cpu.cfs_quota_us");
		*ret_period = read_number(hierarchy, group, "cpu.cfs_period_us");
		return;
	}
	file = open_file(hierarchy, group, "cpu.max"); /* "max 100000" */
	if (!file || fscanf(file, "%lld %lld", ret_quota, ret_period) != 2)
		*ret_quota = -1;
	if (file)
		fclose(file);
}

static bool read_limit(
	const char *hierarchy, const char *group, bool is_v1, struct cpu_limit *ret_limit)
{
	long long quota = -1, period = 0;
	unsigned long long value;
	char name[64];
	FILE *file;

	*ret_limit = (struct cpu_limit){0};
	read_quota(hierarchy, group, is_v1, &quota, &period);
	if (quota <= 0 || period <= 0)
		return false;
	file = open_file(hierarchy, group, "cpu.stat");
	while (file && fscanf(file, "%63s %llu", name, &value) == 2) {
		if (!strcmp(name, "nr_periods"))
			ret_limit->periods = value;
		if (!strcmp(name, "nr_throttled"))
			ret_limit->throttled = value;
	}
	if (file)
		fclose(file);
	ret_limit->cpus = (double)quota / (double)period;
	snprintf(ret_limit->group, sizeof(ret_limit->group), "%s", group);
	return ret_limit->throttled > 0;
}

bool cgroups_cpu_limit(pid_t pid, struct cpu_limit *ret_limit)
{
	char hierarchy[PATH_MAX], group[PATH_MAX];
	bool is_v1;

	if (!cgroups_hierarchy("cpu", hierarchy, sizeof(hierarchy), &is_v1) ||
		!find_group(pid, is_v1, group))
		return false;
	while (!read_limit(hierarchy, group, is_v1, ret_limit)) {
		char *end = strrchr(group, '/');

		if (!end || !*group)
			return false;
		*end = '\0';
	}
	if (!*ret_limit->group)
		snprintf(ret_limit->group, sizeof(ret_limit->group), "/");
	return true;
}
