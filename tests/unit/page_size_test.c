/* SPDX-License-Identifier: MIT */
/*
 * Rings and AUX areas on kernels with pages of 4, 16 and 64 KiB. A file stands for the event: the
 * kernel's page is its first page, followed by the records, followed by the area.
 */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "base/base.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "perf/aux.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "perf/target.h"

enum { KIB = 1024, FILE_SIZE = 4096 * KIB };

static long page;

long __real_sysconf(int name);
long __wrap_sysconf(int name);

long __wrap_sysconf(int name)
{
	return name == _SC_PAGESIZE ? page : __real_sysconf(name);
}

struct event {
	struct attar_target target;
	struct attar_counter *counter;
	struct attar_ring **rings;
	int fd;
};

static void event_open(struct event *e, size_t bytes)
{
	const struct perf_event_attr attr = {.sample_period = 1};
	size_t n;

	*e = (struct event){.target.process = check_process};
	e->fd = memfd_create("pages_of_an_event", MFD_CLOEXEC);
	assert_true(e->fd >= 0);
	assert_int_equal(ftruncate(e->fd, FILE_SIZE), 0);
	assert_int_equal(counter_new_recorded(&attr, "file", &e->counter), 0);
	assert_int_equal(counter_add_recorded(e->counter, 0, -1), 0);
	e->counter->fds.at[0].fd = e->fd;
	assert_int_equal(attar_rings_new(&e->target, &e->counter, 1, bytes, &e->rings, &n), 0);
	assert_int_equal(n, 1);
}

/* Unmaps everything. */
static void event_close(struct event *e)
{
	struct buf maps _cleanup_(buf_done) = {0};

	attar_rings_free(e->rings, 1);
	assert_int_equal(file_read("/proc/self/maps", 16 * KIB * KIB, &maps), 0);
	assert_null(strstr(buf_text(&maps), "pages_of_an_event"));
	counter_free(e->counter); /* closes fd */
}

static void put(const struct event *e, const void *bytes, size_t n, size_t offset)
{
	assert_int_equal(pwrite(e->fd, bytes, n, (off_t)offset), n);
}

static void put_u64(const struct event *e, uint64_t value, size_t offset)
{
	put(e, &value, sizeof(value), offset);
}

/* The size in pages is the next power of two. */
static size_t expected(size_t bytes)
{
	size_t pages = 1;

	while (pages * (size_t)page < bytes)
		pages *= 2;
	return pages * (size_t)page;
}

static void read_a_record(size_t bytes)
{
	const struct {
		struct perf_event_header header;
		uint64_t payload;
	} record = {{.type = PERF_RECORD_SAMPLE, .size = sizeof(record)}, 0x1122334455667788};
	const struct perf_event_header *read;
	struct event e;
	uint64_t tail;

	event_open(&e, bytes);
	assert_int_equal(ring_data_size(e.rings[0]), expected(bytes));
	put(&e, &record, sizeof(record), (size_t)page);
	put_u64(&e, sizeof(record), offsetof(struct perf_event_mmap_page, data_head));
	attar_ring_begin(e.rings[0]);
	read = attar_ring_next(e.rings[0]);
	assert_non_null(read);
	assert_memory_equal(read, &record, sizeof(record));
	assert_null(attar_ring_next(e.rings[0]));
	attar_ring_end(e.rings[0]);
	assert_int_equal(
		pread(e.fd, &tail, sizeof(tail), offsetof(struct perf_event_mmap_page, data_tail)),
		sizeof(tail));
	assert_int_equal(tail, sizeof(record));
	event_close(&e);
}

static void read_an_area(size_t bytes)
{
	struct attar_aux *aux;
	struct event e;
	size_t at;

	event_open(&e, 128 * KIB);
	at = (size_t)page + ring_data_size(e.rings[0]);
	assert_int_equal(attar_aux_new(e.rings[0], bytes, false, &aux), 0);
	assert_int_equal(attar_aux_size(aux), expected(bytes));
	assert_int_equal(e.rings[0]->page->aux_offset, at);
	assert_int_equal(e.rings[0]->page->aux_size, expected(bytes));
	put(&e, "first", 5, at);
	put(&e, "last", 4, at + expected(bytes) - 4);
	assert_memory_equal(aux->area, "first", 5);
	assert_memory_equal(aux->area + expected(bytes) - 4, "last", 4);
	attar_aux_free(aux);
	event_close(&e);
}

static void test_pages(void **state)
{
	static const long pages[] = {4 * KIB, 16 * KIB, 64 * KIB};
	static const size_t sizes[] = {1, 4 * KIB, 100000, 512 * KIB, 600 * KIB};

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++)
		for (size_t at = 0; at < ARRAY_SIZE(sizes); at++) {
			page = pages[i];
			read_a_record(sizes[at]);
			read_an_area(sizes[at]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages)};

	page = __real_sysconf(_SC_PAGESIZE);
	return cmocka_run_group_tests_name("page_size", tests, NULL, NULL);
}
