/* SPDX-License-Identifier: MIT */
#include "stream/leader_samples.h"

#include "stream/stream.h"

static const struct perf_event_attr *attr_of(const struct attar_stream *s, size_t counter)
{
	return &recording_get_event(s->replay->recording, counter)->attr;
}

static bool is_leader(const struct perf_event_attr *attr)
{
	return attr->sample_type & PERF_SAMPLE_READ && attr->read_format & PERF_FORMAT_GROUP &&
	       attr->read_format & PERF_FORMAT_ID && attr->sample_period;
}

void leader_samples_learn(struct attar_stream *s)
{
	bool any = false;

	for (size_t i = 0; i < s->n_counters; i++)
		any |= is_group_member(attr_of(s, i));
	for (size_t i = 0; i < s->n_counters; i++)
		s->accounts[i].leads = any && is_leader(attr_of(s, i));
}

/* An inherited event counts in each task separately, with the same id (since Linux 6.12). */
static uint64_t key_of(const struct attar_stream *s, uint64_t id)
{
	uint64_t task = attr_of(s, s->record_counter)->inherit ? s->record.tid : 0;

	return id << 32 | task;
}

/* Sets the count since the sample before. 0 or -ENOMEM. */
static int take_count(
	struct attar_stream *s, const struct attar_read_value *v, uint64_t *ret_difference)
{
	struct map *counts = &s->replay->leader.counts;
	const uint64_t key = key_of(s, v->id), *before = map_get(counts, key);

	/* a CPU that was offline counts from 0 */
	*ret_difference = before && v->value >= *before ? v->value - *before : v->value;
	return map_put(counts, key, v->value) < 0 ? base_oom() : 0;
}

int leader_samples_take(struct attar_stream *s, bool is_delivered)
{
	struct leader_samples *l = &s->replay->leader;
	const struct attar_read *read = &s->record.sample.read;
	int r = 0;

	l->members.n = l->next = 0;
	for (uint32_t i = 0; r == 0 && i < read->nr; i++) {
		const struct attar_read_value v = attar_read_at(read, i);
		struct member_sample m = {.id = v.id,
			.counter = (uint32_t)recording_find(s->replay->recording, v.id)};

		if (m.counter >= s->n_counters || !is_group_member(attr_of(s, m.counter)))
			continue;
		r = take_count(s, &v, &m.period);
		if (r == 0 && is_delivered && m.period && !s->accounts[m.counter].is_unused &&
			vec_push(&l->members, m) < 0)
			r = base_oom();
	}
	return r;
}

int leader_samples_next(struct attar_stream *s, struct attar_event *ret_event)
{
	struct leader_samples *l = &s->replay->leader;
	const struct member_sample *m = &l->members.at[l->next++];
	struct attar_record *rec = &s->record;

	rec->id = m->id;
	rec->sample.period = m->period;
	rec->sample.raw = NULL;
	rec->sample.raw_size = 0;
	s->record_counter = m->counter;
	*ret_event = (struct attar_event){.record = rec,
		.time = s->delivered,
		.counter = s->numbers[m->counter],
		.cpu = rec->cpu,
		.thread = &procs_thread(&s->procs, (pid_t)rec->pid, (pid_t)rec->tid)->pub};
	if (!ret_event->thread)
		return base_oom();
	s->stats.samples++;
	return 1;
}

void leader_samples_done(struct leader_samples *l)
{
	map_done(&l->counts);
	vec_done(&l->members);
}
