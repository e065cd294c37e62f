/* SPDX-License-Identifier: MIT */
#include "event/sample_attr.h"

#include "base/base.h"

/* The kernel refuses ftrace:function with user stacks: perf_trace_event_perm(). */
static bool has_no_user_stack(const struct attar_event_spec *spec)
{
	return spec->format && !strcmp(spec->format->system, "ftrace") &&
	       !strcmp(spec->format->name, "function");
}

bool event_is_page_fault(const struct attar_event_spec *spec)
{
	return spec->kind == ATTAR_EVENT_SOFTWARE &&
	       (spec->config == PERF_COUNT_SW_PAGE_FAULTS ||
		       spec->config == PERF_COUNT_SW_PAGE_FAULTS_MIN ||
		       spec->config == PERF_COUNT_SW_PAGE_FAULTS_MAJ);
}

/*
 * Whether samples of the event have a data address: page faults, breakpoints and precise hardware
 * samples do. Others would report 0.
 */
static bool carries_address(const struct attar_event_spec *spec)
{
	if (spec->kind == ATTAR_EVENT_BREAKPOINT || spec->precise_ip)
		return true;
	return event_is_page_fault(spec) ||
	       (spec->kind == ATTAR_EVENT_SOFTWARE &&
		       (spec->config == PERF_COUNT_SW_ALIGNMENT_FAULTS ||
			       spec->config == PERF_COUNT_SW_EMULATION_FAULTS));
}

void event_sample_attr(const struct attar_event_spec *spec, struct perf_event_attr *attr)
{
	if (spec->kind == ATTAR_EVENT_TRACEPOINT || spec->kind == ATTAR_EVENT_PROBE)
		attr->sample_type |= PERF_SAMPLE_RAW;
	if (has_no_user_stack(spec))
		attr->exclude_callchain_user = 1;
	if (carries_address(spec))
		attr->sample_type |= PERF_SAMPLE_ADDR;
}

bool event_is_each(const struct attar_event_spec *spec)
{
	switch (spec->kind) {
	case ATTAR_EVENT_TRACEPOINT:
	case ATTAR_EVENT_PROBE:
	case ATTAR_EVENT_BREAKPOINT:
	case ATTAR_EVENT_USER:
		return true;
	case ATTAR_EVENT_SOFTWARE:
		return spec->config != PERF_COUNT_SW_CPU_CLOCK &&
		       spec->config != PERF_COUNT_SW_TASK_CLOCK;
	default:
		return false;
	}
}

bool event_sample_rate(const struct attar_event_spec *spec, struct perf_event_attr *attr)
{
	if (spec->period) {
		attr->freq = 0;
		attr->sample_period = spec->period;
		/*
		 * With it the kernel ignores the period of these events and writes a sample for
		 * each occurrence: perf_swevent_event().
		 */
		if (event_is_each(spec) && spec->period > 1)
			attr->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	}
	if (spec->freq) {
		attr->freq = 1;
		attr->sample_freq = spec->freq;
	}
	return spec->period || spec->freq;
}

bool event_has_same_cpus(const struct attar_event_spec *a, const struct attar_event_spec *b)
{
	const size_t n = a ? a->n_only_cpus : 0;

	return n == (b ? b->n_only_cpus : 0) &&
	       (!n || !memcmp(a->only_cpus, b->only_cpus, n * sizeof(*a->only_cpus)));
}
