/* SPDX-License-Identifier: MIT */
/*
 * Call chains whose user half is delivered later: the table of waiting samples, the stream with
 * written records, and the kernel.
 */
#include "live.h"

#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attar/private/stream.h"
#include "attar/stream.h"
#include "base/base.h"
#include "perf/counter.h"
#include "perf/ring.h"
#include "stream/deferred_callchain.h"

#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)
#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define LATER  ATTAR_MARKER_USER_DEFERRED

enum { WORDS = 64 };

/* A record of words, laid out for IDENTIFIER, TID, TIME, CPU and CALLCHAIN with sample_id_all. */
struct written {
	uint64_t words[WORDS];
	size_t n;
};

static void put(struct written *w, uint64_t word)
{
	w->words[w->n++] = word;
}

static uint64_t task_word(void)
{
	return (uint32_t)getpid() | (uint64_t)(uint32_t)gettid() << 32;
}

static void finish(struct written *w, uint32_t type)
{
	struct perf_event_header header = {.type = type,
		.misc = PERF_RECORD_MISC_KERNEL,
		.size = (uint16_t)(w->n * sizeof(uint64_t))};

	memcpy(w->words, &header, sizeof(header));
}

static struct written sample(uint64_t id, uint64_t time, const uint64_t *chain, size_t n)
{
	struct written w = {.n = 1};

	put(&w, id);
	put(&w, task_word());
	put(&w, time);
	put(&w, 0); /* CPU */
	put(&w, n);
	for (size_t i = 0; i < n; i++)
		put(&w, chain[i]);
	finish(&w, PERF_RECORD_SAMPLE);
	return w;
}

static struct written second_half(
	uint64_t id, uint64_t time, uint64_t cookie, const uint64_t *chain, size_t n)
{
	struct written w = {.n = 1};

	put(&w, cookie);
	put(&w, n);
	for (size_t i = 0; i < n; i++)
		put(&w, chain[i]);
	put(&w, task_word());
	put(&w, time);
	put(&w, 0);
	put(&w, id);
	finish(&w, PERF_RECORD_CALLCHAIN_DEFERRED_);
	return w;
}

static const struct perf_event_attr attr_of_all = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
		       PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN,
	.sample_id_all = 1};

/* ---- the table ---- */

static void hold(struct deferred_callchains *d, const struct attar_layout *layout, uint64_t time,
	uint64_t cookie)
{
	const uint64_t chain[] = {KERNEL, 0xffffffff81000000 + time, LATER, cookie};
	struct written w = sample(7, time, chain, ARRAY_SIZE(chain));
	struct attar_record rec;

	assert_int_equal(attar_record_parse(layout, w.words, w.n * 8, &rec), 0);
	assert_true(deferred_callchain_concerns(&rec.sample));
	assert_int_equal(deferred_callchain_hold(d,
				 &(struct attar_event){.record = &rec, .time = time, .counter = 0},
				 0),
		0);
}

static void resume(
	struct deferred_callchains *d, const struct attar_layout *layout, uint64_t cookie)
{
	const uint64_t chain[] = {USER, 0x1000 + cookie, 0x2000 + cookie};
	struct written w = second_half(7, 1, cookie, chain, ARRAY_SIZE(chain));
	struct attar_record rec;

	assert_int_equal(attar_record_parse(layout, w.words, w.n * 8, &rec), 0);
	assert_int_equal(deferred_callchain_resume(d, &rec), 0);
}

/* The next sample has this time, and is complete if it has a cookie. */
static void assert_next(struct deferred_callchains *d, const struct attar_layout *layout,
	uint64_t time, uint64_t cookie)
{
	struct attar_callchain chain;
	struct attar_record rec;
	struct attar_event ev = {0};
	uint64_t ip;

	assert_int_equal(deferred_callchain_take(d, layout, &rec, &ev), 1);
	assert_int_equal(ev.time, time);
	assert_int_equal(rec.time, time);
	attar_callchain_init(&chain, rec.sample.callchain, rec.sample.callchain_nr, rec.misc);
	assert_true(attar_callchain_next(&chain, &ip));
	assert_int_equal(ip, 0xffffffff81000000 + time);
	assert_int_equal(chain.context, ATTAR_CONTEXT_KERNEL);
	for (uint64_t i = 1; cookie && i <= 2; i++) {
		assert_true(attar_callchain_next(&chain, &ip));
		assert_int_equal(ip, i * 0x1000 + cookie);
		assert_int_equal(chain.context, ATTAR_CONTEXT_USER);
	}
	assert_false(attar_callchain_next(&chain, &ip));
	assert_int_equal(chain.deferred, !cookie);
}

