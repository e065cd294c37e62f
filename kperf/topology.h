/* SPDX-License-Identifier: MIT */
/* topology.h - where CPUs are. */
#ifndef KPERF_TOPOLOGY_H
#define KPERF_TOPOLOGY_H

#include "pmu.h"

/* Static and never freed; of an unknown CPU all numbers are -1. */
struct CpuTopology *kp_topology(int cpu);

/* The number of a file; `missing` if it cannot be read. */
int64_t kp_read_number(const char *path, int64_t missing);

#endif
