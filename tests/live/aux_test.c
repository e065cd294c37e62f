/* SPDX-License-Identifier: MIT */
/*
 * AUX areas with a simulated PMU: a file in memory with the layout of the kernel's mapping. No test
 * machine has a PMU with an AUX area; on these the kernel refuses one, which is tested too.
 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "attar/record.h"
#include "base/base.h"
#include "perf/aux.h"

enum { RING = 4096, AREA = 8192 };

struct fake_pmu {
	struct attar_ring ring;
	struct attar_aux *aux;
	struct perf_event_mmap_page *page;
	unsigned char *area; /* as seen by the PMU */
	bool overwrite, stopped;
};

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void start(struct fake_pmu *p, bool snapshot, uint64_t at)
{
	size_t before = page_size() + RING;
	int fd = memfd_create("aux", MFD_CLOEXEC);

	*p = (struct fake_pmu){.overwrite = snapshot};
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(before + AREA)), 0);
	p->page = mmap(NULL, before, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p->page, MAP_FAILED);
	p->ring = (struct attar_ring){.page = p->page, .size = RING, .fd = fd};
	p->page->aux_head = p->page->aux_tail = at;
	assert_int_equal(attar_aux_new(&p->ring, AREA - 1, snapshot, &p->aux), 0);
	assert_int_equal(attar_aux_size(p->aux), AREA);
	assert_int_equal(p->page->aux_offset, before);
	assert_int_equal(p->page->aux_size, AREA);
	p->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)before);
	assert_ptr_not_equal(p->area, MAP_FAILED);
}

static void finish(struct fake_pmu *p)
{
	attar_aux_free(p->aux);
	munmap(p->area, AREA);
	munmap(p->page, page_size() + RING);
	close(p->ring.fd);
}

static unsigned char byte_at(uint64_t position)
{
	return (unsigned char)(base_hash64(position) | 1); /* never 0 */
}

/* A PERF_RECORD_AUX as bytes, parsed. */
static struct attar_record parse(uint64_t offset, uint64_t size, uint64_t flags)
{
	static struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
	} bytes;
	struct attar_layout layout;
	struct attar_record rec;

	bytes.header = (struct perf_event_header){.type = PERF_RECORD_AUX, .size = sizeof(bytes)};
	bytes.offset = offset;
	bytes.size = size;
	bytes.flags = flags;
	attar_layout_init(&layout, &(struct perf_event_attr){0});
	assert_int_equal(attar_record_parse(&layout, &bytes, sizeof(bytes), &rec), 0);
	return rec;
}

/*
 * Like the kernel: data that do not fit before the tail are lost and reported, and the event stops.
 */
static struct attar_record trace(struct fake_pmu *p, size_t bytes)
{
	uint64_t head = p->page->aux_head, room = AREA - (head - p->page->aux_tail);
	size_t n = p->overwrite ? bytes : MIN(bytes, room);

	assert_false(p->stopped);
	for (size_t i = 0; i < n; i++)
		p->area[(head + i) % AREA] = byte_at(head + i);
	p->page->aux_head = head + n;
	p->stopped = n < bytes;
	return parse(head, n, p->stopped ? PERF_AUX_FLAG_TRUNCATED : 0);
}

static void assert_data(const struct attar_aux_data *data, uint64_t offset, size_t size)
{
	uint64_t at = offset;

	assert_int_equal(data->offset, offset);
	assert_int_equal(data->size, size);
	assert_int_equal(data->parts[0].size + data->parts[1].size, size);
	assert_true(!data->parts[1].size == !data->parts[1].bytes);
	for (int part = 0; part < 2; part++)
		for (size_t i = 0; i < data->parts[part].size; i++)
			assert_int_equal(
				((const unsigned char *)data->parts[part].bytes)[i], byte_at(at++));
}

/*
 * At every position of the area, also after a thousand wraps and near the maximum of the counters.
 */
static void test_data_are_one_or_two_pieces(void **state)
{
	const uint64_t rounds[] = {0, 1000, UINT64_MAX / AREA};
	struct attar_aux_data data;
	struct fake_pmu p;

	for (size_t r = 0; r < ARRAY_SIZE(rounds); r++) {
		start(&p, false, rounds[r] * AREA);
		for (uint64_t i = 0, at; i < 300; i++) {
			size_t n = base_hash64(i) % (AREA / 2) + 1;
			struct attar_record rec = trace(&p, n);

			at = rec.aux.offset;
			assert_int_equal(attar_aux_read(p.aux, &rec, &data), 0);
			assert_data(&data, at, n);
			assert_int_equal(data.parts[1].size > 0, at % AREA + n > AREA);
			assert_false(data.truncated);
			attar_aux_release(p.aux, &data);
			assert_int_equal(p.page->aux_tail, at + n);
		}
		finish(&p);
	}
}

/*
 * When the area is full, the trace stops with TRUNCATED. After a release it continues: the tail is
 * absolute, not modulo the area.
 */
static void test_full_area_continues_after_a_release(void **state)
{
	struct attar_aux_data data;
	struct attar_record rec;
	struct fake_pmu p;

	start(&p, false, 5 * AREA + 100);
	for (int round = 0; round < 10; round++) {
		rec = trace(&p, AREA + 1);
		assert_true(p.stopped);
		assert_int_equal(attar_aux_read(p.aux, &rec, &data), 0);
		assert_true(data.truncated);
		assert_data(&data, rec.aux.offset, AREA);
		attar_aux_release(p.aux, &data);
		p.stopped = false; /* attar_counter_enable() */
	}
	finish(&p);
}

