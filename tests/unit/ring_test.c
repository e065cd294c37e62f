/* SPDX-License-Identifier: MIT */
/* The reader of a ring with a simulated kernel: bytes and positions are the whole interface. */
#include "unit.h"

#include "base/base.h"
#include "perf/ring.h"

enum { SIZE = 4096 };

struct fake_ring {
	struct perf_event_mmap_page page;
	char data[SIZE];
	struct attar_ring ring;
};

static void start(struct fake_ring *p, uint64_t at)
{
	memset(p, 0, sizeof(*p));
	p->page.data_head = p->page.data_tail = at;
	p->ring = (struct attar_ring){.page = &p->page,
		.data = p->data,
		.size = SIZE,
		.head = at,
		.tail = at,
		.newest = at,
		.fd = -1};
}

/*
 * The kernel's side: a record of n bytes whose payload counts up from seed; false if it does not
 * fit.
 */
static bool write_record(struct fake_ring *p, uint16_t n, unsigned char seed)
{
	struct perf_event_header header = {.type = PERF_RECORD_SAMPLE, .size = n};

	if (p->page.data_head + n - p->page.data_tail > SIZE)
		return false;
	for (size_t i = 0; i < n; i++)
		p->data[(p->page.data_head + i) % SIZE] =
			i < sizeof(header) ? ((char *)&header)[i] : (char)(seed + i);
	p->page.data_head += n;
	return true;
}

static void assert_record(const struct perf_event_header *header, uint16_t n, unsigned char seed)
{
	const unsigned char *bytes = (const unsigned char *)header;

	assert_non_null(header);
	assert_int_equal(header->size, n);
	for (size_t i = sizeof(*header); i < n; i++)
		assert_int_equal(bytes[i], (unsigned char)(seed + i));
}

/*
 * Two records that begin at every possible place of the ring, so that each wraps in every possible
 * way.
 */
static void test_wraps_at_every_offset(void **state)
{
	static struct fake_ring p;

	for (uint64_t at = 0; at < 2 * SIZE; at += 8) {
		start(&p, at);
		assert_true(write_record(&p, 264, 1));
		assert_true(write_record(&p, 1024, 2));
		attar_ring_begin(&p.ring);
		assert_record(attar_ring_next(&p.ring), 264, 1);
		assert_record(attar_ring_next(&p.ring), 1024, 2);
		assert_null(attar_ring_next(&p.ring));
		attar_ring_end(&p.ring);
		assert_int_equal(p.page.data_tail, at + 1288);
		free(p.ring.bounce);
	}
}

/*
 * What was not yet passed on stays the reader's: release gives back everything before the newest
 * record.
 */
static void test_release_keeps_the_newest_record(void **state)
{
	static struct fake_ring p;

	start(&p, 0);
	write_record(&p, 64, 1);
	write_record(&p, 64, 2);
	attar_ring_begin(&p.ring);
	assert_record(attar_ring_next(&p.ring), 64, 1);
	attar_ring_release(&p.ring);
	assert_int_equal(p.page.data_tail, 0);
	assert_record(attar_ring_next(&p.ring), 64, 2);
	attar_ring_release(&p.ring);
	assert_int_equal(p.page.data_tail, 64);
	attar_ring_end(&p.ring);
	assert_int_equal(p.page.data_tail, 128);
}

/* Records that the kernel writes while we read are left for the next read. */
static void test_reads_up_to_the_head_at_begin(void **state)
{
	static struct fake_ring p;

	start(&p, 0);
	write_record(&p, 64, 1);
	attar_ring_begin(&p.ring);
	write_record(&p, 64, 2);
	assert_record(attar_ring_next(&p.ring), 64, 1);
	assert_null(attar_ring_next(&p.ring));
	attar_ring_begin(&p.ring);
	assert_record(attar_ring_next(&p.ring), 64, 2);
}

/* 100,000 records of varying sizes through a full ring: none lost, none torn. */
static void test_100000_records_arrive_intact(void **state)
{
	static struct fake_ring p;
	uint64_t seed = 23, written = 0, read = 0;

	start(&p, 0);
	while (read < 100000) {
		while (write_record(&p, (uint16_t)(8 + 8 * (base_hash64(seed + written) % 60)),
			(unsigned char)written))
			written++;
		attar_ring_begin(&p.ring);
		for (const struct perf_event_header *h; (h = attar_ring_next(&p.ring)); read++)
			assert_record(h, (uint16_t)(8 + 8 * (base_hash64(seed + read) % 60)),
				(unsigned char)read);
		attar_ring_end(&p.ring);
		assert_int_equal(read, written);
	}
	free(p.ring.bounce);
}

/*
 * A size of 0 would be read forever; a size beyond the head would be read as records that do not
 * exist.
 */
static void test_invalid_sizes_end_the_read(void **state)
{
	const uint16_t sizes[] = {0, 7, 72, 65535};
	static struct fake_ring p;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		start(&p, 0);
		write_record(&p, 64, 1);
		((struct perf_event_header *)p.data)->size = sizes[i];
		attar_ring_begin(&p.ring);
		assert_null(attar_ring_next(&p.ring));
		assert_true(p.ring.broken);
		attar_ring_end(&p.ring);
		assert_int_equal(p.page.data_tail, 64); /* the kernel can go on */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wraps_at_every_offset),
		cmocka_unit_test(test_release_keeps_the_newest_record),
		cmocka_unit_test(test_reads_up_to_the_head_at_begin),
		cmocka_unit_test(test_100000_records_arrive_intact),
		cmocka_unit_test(test_invalid_sizes_end_the_read),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
