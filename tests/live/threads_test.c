/* SPDX-License-Identifier: MIT */
/*
 * Several threads at once, each with its own objects, and a ring whose writer runs in parallel with
 * its reader. These tests are most useful with ThreadSanitizer: tests/e2e/test_threads.py builds
 * them with it.
 */
#include "live.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/run.h"
#include "attar/stream.h"
#include "base/base.h"
#include "perf/ring.h"

enum { THREADS = 4 };

/* ---- a ring ---- */

enum { RING_BYTES = 4096, RECORDS = 100000, WORDS_MAX = 16 };

/* A record whose words all hold its number. */
struct numbered {
	struct perf_event_header header;
	uint64_t words[WORDS_MAX];
};

struct fake_ring {
	struct perf_event_mmap_page page;
	char data[RING_BYTES];
};

/* The kernel's side, in its order: check for space, write the bytes, then publish the head. */
static void write_record(struct fake_ring *p, const struct numbered *rec)
{
	uint64_t head = p->page.data_head;

	while (head + rec->header.size - __atomic_load_n(&p->page.data_tail, __ATOMIC_ACQUIRE) >
		RING_BYTES)
		sched_yield();
	for (size_t i = 0; i < rec->header.size; i++)
		p->data[(head + i) % RING_BYTES] = ((const char *)rec)[i];
	__atomic_store_n(&p->page.data_head, head + rec->header.size, __ATOMIC_RELEASE);
}

static void *play_kernel(void *arg)
{
	struct fake_ring *p = arg;

	for (uint64_t i = 0; i < RECORDS; i++) {
		size_t words = 1 + i % WORDS_MAX;
		struct numbered rec = {
			.header = {.type = PERF_RECORD_SAMPLE, .size = (uint16_t)(8 + 8 * words)}};

		for (size_t w = 0; w < words; w++)
			rec.words[w] = i;
		write_record(p, &rec);
	}
	return NULL;
}

static void test_ring_is_read_while_it_is_written(void **state)
{
	static struct fake_ring p;
	struct attar_ring ring = {.page = &p.page, .data = p.data, .size = RING_BYTES, .fd = -1};
	const struct perf_event_header *header;
	pthread_t kernel;
	uint64_t next = 0;

	assert_int_equal(pthread_create(&kernel, NULL, play_kernel, &p), 0);
	while (next < RECORDS) {
		attar_ring_begin(&ring);
		while ((header = attar_ring_next(&ring))) {
			size_t words = 1 + next % WORDS_MAX;

			assert_int_equal(header->size, 8 + 8 * words);
			for (size_t w = 0; w < words; w++)
				assert_int_equal(((const uint64_t *)(header + 1))[w], next);
			if (next++ % 3 == 0)
				attar_ring_release(&ring);
		}
		attar_ring_end(&ring);
		sched_yield();
	}
	pthread_join(kernel, NULL);
	free(ring.bounce);
}

/* ---- threads with their own objects; results are checked after they have ended ---- */

struct worker {
	int number, result;
	size_t seen;
	char error[256];
	struct attar_run *run;
	sem_t runs;
};

static void work(void *(*fn)(void *), struct worker workers[THREADS])
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, fn, &workers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

