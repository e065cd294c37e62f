/* SPDX-License-Identifier: MIT */
#include "perf/hybrid.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <linux/perf_event.h>

#include "base/file.h"
#include "base/parse.h"

enum { CPU_MAX = 1 << 16 };

static size_t count_cpus(const char *path)
{
	struct buf b _cleanup_(buf_done) = {0};
	parse_ints cpus = {0};
	size_t n = 0;

	if (file_read(path, 65536, &b) == 0 && parse_list(buf_text(&b), CPU_MAX, &cpus) == 0)
		n = cpus.n;
	vec_done(&cpus);
	attar_error_clear();
	return n;
}

/* Only core PMUs have a file "cpus": others have "cpumask" or neither. */
static void hybrid_add(struct cores *cores, const char *devices, const char *name, size_t online)
{
	char path[512];
	int64_t type;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s/cpus", devices, name);
	n = count_cpus(path);
	if (!n || n >= online || cores->n == CORES_KINDS_MAX)
		return;
	snprintf(path, sizeof(path), "%s/%s/type", devices, name);
	if (file_read_i64(path, &type) == 0)
		cores->types[cores->n++] = (uint32_t)type;
	attar_error_clear();
}

void hybrid_read(struct cores *cores, const char *devices, const char *online)
{
	size_t n_online = count_cpus(online);
	struct dirent *entry;
	DIR *dir = opendir(devices);

	*cores = (struct cores){0};
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			hybrid_add(cores, devices, entry->d_name, n_online);
	if (dir)
		closedir(dir);
}

static bool is_generic(uint32_t type)
{
	return type == PERF_TYPE_HARDWARE || type == PERF_TYPE_HW_CACHE || type == PERF_TYPE_RAW;
}

bool hybrid_has(const struct cores *cores, uint32_t type, uint64_t config)
{
	if (is_generic(type) && type != PERF_TYPE_RAW && config >> 32)
		type = (uint32_t)(config >> 32);
	if (is_generic(type))
		return cores->n > 0;
	for (size_t i = 0; i < cores->n; i++)
		if (cores->types[i] == type)
			return true;
	return false;
}

static struct cores cached;

static void read_cached(void)
{
	hybrid_read(&cached, "/sys/bus/event_source/devices", "/sys/devices/system/cpu/online");
}

const struct cores *hybrid_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_cached);
	return &cached;
}
