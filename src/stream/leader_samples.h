/* SPDX-License-Identifier: MIT */
/*
 * Groups of events of which only the leader has samples ("{a,b}:S" of perf record). Each sample of
 * the leader has the counts of all members. For each member that has counted since the sample
 * before, the stream delivers a sample: the sample of the leader, without raw data, which are of
 * the leader's format, and with the difference as its period.
 */
#ifndef STREAM_LEADER_SAMPLES_H
#define STREAM_LEADER_SAMPLES_H

#include "base/map.h"
#include "base/vec.h"
#include "perfdata/recording.h"

struct attar_event;
struct attar_stream;

struct member_sample {
	uint64_t id, period;
	uint32_t counter;
};

struct leader_samples {
	struct map counts;                 /* the newest count, by id and task */
	VEC(struct member_sample) members; /* of the newest sample of a leader */
	size_t next;                       /* the first one that was not delivered */
};

/* Whether an event has no samples of its own, but counts in the samples of a leader. */
static inline bool is_group_member(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ && attr->read_format & PERF_FORMAT_GROUP &&
	       attr->read_format & PERF_FORMAT_ID && !attr->sample_period &&
	       !(attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY);
}

/* Finds the leaders, after new events of the recording became known. */
void leader_samples_learn(struct attar_stream *s);

/*
 * Takes the counts in s->record, a sample of a leader. is_delivered: the samples of its members
 * follow it. Returns 0 or -ENOMEM.
 */
int leader_samples_take(struct attar_stream *s, bool is_delivered);

/* The next sample of a member, after the sample of its leader, which is in s->record. */
int leader_samples_next(struct attar_stream *s, struct attar_event *ret_event);

static inline bool leader_samples_are_due(const struct leader_samples *l)
{
	return l->next < l->members.n;
}

void leader_samples_done(struct leader_samples *l);

#endif
