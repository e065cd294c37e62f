/* SPDX-License-Identifier: MIT */
/* Samples that arrive from rings in memory are compared with counts of the kernel. */
#include "unit.h"

#include <string.h>

#include "failing.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"
#include "stream/stream.h"

enum { BYTES = 4096, ID = 7 };

/* A stream of one breakpoint with one ring. The record layout is that of attar_stream_attr(). */
struct fixture {
	struct attar_target target;
	struct attar_counter counter, *counters[1];
	struct attar_layout layout;
	struct account account;
	uint32_t number;
	struct attar_symbols *symbols;
	struct perf_event_mmap_page page;
	_Alignas(8) char data[BYTES];
	struct attar_ring ring, *rings[1];
	struct counter_table table;
	struct cursor cursor, *heap[1];
	struct attar_stream s;
	uint64_t time;
};

static void start(struct fixture *f, uint64_t period)
{
	memset(f, 0, sizeof(*f));
	f->counter = (struct attar_counter){
		.attr = {.type = PERF_TYPE_BREAKPOINT, .sample_period = period}};
	attar_stream_attr(&f->counter.attr, false);
	f->counter.bpf_fd = -1;
	f->counters[0] = &f->counter;
	attar_layout_init(&f->layout, &f->counter.attr);
	f->ring = (struct attar_ring){.page = &f->page, .data = f->data, .size = BYTES, .fd = -1};
	f->rings[0] = &f->ring;
	f->cursor = (struct cursor){.ring = &f->ring, .counts = &f->table};
	assert_int_equal(attar_symbols_new(NULL, &f->symbols), 0);
	f->s = (struct attar_stream){.target = &f->target,
		.counters = f->counters,
		.layouts = &f->layout,
		.numbers = &f->number,
		.accounts = &f->account,
		.n_counters = 1,
		.rings = f->rings,
		.n_rings = 1,
		.cursors = &f->cursor,
		.n_cursors = 1,
		.merge = {.heap = f->heap},
		.side = SIZE_MAX,
		.has_clock = true,
		.next = stream_next_record,
		.skipped_pid = -1,
		.started = true};
	assert_int_equal(map_put(&f->s.ids, ID, 0), 0);
	stream_forget_ids(&f->s);
	procs_init(&f->s.procs, f->symbols, false);
	deferred_callchain_init(&f->s.defer);
}

static void stop(struct fixture *f)
{
	procs_done(&f->s.procs);
	deferred_callchain_done(&f->s.defer);
	map_done(&f->s.ids);
	vec_done(&f->s.missing);
	attar_symbols_free(f->symbols);
}

static void put(struct fixture *f, const void *bytes, size_t n)
{
	memcpy(f->data + f->page.data_head % BYTES, bytes, n);
	f->page.data_head += n;
}

static void put_samples(struct fixture *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct {
			struct perf_event_header header;
			uint64_t id;
			uint32_t pid, tid;
			uint64_t time, cpu;
		} sample = {{PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(sample)}, ID, 100,
			100, ++f->time, 0};

		put(f, &sample, sizeof(sample));
	}
}

static void put_loss(struct fixture *f, uint64_t lost)
{
	struct {
		struct perf_event_header header;
		uint64_t id, lost;
		uint32_t pid, tid;
		uint64_t time, cpu, identifier;
	} record = {{PERF_RECORD_LOST, 0, sizeof(record)}, ID, lost, 100, 100, ++f->time, 0, ID};

	put(f, &record, sizeof(record));
}

static uint64_t read_all(struct fixture *f)
{
	struct attar_event ev;
	uint64_t samples = 0;
	int r;

	while ((r = stream_next(&f->s, &ev)) > 0)
		samples += ev.record->type == PERF_RECORD_SAMPLE;
	assert_int_equal(r, 0);
	return samples;
}

/* The missing events if the kernel has counted so many in these instances. */
static uint64_t missing_of(struct fixture *f, uint64_t raw, uint64_t instances)
{
	struct ring_counts *counted = calloc(1, sizeof(*counted));

	*counted = (struct ring_counts){.raw = raw, .instances = instances};
	f->s.counted = counted;
	f->s.drained = true;
	missing_settle(&f->s, true);
	free(counted);
	f->s.counted = NULL;
	return f->s.stats.missing;
}

/* The last period of each instance is incomplete, and has no sample. */
static void test_incomplete_periods_are_not_missing(void **state)
{
	static const struct {
		uint64_t raw, samples, missing;
	} cases[] = {{4 * 8 + 3 + 3, 8, 0}, {4 * 8, 8, 0}, {4 * 20 + 3 + 3, 8, 11}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture f;

		start(&f, 4);
		put_samples(&f, cases[i].samples);
		assert_int_equal(read_all(&f), cases[i].samples);
		assert_int_equal(missing_of(&f, cases[i].raw, 2), cases[i].missing);
		stop(&f);
	}
}

static void test_each_sample_counts(void **state)
{
	struct fixture f;

	start(&f, 1);
	put_samples(&f, 30);
	assert_int_equal(read_all(&f), 30);
	assert_int_equal(missing_of(&f, 37, 1), 7);
	stop(&f);
}

/* Rings that are written backward lose samples only while they are stopped for a snapshot. */
static void test_losses_while_stopped(void **state)
{
	for (int backward = 0; backward < 2; backward++) {
		struct fixture f;

		start(&f, 1);
		f.counter.attr.read_format = 0; /* the kernel does not count losses */
		f.ring.backward = backward;
		put_samples(&f, 3);
		put_loss(&f, 5);
		put_loss(&f, 6);
		assert_int_equal(read_all(&f), 3);
		assert_int_equal(stream_lost_while_stopped(&f.s), backward ? 5 + 6 : 0);
		stop(&f);
	}
}

/* A sample is not dropped without a word. */
static void test_no_memory_for_a_thread(void **state)
{
	struct attar_event ev;
	struct fixture f;

	start(&f, 1);
	put_samples(&f, 1);
	failing_from(1);
	assert_int_equal(stream_next(&f.s, &ev), -ENOMEM);
	failing_from(0);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_incomplete_periods_are_not_missing),
		cmocka_unit_test(test_each_sample_counts),
		cmocka_unit_test(test_losses_while_stopped),
		cmocka_unit_test(test_no_memory_for_a_thread),
	};

	return cmocka_run_group_tests_name("missing", tests, NULL, NULL);
}
