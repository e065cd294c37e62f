/* SPDX-License-Identifier: MIT */
#include "perf/attach_threads.h"

#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"

enum { ROUNDS_MAX = 16 }; /* a process may make threads as fast as they are opened */

/* PERF_RECORD_FORK: header, pid, ppid, tid, ptid. */
struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
};

/*
 * Reads the records in the ring without consuming them. A backward-written ring leads from the
 * newest record to the oldest. In a forward-written ring that has wrapped, no record start is
 * known.
 */
static int know_forked(struct attar_target *t, struct attar_ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = r->backward ? head : r->tail, end = r->backward ? 0 : head;

	if (end - at > r->size)
		end = r->backward ? at + r->size : at;
	while (at != end) {
		const struct perf_event_header *header = ring_record(r, at, end - at);

		if (!header)
			break;
		if (header->type == PERF_RECORD_FORK &&
			header->size >= sizeof(struct fork_record) &&
			target_know(t, (pid_t)((const struct fork_record *)header)->tid) < 0)
			return -ENOMEM;
		at += header->size;
	}
	return 0;
}

static int open_on_new(struct attar_target *t, struct attar_counter *const *counters,
	size_t n_counters, struct attar_ring **rings, size_t n_rings, size_t first)
{
	for (size_t i = 0; i < n_counters; i++) {
		size_t before = counters[i]->fds.n;
		int r = counter_add_tids(counters[i], t, first);

		if (r == 0)
			r = rings_redirect(rings, n_rings, counters[i], before);
		if (r < 0)
			return r;
	}
	return 0;
}

int attach_new_threads(struct attar_target *t, struct attar_counter *const *counters,
	size_t n_counters, struct attar_ring **rings, size_t n_rings)
{
	/* Disabled counters write no FORK records: which threads inherited them is unknown. */
	if (t->kind != ATTAR_TARGET_TASKS || !t->inherit || !t->pids.n || !n_counters ||
		!counters[0]->enabled)
		return 0;
	for (int round = 0; round < ROUNDS_MAX; round++) {
		size_t first = t->tids.n;
		int added, r = 0;

		for (size_t i = 0; r == 0 && i < n_rings; i++)
			r = know_forked(t, rings[i]);
		added = r < 0 ? r : target_rescan(t);
		if (added <= 0)
			return added;
		r = open_on_new(t, counters, n_counters, rings, n_rings, first);
		if (r < 0)
			return r;
	}
	return 0;
}
