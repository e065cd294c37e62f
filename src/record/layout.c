/* SPDX-License-Identifier: MIT */
/* Offsets of the fixed-size fields in an event's records. */
#include "attar/record.h"
#include "base/base.h"
#include "base/check_arg.h"
#include "record/uapi.h"

/* Assigns the next word's offset if the field's bit is set. */
static int16_t place(const struct attar_layout *layout, uint64_t bit, int *offset)
{
	int here = *offset;

	if (!(layout->sample_type & bit))
		return -1;
	*offset += 8;
	return (int16_t)here;
}

/* A sample has at most one of the two weights; every other known bit adds at least one word. */
static uint16_t smallest_sample(uint64_t sample_type)
{
	uint64_t bits = sample_type & UAPI_SAMPLE_KNOWN;

	if (bits & PERF_SAMPLE_WEIGHT)
		bits &= ~(uint64_t)PERF_SAMPLE_WEIGHT_STRUCT;
	return (uint16_t)(sizeof(struct perf_event_header) + 8 * __builtin_popcountll(bits));
}

static void place_sample(struct attar_layout *layout)
{
	int offset = sizeof(struct perf_event_header);
	int16_t identifier = place(layout, PERF_SAMPLE_IDENTIFIER, &offset);

	layout->ip = place(layout, PERF_SAMPLE_IP, &offset);
	layout->tid = place(layout, PERF_SAMPLE_TID, &offset);
	layout->time = place(layout, PERF_SAMPLE_TIME, &offset);
	layout->addr = place(layout, PERF_SAMPLE_ADDR, &offset);
	layout->id = place(layout, PERF_SAMPLE_ID, &offset);
	layout->stream_id = place(layout, PERF_SAMPLE_STREAM_ID, &offset);
	layout->cpu = place(layout, PERF_SAMPLE_CPU, &offset);
	layout->period = place(layout, PERF_SAMPLE_PERIOD, &offset);
	layout->fixed_end = (int16_t)offset;
	layout->sample_min = smallest_sample(layout->sample_type);
	if (identifier >= 0)
		layout->id = identifier;
}

/*
 * The trailer (struct sample_id) is TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER; processed from its
 * end.
 */
static void place_trailer(struct attar_layout *layout)
{
	int back = 8;
	int16_t identifier = place(layout, PERF_SAMPLE_IDENTIFIER, &back);

	layout->back_cpu = place(layout, PERF_SAMPLE_CPU, &back);
	layout->back_stream_id = place(layout, PERF_SAMPLE_STREAM_ID, &back);
	layout->back_id = place(layout, PERF_SAMPLE_ID, &back);
	layout->back_time = place(layout, PERF_SAMPLE_TIME, &back);
	layout->back_tid = place(layout, PERF_SAMPLE_TID, &back);
	layout->trailer_size = (uint16_t)(back - 8);
	if (identifier >= 0)
		layout->back_id = identifier;
}

void attar_layout_init(struct attar_layout *layout, const struct perf_event_attr *attr)
{
	CHECK_ARG_OR(layout, "layout", );
	CHECK_ARG_OR(attr, "attr", );

	*layout = (struct attar_layout){
		.sample_type = attr->sample_type,
		.read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.regs_user = attr->sample_regs_user,
		.regs_intr = attr->sample_regs_intr,
		.sample_id_all = attr->sample_id_all,
		.build_id = attr->build_id,
		.back_tid = -1,
		.back_time = -1,
		.back_id = -1,
		.back_stream_id = -1,
		.back_cpu = -1,
	};
	if (!(attr->sample_type & PERF_SAMPLE_PERIOD) && !attr->freq)
		layout->fixed_period = attr->sample_period;
	place_sample(layout);
	if (layout->sample_id_all)
		place_trailer(layout);
}
