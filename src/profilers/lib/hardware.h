/* SPDX-License-Identifier: MIT */
/* What the CPUs of this machine can measure, for profilers that need hardware. */
#ifndef PROFILERS_LIB_HARDWARE_H
#define PROFILERS_LIB_HARDWARE_H

#include "attar/run.h"

/* Whether the CPUs have a PMU that attar supports: cycles are counted. */
bool hardware_has_pmu(void);

/* Whether the file exists below /sys/bus/event_source/devices, such as "ibs_op". */
bool hardware_has(const char *path);

/* -EOPNOTSUPP: a live run without a PMU. The error message names the profiler of the run. */
int hardware_require_pmu(const struct attar_run *run);

/* How hardware_add_source() samples. */
struct hardware_sampling {
	uint64_t period;
	uint64_t fields; /* PERF_SAMPLE_*, besides the instruction pointer */
	bool exclude_host, exclude_guest;
};

/*
 * Adds the event as a source with this sampling. Like attar_event_list_parse(); -EINVAL: text names
 * more than one event.
 */
int hardware_add_source(struct attar_run *run, const char *text,
	const struct hardware_sampling *sampling, attar_event_fn *fn);

enum hardware_vendor { HARDWARE_OTHER, HARDWARE_INTEL, HARDWARE_AMD };

/* As /proc/cpuinfo has it for the first CPU, x86 only. */
struct hardware_cpu {
	enum hardware_vendor vendor;
	unsigned family, model;
};

struct hardware_cpu hardware_get_cpu(void);

#endif
