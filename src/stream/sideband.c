/* SPDX-License-Identifier: MIT */
/*
 * The event that writes side-band records (names, mappings, forks and exits): a dummy, which never
 * makes a sample. The kernel counts lost records by event, so the records that this one lost are
 * side-band records, and those that the other events lost are samples.
 */
#include "perf/counter.h"
#include "perf/target.h"
#include "stream/live.h"

/*
 * What decides where a record has its time: one ring is put in order before it is known whose
 * records are whose.
 */
enum {
	SHARED_LAYOUT = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU
};

/* Enabled when and as the first counter is: its records then tell of the same time. */
static void follow_first(struct perf_event_attr *attr, const struct attar_counter *first)
{
	attr->sample_type = first->attr.sample_type & SHARED_LAYOUT;
	attr->sample_id_all = first->attr.sample_id_all;
	attr->use_clockid = first->attr.use_clockid;
	attr->clockid = first->attr.clockid;
	attr->inherit = first->attr.inherit;
	attr->inherit_thread = first->attr.inherit_thread;
	attr->disabled = !first->enabled;
	attr->enable_on_exec = first->attr.enable_on_exec;
}

int sideband_open(struct attar_target *target, const struct attar_counter *first, bool overwritten,
	struct attar_counter **ret_counter)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, /* needs no right then; the records are the same */
		.exclude_hv = 1};
	int r;

	attar_stream_attr(&attr, true);
	if (first)
		follow_first(&attr, first);
	attr.write_backward = overwritten && first && first->attr.write_backward;
	r = attar_counter_open(
		target, &attr, "side-band records", ATTAR_COUNTER_DEGRADE, ret_counter);
	if (r != -ESRCH)
		return r;
	attar_error_clear(); /* everybody who was watched has ended: there is nothing to tell */
	*ret_counter = NULL;
	return 0;
}