static bool memory_ran_out;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	return memory_ran_out ? NULL : __real_realloc(p, size);
}

static void test_samples_are_delivered_without_memory(void **state)
{
	const uint64_t half[] = {USER, 0x1000, 0x2000};
	struct written w = second_half(7, 1, 23, half, ARRAY_SIZE(half));
	struct attar_layout layout;
	struct attar_record rec;
	struct attar_event ev;
	struct deferred_callchains d;

	attar_layout_init(&layout, &attr_of_all);
	deferred_callchain_init(&d);
	for (uint64_t time = 1; time <= 3; time++)
		hold(&d, &layout, time, 23);
	hold(&d, &layout, 4, 42);
	assert_int_equal(attar_record_parse(&layout, w.words, w.n * 8, &rec), 0);
	memory_ran_out = true;
	assert_int_equal(deferred_callchain_resume(&d, &rec), -ENOMEM);
	memory_ran_out = false;
	for (uint64_t time = 1; time <= 3; time++)
		assert_next(&d, &layout, time, 0);
	assert_int_equal(deferred_callchain_take(&d, &layout, &rec, &ev), 0);
	assert_true(deferred_callchain_give_up(&d));
	assert_next(&d, &layout, 4, 0);
	assert_false(deferred_callchain_give_up(&d));
	assert_int_equal(d.stitched, 0);
	assert_int_equal(d.missing, 4);
	deferred_callchain_done(&d);
}

static void test_halves_are_joined_by_cookie(void **state)
{
	struct attar_layout layout;
	struct attar_record rec;
	struct attar_event ev;
	struct deferred_callchains d;

	attar_layout_init(&layout, &attr_of_all);
	deferred_callchain_init(&d);
	resume(&d, &layout, 5); /* no sample waits for it */
	hold(&d, &layout, 10, 1);
	hold(&d, &layout, 11, 2);
	hold(&d, &layout, 12, 1);
	hold(&d, &layout, 13, 3);
	assert_int_equal(deferred_callchain_take(&d, &layout, &rec, &ev), 0);
	resume(&d, &layout, 1); /* two samples of one system call */
	assert_next(&d, &layout, 10, 1);
	assert_next(&d, &layout, 12, 1);
	assert_int_equal(deferred_callchain_take(&d, &layout, &rec, &ev), 0);
	resume(&d, &layout, 1); /* a cookie is used once */
	assert_int_equal(deferred_callchain_take(&d, &layout, &rec, &ev), 0);
	resume(&d, &layout, 3);
	assert_next(&d, &layout, 13, 3);
	assert_true(deferred_callchain_give_up(&d));
	assert_next(&d, &layout, 11, 0);
	assert_false(deferred_callchain_give_up(&d));
	assert_int_equal(d.stitched, 3);
	assert_int_equal(d.missing, 1);
	deferred_callchain_done(&d);
}

/* A full table delivers the oldest samples, each once; the rest can still be joined. */
static void test_table_is_bounded(void **state)
{
	const uint64_t total = 3 * DEFER_MAX;
	struct attar_layout layout;
	struct deferred_callchains d;
	uint64_t out = 0;

	attar_layout_init(&layout, &attr_of_all);
	deferred_callchain_init(&d);
	for (uint64_t i = 0; i < total; i++) {
		hold(&d, &layout, i, 1 + i / 3); /* three per cookie */
		if (deferred_callchain_is_ready(&d))
			assert_next(&d, &layout, out++, 0);
	}
	assert_int_equal(d.missing, out);
	assert_in_range(total - out, DEFER_MAX - 2, DEFER_MAX);
	for (uint64_t cookie = 1 + out / 3; cookie <= (total + 2) / 3; cookie++)
		for (resume(&d, &layout, cookie); deferred_callchain_is_ready(&d); out++)
			assert_next(&d, &layout, out, cookie);
	assert_int_equal(out, total);
	assert_false(deferred_callchain_give_up(&d));
	assert_int_equal(d.stitched + d.missing, total);
	deferred_callchain_done(&d);
}

/*
 * Any order of holding, joining and dropping: each is delivered once, complete if and only if its
 * half arrived.
 */
