/* SPDX-License-Identifier: MIT */
/*
 * Overwritable rings. The kernel does not wait for the reader, so a ring is frozen before it is
 * read: PERF_EVENT_IOC_PAUSE_OUTPUT stops later writers, but does not wait for those in the middle
 * of a record. These run in an RCU read-side critical section (perf_output_begin() in
 * kernel/events/ring_buffer.c), which membarrier(2) waits for.
 *
 * In a backward-written ring, data_head decreases from 0 and points to the newest record; older
 * records follow it, up to one that is partly overwritten. In a forward-written ring, data_head
 * points to the end of the newest record, and the start of older ones is known only relative to an
 * end that was seen before.
 */
#include <linux/membarrier.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "perf/ring.h"

enum { LOOKS_MAX = 100 };

/* For kernels without membarrier(), or with nohz_full CPUs: no writer takes longer than this. */
static void wait_for_writers(void)
{
	const struct timespec long_enough = {.tv_nsec = 10 * 1000 * 1000};

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		nanosleep(&long_enough, NULL);
}

static int pause_writing(struct attar_ring *r, bool pause)
{
	if (TEMP_FAILURE_RETRY(ioctl(r->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause)) == 0)
		return 0;
	if (errno == ENOTTY)
		return attar_fail(
			-EOPNOTSUPP, "this kernel cannot pause output to a ring, so overwritable "
				     "rings cannot be read: requires Linux 4.7 or newer");
	return attar_fail(-errno, "cannot %s writing to the ring of CPU %d: %s",
		pause ? "stop" : "resume", r->cpu, strerror(errno));
}

static uint64_t head_of(const struct attar_ring *r)
{
	return __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/* Finds the records from position on; the last one is dropped if it is partly overwritten. */
static int collect(struct attar_ring *r, uint64_t position, uint64_t end, bool last_is_whole)
{
	while (position != end) {
		const struct perf_event_header *header = (const void *)ring_at(r, position);
		uint64_t size = header->size;

		if (size > end - position && !last_is_whole)
			return 0;
		if (size < sizeof(*header) || size % 8 || size > end - position) {
			log_warn("the ring of CPU %d has a record with an invalid size: older "
				 "records are lost",
				r->cpu);
			return 0;
		}
		if (vec_push(&r->positions, position) < 0)
			return base_oom();
		position += size;
	}
	return 0;
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t former = *a;

	*a = *b;
	*b = former;
}

static void reverse(struct attar_ring *r)
{
	for (size_t i = 0, j = r->positions.n; i + 1 < j--; i++)
		swap(&r->positions.at[i], &r->positions.at[j]);
}

static bool is_lost(const struct attar_ring *r, uint64_t position)
{
	return ((const struct perf_event_header *)ring_at(r, position))->type == PERF_RECORD_LOST;
}

/* A LOST record is written before the ring's next record, also backward. */
static void put_losses_first(struct attar_ring *r)
{
	for (size_t i = 1; i < r->positions.n; i++)
		if (is_lost(r, r->positions.at[i]))
			swap(&r->positions.at[i - 1], &r->positions.at[i]);
}

static int look_backward(struct attar_ring *r, uint64_t head)
{
	uint64_t written = r->seen - head;
	int result = collect(r, head, head + MIN(written, r->size), written <= r->size);

	reverse(r);
	put_losses_first(r);
	return result;
}

static int look_forward(struct attar_ring *r, uint64_t head)
{
	uint64_t from = r->seen;

	if (head - from <= r->size)
		return collect(r, from, head, true);
	r->seen = head;
	return attar_fail(-ESTALE,
		"the ring of CPU %d has wrapped since the last read, so the start of its records "
		"is unknown" ATTAR_FIX "read it more often, or use attr.write_backward (Linux 4.7)",
		r->cpu);
}

/*
 * Finds the records since the last freeze. If the head still moves, a writer was active: retries.
 */
static int overwrite_look(struct attar_ring *r)
{
	uint64_t head, shown, written;
	int result;

	for (int i = 0; i < LOOKS_MAX; i++) {
		r->positions.n = 0;
		head = head_of(r);
		result = r->backward ? look_backward(r, head) : look_forward(r, head);
		if (result < 0)
			return result;
		if (head_of(r) == head)
			break;
	}
	written = r->backward ? r->seen - head : head - r->seen;
	shown = MIN(written, r->size);
	r->forgotten += written - shown;
	r->wrapped = written > shown;
	r->seen = head;
	r->next = 0;
	r->frozen = true;
	return 0;
}

int rings_look(struct attar_ring *const *rings, size_t n)
{
	size_t records = 0;

	for (size_t i = 0; i < n; i++) {
		int r = rings[i]->overwritten ? overwrite_look(rings[i]) : 0;

		if (r < 0)
			return r;
		records += rings[i]->overwritten ? rings[i]->positions.n : 0;
	}
	return (int)MIN(records, (size_t)INT32_MAX);
}

int rings_freeze(struct attar_ring *const *rings, size_t n)
{
	CHECK_ARG(rings || !n, "rings");

	int r = 0;

	for (size_t i = 0; i < n; i++)
		CHECK_OWN(rings[i], "rings[]");
	for (size_t i = 0; r == 0 && i < n; i++)
		if (rings[i]->overwritten)
			r = pause_writing(rings[i], true);
	if (r == 0) {
		wait_for_writers();
		r = rings_look(rings, n);
	}
	for (size_t i = 0; r < 0 && i < n; i++)
		if (rings[i]->overwritten) {
			TEMP_FAILURE_RETRY(ioctl(rings[i]->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, 0));
			rings[i]->frozen = false;
		}
	return r;
}

int rings_thaw(struct attar_ring *const *rings, size_t n)
{
	CHECK_ARG(rings || !n, "rings");

	int result = 0;

	for (size_t i = 0; i < n; i++)
		CHECK_OWN(rings[i], "rings[]");
	for (size_t i = 0; i < n; i++) {
		int r = rings[i]->frozen ? pause_writing(rings[i], false) : 0;

		rings[i]->frozen = false;
		result = result < 0 ? result : r;
	}
	return result;
}

const struct perf_event_header *ring_take_frozen(struct attar_ring *r)
{
	if (r->next == r->positions.n)
		return NULL;
	return ring_record(r, r->positions.at[r->next++], RING_RECORD_MAX);
}

uint64_t ring_forgotten(const struct attar_ring *r)
{
	CHECK_ARG_OR(r, "ring", 0);

	return r->forgotten;
}
