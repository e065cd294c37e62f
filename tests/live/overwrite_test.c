/* SPDX-License-Identifier: MIT */
/* Rings that are overwritten: first with a simulated kernel, then with the real one. */
#include "live.h"

#include <stdio.h>

#include "attar/private/perf.h"
#include "attar/record.h"
#include "base/base.h"
#include "perf/ring.h"

enum { SIZE = 4096, HISTORY = 4096 };

struct fake_ring {
	struct perf_event_mmap_page page;
	_Alignas(8) char data[SIZE];
	struct attar_ring ring;
	uint16_t sizes[HISTORY]; /* of all records written */
	size_t n;
};

static void start(struct fake_ring *p, bool backward, uint64_t at)
{
	vec_done(&p->ring.positions);
	free(p->ring.bounce);
	memset(p, 0, sizeof(*p));
	p->page.data_head = at;
	p->ring = (struct attar_ring){.page = &p->page,
		.data = p->data,
		.size = SIZE,
		.fd = -1,
		.overwritten = true,
		.backward = backward,
		.seen = at};
}

/* Writes like the kernel, without regard to readers. Payloads contain the record's number. */
static void write_record(struct fake_ring *p, uint16_t size)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = size};
	uint64_t at = p->ring.backward ? p->page.data_head - size : p->page.data_head;

	for (size_t i = 0; i < size; i++)
		p->data[(at + i) % SIZE] = i < sizeof(header)
						   ? ((char *)&header)[i]
						   : (char)(base_hash64(p->n) >> i % 8 * 8);
	p->sizes[p->n++] = size;
	p->page.data_head = p->ring.backward ? at : at + size;
}

static void assert_record(
	const struct fake_ring *p, const struct perf_event_header *header, size_t number)
{
	const char *bytes = (const char *)header;

	assert_non_null(header);
	assert_int_equal(header->size, p->sizes[number]);
	for (size_t i = sizeof(*header); i < header->size; i++)
		assert_int_equal(bytes[i], (char)(base_hash64(number) >> i % 8 * 8));
}

static int look(struct fake_ring *p)
{
	struct attar_ring *ring = &p->ring;

	return rings_look(&ring, 1);
}

/* All records from number `first` on are returned, oldest first, and then none. */
static void assert_records(struct fake_ring *p, size_t first)
{
	for (size_t i = first; i < p->n; i++)
		assert_record(p, attar_ring_next(&p->ring), i);
	assert_null(attar_ring_next(&p->ring));
	p->ring.frozen = false;
}

/* Returns the oldest complete record in the newest SIZE bytes. */
static size_t oldest_whole(const struct fake_ring *p)
{
	size_t bytes = 0, i = p->n;

	while (i && bytes + p->sizes[i - 1] <= SIZE)
		bytes += p->sizes[--i];
	return i;
}

/*
 * Any number of records up to five wraps, of random sizes, from every position: the newest complete
 * ones are returned.
 */
static void test_backward_ring_gives_the_newest_complete_records(void **state)
{
	static struct fake_ring p;

	for (uint64_t seed = 0; seed < 3000; seed++) {
		size_t first, forgotten = 0;

		start(&p, true, base_hash64(seed) & ~7ULL);
		for (size_t i = 0, n = seed % 97; i < n; i++)
			write_record(&p, (uint16_t)(16 + 8 * (base_hash64(seed * 100 + i) % 60)));
		first = oldest_whole(&p);
		assert_int_equal(look(&p), p.n - first);
		assert_records(&p, first);
		for (size_t i = 0; i < p.n; i++)
			forgotten += p.sizes[i];
		assert_int_equal(ring_forgotten(&p.ring), forgotten > SIZE ? forgotten - SIZE : 0);
	}
	start(&p, true, 0);
}

/* A snapshot does not return the records of the previous one. */
static void test_snapshots_give_each_record_once(void **state)
{
	static struct fake_ring p;
	size_t given = 0;

	start(&p, true, 0);
	for (size_t round = 0; round < 200; round++) {
		size_t first;

		for (size_t i = 0, n = base_hash64(round) % 17; i < n; i++)
			write_record(&p, (uint16_t)(16 + 8 * (base_hash64(p.n) % 60)));
		first = MAX(oldest_whole(&p), given);
		assert_int_equal(look(&p), p.n - first);
		assert_records(&p, first);
		given = p.n;
	}
	start(&p, true, 0);
}

static void test_forward_ring_gives_all_records_or_fails(void **state)
{
	static struct fake_ring p;

	start(&p, false, 0);
	for (size_t i = 0; i < SIZE / 64; i++)
		write_record(&p, 64);
	assert_int_equal(look(&p), SIZE / 64);
	assert_records(&p, 0);
	write_record(&p, 1024);
	assert_int_equal(look(&p), 1);
	assert_records(&p, SIZE / 64);
	for (size_t i = 0; i < SIZE / 64 + 1; i++)
		write_record(&p, 64);
	assert_int_equal(look(&p), -ESTALE);
	assert_non_null(strstr(attar_error(), "attr.write_backward"));
	write_record(&p, 64); /* from here on its end is known again */
	assert_int_equal(look(&p), 1);
	assert_records(&p, p.n - 1);
	start(&p, false, 0);
}

