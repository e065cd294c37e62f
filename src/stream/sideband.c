/* SPDX-License-Identifier: MIT */
/*
 * The event that writes side-band records (names, mappings, forks and exits). It is a dummy event,
 * which never produces a sample. The kernel counts lost records per event, so losses of this event
 * are side-band records and losses of all others are samples.
 *
 * If the target is control groups, it is opened for all tasks: a task that enters a group was
 * created, named and has mapped its code outside it.
 */
#include "base/check_arg.h"
#include "perf/counter.h"
#include "perf/target.h"
#include "stream/stream.h"

/*
 * Bits that determine the offset of the time in a record. Records of a ring are ordered before
 * their event is known.
 */
enum {
	SHARED_LAYOUT = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU
};

void attar_stream_attr(struct perf_event_attr *attr, bool track)
{
	CHECK_ARG_OR(attr, "attr", );

	attr->sample_type |=
		PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->read_format |= PERF_FORMAT_ID | PERF_FORMAT_LOST_;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	attr->disabled = 1;
	if (!track)
		return;
	attr->task = attr->comm = attr->comm_exec = 1;
	attr->mmap = attr->mmap2 = 1;
	attr->ksymbol = 1;
}

/* Enables it when and as the first counter, so that its records cover the same time. */
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
		.exclude_kernel = 1, /* needs no privilege then; the records are the same */
		.exclude_hv = 1};
	int r;

	attar_stream_attr(&attr, true);
	if (first)
		follow_first(&attr, first);
	attr.mmap_data = target->data_mappings;
	attr.write_backward = overwritten && first && first->attr.write_backward;
	r = counter_open_on(target, (struct counter_cpus){0}, &attr, "side-band records",
		ATTAR_COUNTER_DEGRADE | COUNTER_EVERY_TASK, ret_counter);
	if (r != -ESRCH)
		return r;
	attar_error_clear(); /* all watched tasks have exited: no records to write */
	*ret_counter = NULL;
	return 0;
}
