/* SPDX-License-Identifier: MIT */
/* Functions for hardware or kernels that this library does not support: each says so. */
#include "error.h"
#include "pmu.h"

static int no_metric(const char *function)
{
	return kp_error(LIBPERF_ERR_NOT_SUPPORT_METRIC,
		"%s(): metrics of devices are those of HiSilicon CPUs, which are not supported yet",
		function);
}

const char **PmuDeviceBdfList(enum PmuBdfType type, unsigned *n)
{
	kp_begin();
	if (n)
		*n = 0;
	if (!n)
		kp_fail(LIBPERF_ERR_NULL_POINTER, "PmuDeviceBdfList(): numBdf is NULL");
	else if (type != PMU_BDF_TYPE_PCIE && type != PMU_BDF_TYPE_SMMU)
		kp_fail(LIBPERF_ERR_INVALID_PMU_BDF_TYPE,
			"PmuDeviceBdfList(): %d is not a type of devices", type);
	else
		no_metric("PmuDeviceBdfList");
	return NULL;
}

int PmuDeviceOpen(struct PmuDeviceAttr *attr, unsigned len)
{
	kp_begin();
	if (!attr || len == 0)
		return kp_error(
			LIBPERF_ERR_INVALID_MTRIC_PARAM, "PmuDeviceOpen(): there are no metrics");
	for (unsigned i = 0; i < len; i++)
		if ((unsigned)attr[i].metric > PMU_HHA_CROSS_SOCKET)
			return kp_error(LIBPERF_ERR_INVALID_PMU_DEVICES_METRIC,
				"PmuDeviceOpen(): %d is not a metric", attr[i].metric);
	return no_metric("PmuDeviceOpen");
}

int PmuGetDevMetric(struct PmuData *pmuData, unsigned len, struct PmuDeviceAttr *attr,
	unsigned attrLen, struct PmuDeviceData **data)
{
	kp_begin();
	if (data)
		*data = NULL;
	if (!pmuData || !attr || !data)
		return kp_error(LIBPERF_ERR_PMU_DEVICES_NULL,
			"PmuGetDevMetric(): pmuData, attr or data is NULL");
	return no_metric("PmuGetDevMetric");
}

void DevDataFree(struct PmuDeviceData *data)
{
}

int PmuOpenWithHWMetric(struct PmuHwMetricAttr *attr)
{
	kp_begin();
	if (!attr || !attr->basePeriodList || !attr->thresholdList || attr->metric == 0)
		return kp_error(LIBPERF_ERR_INVALID_HWMETRIC_ATTR,
			"PmuOpenWithHWMetric(): the attributes "
			"have no metric, period or threshold");
	return kp_error(LIBPERF_ERR_NOT_SUPPORT_HWMETRIC,
		"PmuOpenWithHWMetric() needs a kernel with CONFIG_HISILICON_HW_METRIC, which is "
		"not "
		"supported");
}
