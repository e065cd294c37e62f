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

/* "4:cpu,cpuacct:/group", or "0::/group"; controller NULL: of version 2 */
static bool find_group(pid_t pid, const char *controller, char group[PATH_MAX])
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
		is_found = *name == '/' && (controller ? has_word(list + 1, controller) : !list[1]);
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
		!find_group(pid, is_v1 ? "cpu" : NULL, group))
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

/* "nginx.service", "docker-0123.scope", or the name after "/docker/" and such; not of a session. */
static bool is_service(const char *name, const char *parent, size_t n_parent)
{
	static const char *const parents[] = {"docker", "lxc", "lxc.payload", "podman"};
	static const char *const prefixes[] = {
		"docker-", "libpod-", "crio-", "cri-containerd-", "lxc.payload.", "machine-"};
	const char *dot = strrchr(name, '.');

	if (dot && !strcmp(dot, ".service"))
		return strncmp(name, "user@", strlen("user@")) != 0;
	for (size_t i = 0; i < sizeof(parents) / sizeof(*parents); i++)
		if (strlen(parents[i]) == n_parent && !strncmp(parents[i], parent, n_parent))
			return true;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

/* Of groups in each other, the innermost: a service in a container, or one of a user. */
static bool find_service(char *group, char *ret_name, size_t size)
{
	const char *parent = "";
	bool is_found = false;
	size_t n_parent = 0;
	char *save;

	for (char *name = strtok_r(group, "/", &save); name; name = strtok_r(NULL, "/", &save)) {
		if (is_service(name, parent, n_parent)) {
			snprintf(ret_name, size, "%s", name);
			is_found = true;
		}
		parent = name;
		n_parent = strlen(name);
	}
	return is_found;
}

bool cgroups_service(pid_t pid, char *ret_name, size_t size)
{
	char group[PATH_MAX];

	return (find_group(pid, NULL, group) && find_service(group, ret_name, size)) ||
	       (find_group(pid, "name=systemd", group) && find_service(group, ret_name, size));
}

/* ---- memory and block I/O ---- */

bool cgroups_group(pid_t pid, const char *controller, char *ret_group, size_t size)
{
	char hierarchy[PATH_MAX], group[PATH_MAX];
	bool is_v1;

	if (!cgroups_hierarchy(controller, hierarchy, sizeof(hierarchy), &is_v1) ||
		!find_group(pid, is_v1 ? controller : NULL, group))
		return false;
	snprintf(ret_group, size, "%s", group);
	return true;
}

/* Calls fn for the group of the process and those that contain it, until it returns true. */
static bool find_up(pid_t pid, const char *controller,
	bool (*fn)(const char *hierarchy, const char *group, bool is_v1, char *text, size_t size),
	char *text, size_t size)
{
	char hierarchy[PATH_MAX], group[PATH_MAX];
	bool is_v1;

	if (!cgroups_hierarchy(controller, hierarchy, sizeof(hierarchy), &is_v1) ||
		!find_group(pid, is_v1 ? controller : NULL, group))
		return false;
	while (!fn(hierarchy, group, is_v1, text, size)) {
		char *end = strrchr(group, '/');

		if (!end || !*group)
			return false;
		*end = '\0';
	}
	return true;
}

static bool is_memory_full(
	const char *hierarchy, const char *group, bool is_v1, char *text, size_t size)
{
	long long limit = read_number(
			  hierarchy, group, is_v1 ? "memory.limit_in_bytes" : "memory.max"),
		  used = read_number(
			  hierarchy, group, is_v1 ? "memory.usage_in_bytes" : "memory.current");

	if (limit <= 0 || used < limit / 20 * 19)
		return false;
	snprintf(text, size, "control group %s uses %lld of the %lld MB of memory that it may use",
		*group ? group : "/", used / 1000000, limit / 1000000);
	return true;
}

bool cgroups_memory_is_full(pid_t pid, char *ret_text, size_t size)
{
	return find_up(pid, "memory", is_memory_full, ret_text, size);
}

/* Version 1 has a file with a line for each device, "7:0 10"; version 2 "7:0 wiops=10 rbps=max". */
static bool has_io_limit(
	const char *hierarchy, const char *group, bool is_v1, char *text, size_t size)
{
	static const char *const v1[] = {"blkio.throttle.write_iops_device",
		"blkio.throttle.read_iops_device", "blkio.throttle.write_bps_device",
		"blkio.throttle.read_bps_device"};
	const char *const v2[] = {"io.max"};
	const char *const *names = is_v1 ? v1 : v2;
	size_t n = is_v1 ? sizeof(v1) / sizeof(*v1) : 1;
	char line[128];

	for (size_t i = 0; i < n; i++) {
		FILE *file = open_file(hierarchy, group, names[i]);
		bool is_found = file && fgets(line, sizeof(line), file);

		if (file)
			fclose(file);
		if (!is_found)
			continue;
		line[strcspn(line, "\n")] = '\0';
		snprintf(text, size, "control group %s has the limit %s: %s", *group ? group : "/",
			names[i], line);
		return true;
	}
	return false;
}

bool cgroups_io_limit(pid_t pid, char *ret_text, size_t size)
{
	return find_up(pid, "blkio", has_io_limit, ret_text, size) ||
	       find_up(pid, "io", has_io_limit, ret_text, size);
}

/* ---- pressure ---- */

bool cgroups_pressure(pid_t pid, struct group_pressure *ret_pressure)
{
	char hierarchy[PATH_MAX], group[PATH_MAX];
	unsigned long long total;
	bool is_v1, is_read;
	FILE *file;

	/* no controller has this name: the hierarchy of version 2 */
	if (!cgroups_hierarchy("pressure", hierarchy, sizeof(hierarchy), &is_v1) ||
		!find_group(pid, NULL, group) || !group[1])
		return false;
	file = open_file(hierarchy, group, "memory.pressure");
	is_read =
		file && fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%llu", &total) == 1;
	if (file)
		fclose(file);
	if (!is_read)
		return false;
	snprintf(ret_pressure->group, sizeof(ret_pressure->group), "%s", group);
	ret_pressure->memory = total;
	return true;
}
