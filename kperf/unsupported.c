/* SPDX-License-Identifier: MIT */
/* Functions for hardware or kernels that this library does not support: each reports this. */
#include "error.h"
#include "pmu.h"

int PmuOpenWithHWMetric(struct PmuHwMetricAttr *attr)
{
	kp_begin();
	if (!attr || !attr->basePeriodList || !attr->thresholdList || attr->metric == 0)
		return kp_error(LIBPERF_ERR_INVALID_HWMETRIC_ATTR,
			"PmuOpenWithHWMetric(): the attributes have no metric, period or "
			"threshold");
	return kp_error(LIBPERF_ERR_NOT_SUPPORT_HWMETRIC,
		"PmuOpenWithHWMetric() needs a kernel with CONFIG_HISILICON_HW_METRIC, which is "
		"not supported");
}
