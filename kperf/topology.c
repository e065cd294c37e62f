/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "topology.h"

#define CPUS "/sys/devices/system/cpu"

enum { MAX_CPUS = 8192 };

static struct CpuTopology none = {-1, -1, -1}, *table;
static unsigned n_cpus;
static pthread_once_t once = PTHREAD_ONCE_INIT;

int64_t kp_read_number(const char *path, int64_t missing)
{
	FILE *file = fopen(path, "re");
	long long number;

	if (!file)
		return missing;
	if (fscanf(file, "%lld", &number) != 1)
		number = missing;
	fclose(file);
	return number;
}

bool kp_read_hex(const char *folder, const char *name, unsigned long *ret)
{
	char path[PATH_MAX];
	FILE *file;
	bool is_read;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	is_read = file && fscanf(file, "%lx", ret) == 1;
	if (file)
		fclose(file);
	return is_read;
}

static int of_cpu(unsigned cpu, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), CPUS "/cpu%u/topology/%s", cpu, file);
	return (int)kp_read_number(path, -1);
}

/* The node that a CPU's folder has a link to; 0 on systems without nodes. */
static int node_of(unsigned cpu)
{
	char path[128];
	struct dirent *entry;
	int node = 0;
	DIR *dir;

	snprintf(path, sizeof(path), CPUS "/cpu%u", cpu);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (sscanf(entry->d_name, "node%d", &node) == 1)
			break;
	if (dir)
		closedir(dir);
	return node;
}

static void read_topology(void)
{
	long configured = sysconf(_SC_NPROCESSORS_CONF);

	n_cpus = configured < 1 ? 1 : configured > MAX_CPUS ? MAX_CPUS : (unsigned)configured;
	table = calloc(n_cpus, sizeof(*table));
	for (unsigned cpu = 0; table && cpu < n_cpus; cpu++)
		table[cpu] = (struct CpuTopology){
			.coreId = (int)cpu,
			.numaId = node_of(cpu),
			.socketId = of_cpu(cpu, "physical_package_id"),
		};
	if (!table)
		n_cpus = 0;
}

__attribute__((destructor)) static void forget(void)
{
	free(table);
	table = NULL;
	n_cpus = 0;
}

struct CpuTopology *kp_topology(int cpu)
{
	pthread_once(&once, read_topology);
	return cpu >= 0 && (unsigned)cpu < n_cpus ? &table[cpu] : &none;
}

/* The CPUs whose number by `of` is id. */
static int cpus_with(int (*of)(unsigned cpu), int id, unsigned **ret_cpus)
{
	unsigned *cpus;
	int n = 0;

	pthread_once(&once, read_topology);
	cpus = malloc((n_cpus + 1) * sizeof(*cpus));
	if (!cpus)
		return kp_error(COMMON_ERR_NOMEM, "out of memory");
	for (unsigned cpu = 0; cpu < n_cpus; cpu++)
		if (of(cpu) == id)
			cpus[n++] = cpu;
	*ret_cpus = cpus;
	if (n == 0) {
		free(cpus);
		*ret_cpus = NULL;
	}
	return n;
}

static int numa_of(unsigned cpu)
{
	return table[cpu].numaId;
}

/* Clusters are numbered by the CPU that is the first of each; without clusters a core is one. */
static int cluster_of(unsigned cpu)
{
	static const char *const files[] = {"cluster_cpus_list", "core_cpus_list"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		int first = of_cpu(cpu, files[i]);

		if (first >= 0)
			return first;
	}
	return (int)cpu;
}

/* The cluster's own number: the count of clusters that begin before it. */
static int cluster_number(unsigned cpu)
{
	int first = cluster_of(cpu), number = 0;

	for (int before = 0; before < first; before++)
		number += cluster_of((unsigned)before) == before;
	return number;
}

int kp_cluster(int cpu)
{
	return cpu < 0 ? -1 : cluster_number((unsigned)cpu);
}

int PmuGetNumaCore(unsigned node, unsigned **cores)
{
	int n;

	kp_begin();
	if (!cores)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "PmuGetNumaCore(): coreList is NULL");
	n = cpus_with(numa_of, (int)node, cores);
	return n != 0 ? n
		      : kp_error(LIBPERF_ERR_FAIL_GET_CPU,
				"there is no NUMA node %u on this machine", node);
}

int PmuGetClusterCore(unsigned cluster, unsigned **cores)
{
	int n;

	kp_begin();
	if (!cores)
		return kp_error(LIBPERF_ERR_NULL_POINTER, "PmuGetClusterCore(): coreList is NULL");
	n = cpus_with(cluster_number, (int)cluster, cores);
	return n != 0 ? n
		      : kp_error(LIBPERF_ERR_CLUSTER_ID_OVERSIZE,
				"there is no cluster %u of CPUs on this machine", cluster);
}
