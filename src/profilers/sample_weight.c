/* SPDX-License-Identifier: MIT */
#include "sample_weight.h"

static bool measures_time(const struct perf_event_attr *attr)
{
	return attar_attr_is_clock(attr) ||
	       (attr->type == PERF_TYPE_HARDWARE &&
		       (attr->config == PERF_COUNT_HW_CPU_CYCLES ||
			       attr->config == PERF_COUNT_HW_REF_CPU_CYCLES));
}

struct sample_weight sample_weight_of_run(const struct attar_run *run)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, 0);
	bool is_period = attr->freq && !measures_time(attr);

	return (struct sample_weight){
		.is_period = is_period, .unit = is_period ? "events" : "samples"};
}

uint64_t sample_weight_get(const struct sample_weight *weight, const struct attar_event *ev)
{
	return weight->is_period ? ev->record->sample.period : 1;
}
