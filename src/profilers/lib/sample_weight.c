/* SPDX-License-Identifier: MIT */
#include "lib/sample_weight.h"

static bool measures_time(const struct perf_event_attr *attr)
{
	return attar_attr_is_clock(attr) ||
	       (attr->type == PERF_TYPE_HARDWARE &&
		       (attr->config == PERF_COUNT_HW_CPU_CYCLES ||
			       attr->config == PERF_COUNT_HW_REF_CPU_CYCLES));
}

/*
 * A member of a group has counts in the samples of the leader: the period is their difference, of
 * clocks in ns.
 */
static bool is_group_member(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ && !attr->sample_period;
}

struct sample_weight sample_weight_of_run(const struct attar_run *run)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, 0);
	bool is_period = is_group_member(attr) || (attr->freq && !measures_time(attr));

	return (struct sample_weight){
		.is_period = is_period, .unit = is_period ? "events" : "samples"};
}

double sample_weight_cpu_ns(const struct attar_run *run)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, 0);

	if (is_group_member(attr) || !measures_time(attr))
		return 0;
	if (attr->freq)
		return attr->sample_freq ? 1e9 / (double)attr->sample_freq : 0;
	return attar_attr_is_clock(attr) ? (double)attr->sample_period : 0;
}

uint64_t sample_weight_get(const struct sample_weight *weight, const struct attar_event *ev)
{
	return weight->is_period ? ev->record->sample.period : 1;
}

/*
 * With PERF_SAMPLE_PERIOD the kernel writes a sample for each occurrence of a software event or
 * tracepoint, whatever its fixed period, and the period of the sample is then 1. With a period of 1
 * it is the count of the occurrence, such as the ns of sched:sched_stat_runtime.
 */
struct sample_events sample_events_of_source(const struct attar_run *run, uint32_t source)
{
	const struct perf_event_attr *attr = attar_run_source_attr(run, source);
	bool has_period = attr && attr->sample_type & PERF_SAMPLE_PERIOD;

	if (attr && is_group_member(attr))
		return (struct sample_events){.fixed = 0};
	if (!attr || attar_attr_is_clock(attr) || (!attr->freq && attr->sample_period <= 1))
		return (struct sample_events){.fixed = 1};
	if (attr->freq)
		return (struct sample_events){.fixed = !has_period, .is_varied = true};
	return (struct sample_events){.fixed = has_period ? 0 : attr->sample_period};
}

bool sample_events_remark(const struct attar_run *run, struct attar_report *report)
{
	bool any = false;

	for (uint32_t i = 0; i < attar_run_sources(run); i++) {
		const struct sample_events events = sample_events_of_source(run, i);
		const char *name = attar_run_source_name(run, i);

		any |= events.fixed != 1;
		if (events.is_varied)
			attar_report_remark(report,
				"'%s' was sampled by frequency: its counts are estimates from the "
				"periods of the samples; period=1 counts each event",
				name);
		else if (events.fixed > 1)
			attar_report_remark(report,
				"'%s': each sample counts as %llu events, its period", name,
				(unsigned long long)events.fixed);
	}
	return any;
}

void sample_events_remark_few(const struct attar_run *run, struct attar_report *report)
{
	for (uint32_t i = 0; i < attar_run_sources(run); i++) {
		const struct sample_events events = sample_events_of_source(run, i);

		if (events.fixed != 1 || events.is_varied)
			attar_report_remark(report,
				"'%s' was sampled: only its samples are counted, which are not all "
				"events",
				attar_run_source_name(run, i));
	}
}
