/* SPDX-License-Identifier: MIT */
/*
 * metric.h - what metrics of devices are made of, and the devices that their attributes name.
 *
 * The codes of events are defined by the kernel's drivers: drivers/perf/hisilicon for the PMUs
 * hisi_*, drivers/perf/arm_smmuv3_pmu.c for smmuv3_pmcg_*.
 */
#ifndef KPERF_METRIC_H
#define KPERF_METRIC_H

#include <stdbool.h>

#include "data.h"

enum {
	KP_METRICS = PMU_HHA_CROSS_SOCKET + 1,
	KP_METRIC_EVENTS = 3,     /* of a metric, at most */
	KP_MOST_EVENTS = 1 << 12, /* of a task */
	KP_FILTER_SIZE = 64,
};

/* Which device a metric of one device is of. */
enum kp_filter {
	KP_FILTER_NONE,   /* all devices */
	KP_FILTER_BDF,    /* attr.bdf, which requests the transfers */
	KP_FILTER_PORT,   /* attr.port, or the root port of this device */
	KP_FILTER_STREAM, /* attr.bdf, as a stream of the SMMU */
};

/*
 * A metric is the first count times the unit; with two events divided by the second count, with
 * three by the second one without the third. An event is a name in sysfs or terms of its PMU;
 * `codes` are terms for kernels that do not have the name.
 */
struct kp_metric {
	enum PmuMetricMode mode;
	const char *prefix, *part; /* of the names of its PMUs */
	const char *events[KP_METRIC_EVENTS];
	double unit;
	const char *codes[KP_METRIC_EVENTS];
	enum kp_filter filter;
	unsigned identifier; /* that its PMUs need in sysfs; 0: any */
};
extern const struct kp_metric kp_metrics[KP_METRICS];

/* The name of a PMU, or an event that begins with it, is of a PMU of the metric. */
bool kp_metric_is_of(const struct kp_metric *metric, const char *pmu);

/* SUCCESS, or the call of the function has failed: other functions expect checked attributes. */
int kp_metric_check(const struct PmuDeviceAttr *attr, unsigned len, const char *function);

/* The device that the attributes name; NULL: all. */
const char *kp_metric_target(const struct PmuDeviceAttr *attr);

/*
 * The terms that select the device of the attributes, "bdf=0x1620", in KP_FILTER_SIZE bytes, and
 * its PMU. The origin's lock is held. SUCCESS, or the call has failed.
 */
int kp_metric_filter(struct kp_origin *origin, const struct PmuDeviceAttr *attr, char *ret_filter,
	const char **ret_pmu);

#endif
