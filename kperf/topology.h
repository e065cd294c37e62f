/* SPDX-License-Identifier: MIT */
/* topology.h - where CPUs are. */
#ifndef KPERF_TOPOLOGY_H
#define KPERF_TOPOLOGY_H

#include <stdbool.h>

#include "pmu.h"

/* Static and never freed; of an unknown CPU all numbers are -1. */
struct CpuTopology *kp_topology(int cpu);

/* The number of a file; `missing` if it cannot be read. */
int64_t kp_read_number(const char *path, int64_t missing);

/* The same of a hexadecimal number. False: the file cannot be read, or has none. */
bool kp_read_hex(const char *folder, const char *name, unsigned long *ret);

/* The number that PmuGetClusterCore() has for the cluster of a CPU. */
int kp_cluster(int cpu);

#endif
