/* SPDX-License-Identifier: MIT */
#include "lib/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/base.h"

enum { CACHES_MAX = 16 };

/* Reads a line of /sys/devices/system/cpu/cpuN/cache/indexI/NAME. False: there is none. */
static bool read_cache(size_t cpu, int index, const char *name, char *ret_text, int max)
{
	char path[128];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/cache/index%d/%s", cpu, index,
		name);
	file = fopen(path, "re");
	ok = file && fgets(ret_text, max, file);
	if (file)
		fclose(file);
	return ok;
}

static void read_cpu(struct topology *t, size_t cpu)
{
	int last = 0;
	char text[4096];

	for (int i = 0; i < CACHES_MAX && read_cache(cpu, i, "level", text, sizeof(text)); i++) {
		int level = atoi(text);

		if (!read_cache(cpu, i, "type", text, sizeof(text)) || *text == 'I' ||
			!read_cache(cpu, i, "shared_cpu_list", text, sizeof(text)))
			continue; /* instructions only, or unknown */
		if (level == 2)
			t->of[TOPOLOGY_L2][cpu] = atoi(text);
		if (level >= last) {
			t->of[TOPOLOGY_LLC][cpu] = atoi(text);
			last = level;
		}
	}
}

int topology_read(struct topology *t)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t n = cpus > 0 ? (size_t)cpus : 1;

	for (int level = 0; level < TOPOLOGY_LEVELS; level++) {
		t->of[level] = malloc(n * sizeof(int));
		if (!t->of[level])
			return attar_fail(-ENOMEM, "out of memory");
		memset(t->of[level], 0xff, n * sizeof(int)); /* -1 */
	}
	t->n = n;
	for (size_t cpu = 0; cpu < n; cpu++)
		read_cpu(t, cpu);
	return 0;
}

void topology_done(struct topology *t)
{
	for (int level = 0; level < TOPOLOGY_LEVELS; level++)
		free(t->of[level]);
}

int topology_shares(const struct topology *t, int level, size_t a, size_t b)
{
	if (a >= t->n || b >= t->n || t->of[level][a] < 0 || t->of[level][b] < 0)
		return -1;
	return t->of[level][a] == t->of[level][b];
}
