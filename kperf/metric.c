/* SPDX-License-Identifier: MIT */
#include "metric.h"

#include <stdio.h>
#include <string.h>

#include "error.h"

/* Words of 4 bytes, and microseconds. */
#define PCIE_BANDWIDTH(name, code)                                                                 \
	{                                                                                          \
		PMU_METRIC_BDF, "hisi_pcie", "_core", {name "_flux", name "_time"}, 4,             \
			{"config=0x" code, "config=0x1" code}, KP_FILTER_BDF                       \
	}
/* Nanoseconds of all requests, and the requests. */
#define PCIE_LATENCY(name, code)                                                                   \
	{                                                                                          \
		PMU_METRIC_BDF, "hisi_pcie", "_core", {name "_latency", name "_cnt"}, 1,           \
			{"config=0x" code, "config=0x1" code}, KP_FILTER_PORT                      \
	}

const struct kp_metric kp_metrics[KP_METRICS] = {
	[PMU_DDR_READ_BW] = {PMU_METRIC_CHANNEL, "hisi_sccl", "_ddrc", {"flux_rd"}, 32},
	[PMU_DDR_WRITE_BW] = {PMU_METRIC_CHANNEL, "hisi_sccl", "_ddrc", {"flux_wr"}, 32},
	/* The architecture's events LL_CACHE and LL_CACHE_MISS, of lines of 64 bytes. */
	[PMU_L3_TRAFFIC] = {PMU_METRIC_CORE, "armv8_", "", {"config=0x32"}, 64},
	[PMU_L3_MISS] = {PMU_METRIC_CORE, "armv8_", "", {"config=0x33"}, 1},
	[PMU_L3_REF] = {PMU_METRIC_CORE, "armv8_", "", {"config=0x32"}, 1},
	/*
	 * Cycles of all requests, the requests, and those that were repeated, of all CPUs. The
	 * clock has 2.9 GHz on the SoCs whose PMUs have the identifier 0x30.
	 */
	[PMU_L3_LAT] = {.mode = PMU_METRIC_CLUSTER,
		.prefix = "hisi_sccl",
		.part = "_l3c",
		.events = {"event=0x80,tt_core=0xff", "event=0xb8,tt_core=0xff",
			"event=0xce,tt_core=0xff"},
		.unit = 1 / 2.9,
		.identifier = 0x30},
	[PMU_PCIE_RX_MRD_BW] = PCIE_BANDWIDTH("rx_mrd", "0804"),
	[PMU_PCIE_RX_MWR_BW] = PCIE_BANDWIDTH("rx_mwr", "0104"),
	[PMU_PCIE_TX_MRD_BW] = PCIE_BANDWIDTH("tx_mrd", "0405"),
	[PMU_PCIE_TX_MWR_BW] = PCIE_BANDWIDTH("tx_mwr", "0105"),
	[PMU_PCIE_RX_MRD_LAT] = PCIE_LATENCY("rx_mrd", "0210"),
	[PMU_PCIE_RX_MWR_LAT] = PCIE_LATENCY("rx_mwr", "0010"),
	[PMU_PCIE_TX_MRD_LAT] = PCIE_LATENCY("tx_mrd", "0011"),
	[PMU_SMMU_TRAN] = {PMU_METRIC_BDF, "smmuv3_pmcg_", "", {"transaction"}, 1, {"config=0x1"},
		KP_FILTER_STREAM},
	[PMU_HHA_CROSS_NUMA] = {PMU_METRIC_NUMA, "hisi_sccl", "_hha", {"rx_sccl", "rx_ops_num"}, 1},
	[PMU_HHA_CROSS_SOCKET] = {PMU_METRIC_NUMA, "hisi_sccl", "_hha", {"rx_outer", "rx_ops_num"},
		1},
};

bool kp_metric_is_of(const struct kp_metric *metric, const char *pmu)
{
	return strncmp(pmu, metric->prefix, strlen(metric->prefix)) == 0 &&
	       strstr(pmu, metric->part);
}

const char *kp_metric_target(const struct PmuDeviceAttr *attr)
{
	return kp_metrics[attr->metric].filter == KP_FILTER_PORT ? attr->port : attr->bdf;
}