/* Bytes that are not records end the snapshot; nothing beyond is read. */
static void test_invalid_bytes_end_the_snapshot(void **state)
{
	static struct fake_ring p;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		const struct perf_event_header *header;
		size_t bytes = 0;

		start(&p, seed % 2, 0);
		for (size_t i = 0; i < SIZE / 8; i++)
			((uint64_t *)p.data)[i] = base_hash64(seed * SIZE + i) &
						  (seed % 3 ? UINT64_MAX : 0x00ffffffffffffff);
		p.page.data_head = seed % 2 ? -(uint64_t)SIZE : SIZE;
		assert_true(look(&p) >= 0);
		while ((header = attar_ring_next(&p.ring)))
			bytes += header->size;
		assert_true(bytes <= SIZE);
	}
	start(&p, true, 0);
}

/* ---- the kernel's own ---- */

static struct attar_counter *open_faults(struct attar_target *target, bool backward)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR | PERF_SAMPLE_TIME,
		.exclude_kernel = 1,
		.write_backward = backward,
		.disabled = 1};
	struct attar_counter *counter;

	if (attar_counter_open(target, &attr, "page-faults", 0, &counter) < 0)
		live_skip(attar_error());
	return counter;
}

/* Returns the page numbers of area in the frozen ring, oldest first; they must be consecutive. */
static size_t consecutive(struct attar_counter *c, struct attar_ring *ring, const char *area,
	size_t pages, uint64_t *ret_last)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	const struct perf_event_header *header;
	struct attar_layout layout;
	struct attar_record rec;

	attar_layout_init(&layout, attar_counter_attr(c));
	while ((header = attar_ring_next(ring))) {
		uint64_t at;

		assert_int_equal(attar_record_parse(&layout, header, header->size, &rec), 0);
		if (rec.type != PERF_RECORD_SAMPLE)
			continue;
		at = (rec.sample.addr - (uintptr_t)area) / page;
		if (rec.sample.addr < (uintptr_t)area || at >= pages)
			continue;
		if (n++)
			assert_int_equal(at, *ret_last + 1);
		*ret_last = at;
	}
	return n;
}

/*
 * 24 bytes per record: a page holds 170 of them. The end is frozen; the rest continues afterwards.
 */
static void test_live_backward_ring_keeps_the_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 1000, n;
	struct attar_target *target = live_self();
	struct attar_counter *c = open_faults(target, true);
	const struct perf_event_header *header;
	char *area = live_map(pages);
	struct attar_ring **rings;
	uint64_t last = 0;

	assert_int_equal(attar_rings_new(target, &c, 1, page, &rings, &n), 0);
	attar_counter_enable(c);
	live_touch(area, 0, 600);
	assert_true(rings_freeze(rings, n) >= 0);
	live_touch(area, 600, 700); /* these are not recorded */
	assert_in_range(consecutive(c, rings[0], area, pages, &last), page / 24 - 8, page / 24);
	assert_int_equal(last, 599);
	assert_int_equal(rings_thaw(rings, n), 0);
	assert_null(attar_ring_next(rings[0]));
	live_touch(area, 700, 720);
	assert_true(rings_freeze(rings, n) >= 20);
	/* The kernel records it with page 700, and in such a ring after it. */
	header = attar_ring_next(rings[0]);
	assert_int_equal(header->type, PERF_RECORD_LOST);
	assert_in_range(
		((const uint64_t *)(header + 1))[1], 100, 200); /* and the page faults of reading */
	assert_int_equal(consecutive(c, rings[0], area, pages, &last), 20);
	assert_int_equal(last, 719);
	rings_thaw(rings, n);
	attar_rings_free(rings, n);
	attar_counter_close(c);
	attar_target_free(target);
	live_unmap(area, pages);
}

static void test_live_forward_ring(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = 1000, n;
	struct attar_target *target = live_self();
	struct attar_counter *c = open_faults(target, false);
	char *area = live_map(pages);
	struct attar_ring **rings;
	uint64_t last = 0;

	assert_int_equal(rings_new_overwritten(target, &c, 1, page, &rings, &n), 0);
	attar_counter_enable(c);
	live_touch(area, 0, 100);
	assert_true(rings_freeze(rings, n) >= 100);
	assert_int_equal(consecutive(c, rings[0], area, pages, &last), 100);
	rings_thaw(rings, n);
	live_touch(area, 100, 900);
	assert_int_equal(rings_freeze(rings, n), -ESTALE);
	live_touch(area, 900, 950); /* a refused freeze stops no ring */
	assert_true(rings_freeze(rings, n) >= 50);
	assert_int_equal(consecutive(c, rings[0], area, pages, &last), 50);
	assert_int_equal(last, 949);
	rings_thaw(rings, n);
	attar_rings_free(rings, n);
	attar_counter_close(c);
	attar_target_free(target);
	live_unmap(area, pages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_backward_ring_gives_the_newest_complete_records),
		cmocka_unit_test(test_snapshots_give_each_record_once),
		cmocka_unit_test(test_forward_ring_gives_all_records_or_fails),
		cmocka_unit_test(test_invalid_bytes_end_the_snapshot),
		cmocka_unit_test(test_live_backward_ring_keeps_the_end),
		cmocka_unit_test(test_live_forward_ring),
	};

	return cmocka_run_group_tests_name("overwrite", tests, NULL, NULL);
}