static void test_random_orders(void **state)
{
	enum { N = 20000, COOKIES = 500 };
	static uint8_t outs[N + 1];
	struct attar_layout layout;
	struct deferred_callchains d;
	uint64_t held = 0;

	attar_layout_init(&layout, &attr_of_all);
	deferred_callchain_init(&d);
	memset(outs, 0, sizeof(outs));
	for (uint64_t step = 0;
		held < N || deferred_callchain_give_up(&d) || deferred_callchain_is_ready(&d);
		step++) {
		uint64_t dice = base_hash64(step);
		struct attar_record rec;
		struct attar_event ev;

		if (held < N && dice % 4) {
			held++;
			hold(&d, &layout, held, 1 + (dice >> 8) % COOKIES);
		} else if (dice % 8) {
			resume(&d, &layout, 1 + (dice >> 8) % COOKIES);
		}
		while (deferred_callchain_take(&d, &layout, &rec, &ev) == 1)
			outs[ev.time]++;
	}
	for (uint64_t i = 1; i <= N; i++)
		assert_int_equal(outs[i], 1);
	assert_int_equal(d.stitched + d.missing, N);
	deferred_callchain_done(&d);
}

/* ---- the stream, over a ring that the test writes ---- */

/* A ring's data cannot be written by user space: the stream reads this memory instead. */
static _Alignas(8) char data[4096];

struct scripted {
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
	uint64_t id;
};

static void open_scripted(struct scripted *s)
{
	struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = 4096, .keep_own = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_kernel = 1};

	s->target = live_self();
	attar_stream_attr(&attr, false);
	if (attar_symbols_new(NULL, &s->symbols) < 0 ||
		attar_counter_open(s->target, &attr, "dummy", 0, &s->counter) < 0 ||
		attar_stream_live(s->target, &s->counter, 1, s->symbols, &opts, &s->stream) < 0 ||
		attar_stream_start(s->stream) < 0)
		fail_msg("%s", attar_error());
	s->counter->whole.flags |= UAPI_ATTR_DEFER_CALLCHAIN; /* as the kernel does */
	s->id = s->counter->fds.at[0].id;
	stream_ring(s->stream, 0)->data = data;
}

static void close_scripted(struct scripted *s)
{
	attar_stream_free(s->stream);
	attar_counter_close(s->counter);
	attar_target_free(s->target);
	attar_symbols_free(s->symbols);
}