static int check_target(const struct PmuDeviceAttr *attr, const char *function)
{
	enum kp_filter filter = kp_metrics[attr->metric].filter;
	unsigned bdf;

	if (filter == KP_FILTER_NONE)
		return SUCCESS;
	if (!kp_metric_target(attr))
		return filter == KP_FILTER_PORT
			       ? kp_fail(LIBPERF_ERR_NOT_SUPPORT_PCIE_PORT,
					 "%s(): metric %d needs a PCI device in `port`: see "
					 "PmuDeviceBdfList()",
					 function, attr->metric)
			       : kp_fail(LIBPERF_ERR_INVALID_PMU_DEVICES_BDF,
					 "%s(): metric %d needs a PCI device in `bdf`: see "
					 "PmuDeviceBdfList()",
					 function, attr->metric);
	return kp_bdf_parse(kp_metric_target(attr), &bdf);
}

int kp_metric_check(const struct PmuDeviceAttr *attr, unsigned len, const char *function)
{
	int r = SUCCESS;

	if (len == 0 || len > KP_MOST_EVENTS)
		return kp_fail(
			LIBPERF_ERR_INVALID_MTRIC_PARAM, "%s(): there are no metrics", function);
	for (unsigned i = 0; i < len && r == SUCCESS; i++) {
		if ((unsigned)attr[i].metric >= KP_METRICS)
			return kp_fail(LIBPERF_ERR_INVALID_PMU_DEVICES_METRIC,
				"%s(): %d is not a metric", function, attr[i].metric);
		r = check_target(&attr[i], function);
	}
	return r;
}

/* The devices of the machine, which are looked up once. The origin's lock is held. */
static int find_bdfs(struct kp_origin *origin, enum PmuBdfType type, const struct kp_bdfs **ret)
{
	int r = SUCCESS;

	if (!origin->has_bdfs[type])
		r = kp_bdfs_find(origin->sysfs, origin->catalog, type, &origin->bdfs[type]);
	origin->has_bdfs[type] = r == SUCCESS;
	*ret = &origin->bdfs[type];
	return r;
}

static int fail_device(const struct PmuDeviceAttr *attr)
{
	switch (kp_metrics[attr->metric].filter) {
	case KP_FILTER_STREAM:
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_SMMU_BDF,
			"no SMMU with a PMU has the device %s: see PmuDeviceBdfList()", attr->bdf);
	case KP_FILTER_PORT:
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_PCIE_PORT,
			"no PMU counts the root port of %s: see PmuDeviceBdfList()", attr->port);
	default:
		return kp_fail(LIBPERF_ERR_NOT_SUPPORT_PCIE_BDF,
			"no PMU counts the device %s: see PmuDeviceBdfList()", attr->bdf);
	}
}

int kp_metric_filter(struct kp_origin *origin, const struct PmuDeviceAttr *attr, char *ret_filter,
	const char **ret_pmu)
{
	enum kp_filter filter = kp_metrics[attr->metric].filter;
	const struct kp_bdfs *bdfs;
	const struct kp_bdf *device;
	unsigned bdf;
	int r = find_bdfs(
		origin, filter == KP_FILTER_STREAM ? PMU_BDF_TYPE_SMMU : PMU_BDF_TYPE_PCIE, &bdfs);

	if (r == SUCCESS)
		r = kp_bdf_parse(kp_metric_target(attr), &bdf);
	if (r != SUCCESS)
		return r;
	device = kp_bdfs_get(bdfs, bdf);
	if (!device || (filter == KP_FILTER_PORT && device->root_ports == 0) ||
		(filter == KP_FILTER_BDF && device->is_root_port))
		return fail_device(attr);
	if (filter == KP_FILTER_PORT)
		snprintf(ret_filter, KP_FILTER_SIZE, "port=0x%x", device->root_ports);
	else
		snprintf(ret_filter, KP_FILTER_SIZE, "%s=0x%x",
			filter == KP_FILTER_STREAM ? "filter_enable=1,filter_stream_id" : "bdf",
			bdf);
	*ret_pmu = device->pmu;
	return SUCCESS;
}