/*
 * Several records can be read before one release returns all; returned data are no longer
 * available.
 */
static void test_release_includes_all_earlier_data(void **state)
{
	struct attar_aux_data first, second;
	struct attar_record a, b;
	struct fake_pmu p;

	start(&p, false, 0);
	a = trace(&p, 1000);
	b = trace(&p, 2000);
	assert_int_equal(attar_aux_read(p.aux, &a, &first), 0);
	assert_int_equal(attar_aux_read(p.aux, &b, &second), 0);
	attar_aux_release(p.aux, &second);
	assert_int_equal(p.page->aux_tail, 3000);
	attar_aux_release(p.aux, &first); /* too late: the tail does not move back */
	assert_int_equal(p.page->aux_tail, 3000);
	assert_int_equal(attar_aux_read(p.aux, &a, &first), -EBADMSG);
	finish(&p);
}

static void test_record_flags_are_decoded(void **state)
{
	struct attar_aux_data data;
	struct attar_record rec;
	struct fake_pmu p;

	start(&p, false, 0);
	trace(&p, 100);
	rec = parse(0, 100, PERF_AUX_FLAG_PARTIAL | 0x0100);
	assert_int_equal(attar_aux_read(p.aux, &rec, &data), 0);
	assert_true(data.partial && !data.truncated && !data.collision && !data.overwritten);
	assert_int_equal(data.format, 1);
	rec = parse(0, 100, PERF_AUX_FLAG_COLLISION | PERF_AUX_FLAG_OVERWRITE);
	assert_int_equal(attar_aux_read(p.aux, &rec, &data), 0);
	assert_true(data.collision && data.overwritten && !data.partial);
	finish(&p);
}

/* Records of data that do not exist are refused, whatever their values. */
static void test_invalid_records_are_refused(void **state)
{
	const uint64_t numbers[] = {
		1, 100, 200, AREA - 1, AREA + 1, UINT64_MAX, UINT64_MAX - AREA, 1ULL << 63};
	struct attar_aux_data data;
	struct attar_record rec;
	struct fake_pmu p;

	start(&p, false, 0);
	trace(&p, 150);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		for (size_t j = 0; j < ARRAY_SIZE(numbers); j++) {
			rec = parse(numbers[i], numbers[j], 0);
			if (numbers[i] <= 150 && numbers[j] <= 150 - numbers[i])
				assert_int_equal(attar_aux_read(p.aux, &rec, &data), 0);
			else
				assert_int_equal(attar_aux_read(p.aux, &rec, &data), -EBADMSG);
		}
	rec.type = PERF_RECORD_COMM;
	assert_int_equal(attar_aux_read(p.aux, &rec, &data), -EINVAL);
	assert_int_equal(attar_aux_snapshot(p.aux, &data), -EINVAL);
	finish(&p);
}

/* Heads that are free-running, and (Intel PT) heads that are offsets into the area. */
static void test_snapshot_returns_the_newest_data(void **state)
{
	struct attar_aux_data data;
	struct attar_record rec;
	struct fake_pmu p;

	start(&p, true, 0);
	assert_int_equal(attar_aux_snapshot(p.aux, &data), 0);
	assert_data(&data, 0, 0);
	trace(&p, 3000);
	assert_int_equal(attar_aux_snapshot(p.aux, &data), 0);
	assert_data(&data, 0, 3000);
	assert_true(data.overwritten);
	rec = trace(&p, 3 * AREA);
	assert_int_equal(attar_aux_snapshot(p.aux, &data), 0);
	assert_data(&data, 2 * AREA + 3000, AREA);
	assert_int_equal(data.parts[0].size, AREA - 3000);
	assert_int_equal(data.parts[1].size, 3000);
	assert_int_equal(attar_aux_read(p.aux, &rec, &data), -EINVAL);
	p.page->aux_head %= AREA;
	assert_int_equal(attar_aux_snapshot(p.aux, &data), 0);
	assert_int_equal(data.size, AREA);
	assert_ptr_equal(data.parts[0].bytes, (const char *)p.aux->area + 3000);
	assert_int_equal(data.parts[1].size, 3000);
	finish(&p);
}

static void test_pmu_without_aux_is_refused(void **state)
{
	struct attar_target *self = live_self();
	struct attar_counter *c = live_software(self, PERF_COUNT_SW_DUMMY);
	struct attar_ring **rings;
	struct attar_aux *aux;
	size_t n;

	assert_int_equal(attar_rings_new(self, &c, 1, 4096, &rings, &n), 0);
	assert_int_equal(attar_aux_new(rings[0], 65536, false, &aux), -EOPNOTSUPP);
	assert_non_null(strstr(attar_error(), "Intel PT, Arm SPE, CoreSight"));
	attar_rings_free(rings, n);
	assert_int_equal(rings_new_overwritten(self, &c, 1, 4096, &rings, &n), 0);
	assert_int_equal(attar_aux_new(rings[0], 65536, false, &aux), -EINVAL);
	attar_rings_free(rings, n);
	attar_counter_close(c);
	attar_target_free(self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_are_one_or_two_pieces),
		cmocka_unit_test(test_full_area_continues_after_a_release),
		cmocka_unit_test(test_release_includes_all_earlier_data),
		cmocka_unit_test(test_record_flags_are_decoded),
		cmocka_unit_test(test_invalid_records_are_refused),
		cmocka_unit_test(test_snapshot_returns_the_newest_data),
		cmocka_unit_test(test_pmu_without_aux_is_refused),
	};

	return cmocka_run_group_tests_name("aux", tests, NULL, NULL);
}
