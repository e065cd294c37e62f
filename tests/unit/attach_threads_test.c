/* SPDX-License-Identifier: MIT */
/*
 * Threads that have inherited their counters are found by the FORK records in rings, whatever kind
 * of ring it is.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf/counter.h"
#include "perf/attach_threads.h"
#include "perf/ring.h"
#include "perf/target.h"

enum { SIZE = 4096, RECORD = 64, FITS = SIZE / RECORD, FIRST = 1 << 23 /* beyond any thread */ };

/* A ring of records of one size, which divides the ring's size. */
struct fake_ring {
	struct perf_event_mmap_page page;
	_Alignas(8) char data[SIZE];
	struct attar_ring ring;
};

static void start(struct fake_ring *p, bool overwritten, bool backward)
{
	memset(p, 0, sizeof(*p));
	p->ring = (struct attar_ring){.page = &p->page,
		.data = p->data,
		.size = SIZE,
		.overwritten = overwritten,
		.backward = backward};
}

static void write_fork(struct fake_ring *p, uint32_t tid)
{
	struct perf_event_header header = {.type = PERF_RECORD_FORK, .size = RECORD};
	uint32_t task[] = {1, 1, tid, 1}; /* pid, ppid, tid, ptid */
	uint64_t at = p->page.data_head - (p->ring.backward ? RECORD : 0);
	char *to = p->data + at % SIZE;

	memcpy(to, &header, sizeof(header));
	memcpy(to + sizeof(header), task, sizeof(task));
	p->page.data_head = at + (p->ring.backward ? 0 : RECORD);
}

/* Only this process, whose threads are all known: nothing is to be opened. */
static struct attar_target *this_process(void)
{
	char pid[16];
	struct attar_target_opts opts = {.size = sizeof(opts), .pids = pid};
	struct attar_target *target;

	snprintf(pid, sizeof(pid), "%d", getpid());
	if (attar_target_new(&opts, &target) < 0)
		fail_msg("%s", attar_error());
	return target;
}

/*
 * Returns how many of n forked threads, from the newest back, the target contains after attaching.
 */
static size_t known_of(struct fake_ring *p, uint32_t n)
{
	struct attar_counter counter = {.enabled = true}, *c = &counter;
	struct attar_target *target = this_process();
	struct attar_ring *ring = &p->ring;
	size_t known = 0;

	for (uint32_t i = 0; i < n; i++)
		write_fork(p, FIRST + i);
	assert_int_equal(attach_new_threads(target, &c, 1, &ring, 1), 0);
	while (known < n && map_get(&target->known, FIRST + n - 1 - known))
		known++;
	attar_target_free(target);
	return known;
}

static void test_forks_in_a_normal_ring(void **state)
{
	struct fake_ring p;

	start(&p, false, false);
	assert_int_equal(known_of(&p, FITS), FITS);
	assert_int_equal(p.ring.tail, 0); /* nothing was consumed */
}

static void test_forks_in_a_ring_written_backward(void **state)
{
	struct fake_ring p;

	start(&p, true, true);
	assert_int_equal(known_of(&p, 10), 10);
	start(&p, true, true);
	assert_int_equal(known_of(&p, 3 * FITS), FITS);
}

/* A ring that is overwritten forward has no known start: its bytes are not taken for records. */
static void test_overwritten_forward_ring_is_skipped(void **state)
{
	struct fake_ring p;

	start(&p, true, false);
	assert_int_equal(known_of(&p, 10), 10);
	start(&p, true, false);
	assert_int_equal(known_of(&p, 3 * FITS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forks_in_a_normal_ring),
		cmocka_unit_test(test_forks_in_a_ring_written_backward),
		cmocka_unit_test(test_overwritten_forward_ring_is_skipped),
	};

	return cmocka_run_group_tests_name("follow", tests, NULL, NULL);
}