static size_t touch_pages(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area =
		mmap(NULL, n * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (area == MAP_FAILED)
		return 0;
	madvise(area, n * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		((volatile char *)area)[i * page] = 1;
	return (size_t)area;
}

/* Returns the number of faults in [area, area + n pages) that the stream delivers. */
static size_t faults_in(struct attar_stream *stream, size_t area, size_t n)
{
	size_t bytes = n * (size_t)sysconf(_SC_PAGESIZE), found = 0;
	struct attar_event ev;

	while (attar_stream_next(stream, &ev) > 0)
		found += ev.record->type == PERF_RECORD_SAMPLE &&
			 ev.record->sample.addr - area < bytes;
	return found;
}

static void *watch_own_faults(void *arg)
{
	struct worker *w = arg;
	size_t pages = 100 + 10 * (size_t)w->number, area = 0;
	struct attar_target_opts target_opts = {
		.size = sizeof(target_opts), .self = true, .any_cpu = true};
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.exclude_kernel = 1};
	struct attar_symbols *symbols = NULL;
	struct attar_target *target = NULL;
	struct attar_counter *counter = NULL;
	struct attar_stream *stream = NULL;

	attar_stream_attr(&attr, true);
	w->result = attar_symbols_new(NULL, &symbols);
	if (w->result == 0)
		w->result = attar_target_new(&target_opts, &target);
	if (w->result == 0)
		w->result = attar_counter_open(target, &attr, "page-faults", 0, &counter);
	if (w->result == 0)
		w->result = attar_stream_live(target, &counter, 1, symbols, &opts, &stream);
	if (w->result == 0)
		w->result = attar_stream_start(stream);
	if (w->result == 0) {
		area = touch_pages(pages);
		w->result = attar_stream_stop(stream);
	}
	if (w->result == 0)
		w->seen = faults_in(stream, area, pages);
	else
		snprintf(w->error, sizeof(w->error), "%s", attar_error());
	attar_stream_free(stream);
	attar_counter_close(counter);
	attar_target_free(target);
	attar_symbols_free(symbols);
	return NULL;
}

static void test_streams_run_in_parallel(void **state)
{
	struct worker workers[THREADS];

	attar_target_free(live_self());
	work(watch_own_faults, workers);
	for (int i = 0; i < THREADS; i++) {
		if (workers[i].result < 0)
			fail_msg("thread %d: %s", i, workers[i].error);
		assert_int_equal(workers[i].seen, 100 + 10 * i);
	}
}

static int count_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	struct worker *w = ctx;

	w->seen++;
	return 0;
}

static void say_it_runs(void *ctx)
{
	struct worker *w = ctx;

	sem_post(&w->runs);
}

/* Stops the worker's run from another thread as soon as its loop runs. */
static void *stop_when_it_runs(void *arg)
{
	struct worker *w = arg;

	while (sem_wait(&w->runs) < 0)
		;
	attar_run_stop(w->run);
	return NULL;
}

static void *run_until_stopped(void *arg)
{
	static const char *const profilers[] = {"stat", "profile", "trace", "stat"};
	struct worker *w = arg;
	struct attar_run_hooks hooks = {
		.size = sizeof(hooks), .ctx = w, .report = count_report, .turn = say_it_runs};
	pthread_t stopper;

	sem_init(&w->runs, 0, 0);
	w->result = attar_run_new(profilers[w->number], &w->run);
	if (w->result == 0)
		w->result = attar_run_set(w->run, "event", "page-faults");
	if (w->result == 0)
		w->result = attar_run_set(w->run, "duration", "60s");
	if (w->result == 0 && pthread_create(&stopper, NULL, stop_when_it_runs, w) == 0) {
		w->result = attar_run_go(w->run, &hooks);
		sem_post(&w->runs); /* a run that failed had no round */
		pthread_join(stopper, NULL);
	}
	if (w->result < 0)
		snprintf(w->error, sizeof(w->error), "%s", attar_error());
	w->run = attar_run_free(w->run);
	sem_destroy(&w->runs);
	return NULL;
}

static void test_parallel_runs_are_stopped_by_other_threads(void **state)
{
	struct worker workers[THREADS];

	live_need_root("watch the whole system");
	work(run_until_stopped, workers);
	for (int i = 0; i < THREADS; i++) {
		if (workers[i].result < 0)
			fail_msg("thread %d: %s", i, workers[i].error);
		assert_true(workers[i].seen >= 1);
	}
}

static void *fail_in_its_own_words(void *arg)
{
	struct worker *w = arg;
	struct attar_run *run = NULL;
	char name[32];

	snprintf(name, sizeof(name), "nonsense-%d", w->number);
	for (int i = 0; i < 100; i++) {
		w->result = attar_run_new(name, &run);
		w->seen += strstr(attar_error(), name) != NULL;
	}
	return NULL;
}

static void test_errors_belong_to_their_thread(void **state)
{
	struct worker workers[THREADS];

	attar_run_new("mine", (struct attar_run *[1]){NULL});
	work(fail_in_its_own_words, workers);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(workers[i].result, -ENOENT);
		assert_int_equal(workers[i].seen, 100);
	}
	assert_non_null(strstr(attar_error(), "mine"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_is_read_while_it_is_written),
		cmocka_unit_test(test_streams_run_in_parallel),
		cmocka_unit_test(test_parallel_runs_are_stopped_by_other_threads),
		cmocka_unit_test(test_errors_belong_to_their_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