static void write_record(struct scripted *s, const struct written *w)
{
	struct attar_ring *ring = stream_ring(s->stream, 0);

	for (size_t i = 0; i < w->n; i++)
		memcpy(data + (ring->page->data_head + i * 8) % ring->size, &w->words[i], 8);
	__atomic_store_n(
		&ring->page->data_head, ring->page->data_head + w->n * 8, __ATOMIC_RELEASE);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void write_sample(struct scripted *s, uint64_t time, uint64_t cookie)
{
	const uint64_t whole[] = {KERNEL, 0xffffffff81000001, USER, 0x4001};
	const uint64_t half[] = {KERNEL, 0xffffffff81000001, LATER, cookie};
	struct written w = sample(s->id, time, cookie ? half : whole, 4);

	write_record(s, &w);
}

static void assert_event(struct scripted *s, uint64_t time, size_t user_frames)
{
	struct attar_callchain chain;
	struct attar_event ev;
	size_t user = 0;
	uint64_t ip;

	assert_int_equal(attar_stream_next(s->stream, &ev), 1);
	assert_int_equal(ev.time, time);
	assert_int_equal(ev.record->type, PERF_RECORD_SAMPLE);
	assert_int_equal(ev.thread->tid, gettid());
	attar_callchain_init(&chain, ev.record->sample.callchain, ev.record->sample.callchain_nr,
		ev.record->misc);
	while (attar_callchain_next(&chain, &ip))
		user += chain.context == ATTAR_CONTEXT_USER;
	assert_int_equal(user, user_frames);
}

/*
 * The ring wraps many times. Complete samples pass through; halves are delivered with their second
 * half, in its position.
 */
static void test_stream_joins_halves(void **state)
{
	const uint64_t user[] = {USER, 0x1001, 0x2001, 0x3001};
	struct attar_stream_stats stats;
	struct attar_event ev;
	struct scripted s;

	open_scripted(&s);
	for (uint64_t round = 1; round <= 200; round++) {
		uint64_t t = now();
		struct written second = second_half(s.id, t + 3, round, user, 4);

		write_sample(&s, t, round);
		write_sample(&s, t + 1, round);
		write_sample(&s, t + 2, 0);
		write_record(&s, &second);
		write_sample(&s, t + 4, 0);
		while (now() < t + 5)
			;
		assert_event(&s, t + 2, 1);
		assert_event(&s, t, 3);
		assert_event(&s, t + 1, 3);
		assert_event(&s, t + 4, 1);
		assert_int_equal(attar_stream_next(s.stream, &ev), 0);
	}
	write_sample(&s, now(), 1000);
	assert_int_equal(attar_stream_next(s.stream, &ev), 0);
	attar_stream_stop(s.stream);
	assert_int_equal(attar_stream_next(s.stream, &ev),
		1); /* at the end it is delivered without its half */
	assert_int_equal(attar_stream_next(s.stream, &ev), 0);
	attar_stream_get_stats(s.stream, &stats);
	assert_int_equal(stats.stitched, 400);
	assert_int_equal(stats.unstitched, 1);
	assert_int_equal(stats.malformed, 0);
	assert_int_equal(stats.samples, 801);
	close_scripted(&s);
}

/* ---- the kernel's own ---- */

enum { DEPTH = 12, PAGES = 50 };

static char *area;

static __attribute__((noinline)) int touch(size_t page)
{
	__asm__ volatile(
		"" ::"r"(__builtin_frame_address(0))); /* has a frame although it is a leaf */
	return ((volatile char *)area)[page * 4096] = 1;
}

/* A separate section, whose bounds the linker defines. */
static __attribute__((section("descend_code"), noinline)) int descend(int depth, size_t page);
extern const char __start_descend_code[], __stop_descend_code[];
static int (*volatile call)(int, size_t) = descend; /* the compiler makes no copies of it */

/* Causes a page fault DEPTH calls below. */
static int descend(int depth, size_t page)
{
	int r = depth ? call(depth - 1, page) : touch(page);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return r + 1;
}

static size_t frames_in_descend(const struct attar_sample *s, uint16_t misc)
{
	uint64_t begin = (uintptr_t)__start_descend_code, end = (uintptr_t)__stop_descend_code, ip;
	struct attar_callchain chain;
	size_t n = 0;

	attar_callchain_init(&chain, s->callchain, s->callchain_nr, misc);
	while (attar_callchain_next(&chain, &ip))
		n += ip >= begin && ip < end;
	return n;
}

static void test_kernel_defers_user_callchains(void **state)
{
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_ADDR,
		.exclude_kernel = 1};
	struct attar_stream_stats stats;
	struct scripted s = {.target = live_self()};
	struct attar_event ev;
	size_t whole = 0;

	attar_stream_attr(&attr, false);
	if (!attar_stream_defer(&attr)) {
		attar_target_free(s.target);
		live_skip("deferred call chains require Linux 6.19");
	}
	area = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(area, PAGES * 4096, MADV_NOHUGEPAGE);
	if (attar_symbols_new(NULL, &s.symbols) < 0 ||
		attar_counter_open(s.target, &attr, "page-faults", 0, &s.counter) < 0 ||
		attar_stream_live(s.target, &s.counter, 1, s.symbols, &opts, &s.stream) < 0 ||
		attar_stream_start(s.stream) < 0)
		fail_msg("%s", attar_error());
	for (size_t i = 0; i < PAGES; i++)
		call(DEPTH - 1, i);
	attar_stream_stop(s.stream);
	while (attar_stream_next(s.stream, &ev) > 0) {
		const struct attar_sample *sample_of = &ev.record->sample;

		if (ev.record->type != PERF_RECORD_SAMPLE ||
			sample_of->addr - (uintptr_t)area >= PAGES * 4096)
			continue;
		assert_int_equal(frames_in_descend(sample_of, ev.record->misc), DEPTH);
		whole++;
	}
	assert_int_equal(whole, PAGES);
	attar_stream_get_stats(s.stream, &stats);
	assert_true(stats.stitched >= PAGES);
	print_message("# %llu joined, %llu not\n", (unsigned long long)stats.stitched,
		(unsigned long long)stats.unstitched);
	close_scripted(&s);
	munmap(area, PAGES * 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_halves_are_joined_by_cookie),
		cmocka_unit_test(test_samples_are_delivered_without_memory),
		cmocka_unit_test(test_table_is_bounded),
		cmocka_unit_test(test_random_orders),
		cmocka_unit_test(test_stream_joins_halves),
		cmocka_unit_test(test_kernel_defers_user_callchains),
	};

	return cmocka_run_group_tests_name("defer", tests, NULL, NULL);
}
