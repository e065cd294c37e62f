/* SPDX-License-Identifier: MIT */
#include "run/counts/mixed.h"

#include "base/base.h"

void mixed_counts_done(struct mixed_counts *m)
{
	map_done(&m->running);
	map_done(&m->enabled);
	map_done(&m->threads);
	*m = (struct mixed_counts){0};
}

/* Events that never wait for a hardware counter. */
static bool is_software(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_SOFTWARE || attr->type == PERF_TYPE_TRACEPOINT;
}

/* A member of a group, as perf opens it, runs only together with its leader. */
static bool is_member(const struct perf_event_attr *attr)
{
	return !attr->disabled;
}

/* Whether a software event can be in a group with one that waits for a hardware counter. */
static bool may_wait(const struct recording *recording)
{
	bool members = false, hardware = false;

	for (size_t i = 0; i < recording_n_events(recording); i++) {
		const struct perf_event_attr *attr = &recording_get_event(recording, i)->attr;

		members |= attr->inherit_stat && is_member(attr);
		hardware |= attr->inherit_stat && !is_software(attr);
	}
	return members && hardware;
}

/* Each id has the place of a CPU. The number of ids: it is unknown. */
static size_t place_of(const struct recording_event *event, uint64_t id)
{
	size_t i = 0;

	while (i < event->n_ids && event->ids[i] != id)
		i++;
	return i;
}

static uint64_t difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Compares the times with the times of the first event. Events that begin with an exec are enabled
 * at the same time; others, one after the other, so that their enabled times differ too, and
 * running times by no more than these.
 */
static int mixed_compare(struct mixed_counts *m, uint32_t thread, size_t place, bool at_exec,
	const struct attar_read *read)
{
	uint64_t enabled = attar_read_time_enabled(read), running = attar_read_time_running(read);
	uint64_t key = (uint64_t)place << 32 | thread;
	const uint64_t *first_running = map_get(&m->running, key);
	const uint64_t *first_enabled = map_get(&m->enabled, key);
	uint64_t allowed;
	int r;

	if (!first_running || !first_enabled) {
		r = map_put(&m->running, key, running);
		return r == 0 ? map_put(&m->enabled, key, enabled) : r;
	}
	allowed = at_exec ? 0 : difference(*first_enabled, enabled);
	return difference(*first_running, running) > allowed ? map_put(&m->threads, thread, 0) : 0;
}

int mixed_counts_take(struct mixed_counts *m, const struct recording *recording, uint32_t thread,
	const struct attar_read *read)
{
	uint64_t id = read->nr ? attar_read_at(read, 0).id : 0;
	int index = id ? recording_find(recording, id) : -1;
	const struct recording_event *event;

	if (index < 0)
		return 0;
	event = recording_get_event(recording, (size_t)index);
	if (event->n_ids < 2 || !is_software(&event->attr) || may_wait(recording))
		return 0;
	if (!m->n_ids)
		m->n_ids = event->n_ids;
	if (event->n_ids != m->n_ids)
		return 0;
	return mixed_compare(m, thread, place_of(event, id), event->attr.enable_on_exec, read);
}

bool mixed_counts_has(const struct mixed_counts *m, uint32_t thread)
{
	return map_get(&m->threads, thread) != NULL;
}
