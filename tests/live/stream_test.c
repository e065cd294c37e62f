/* SPDX-License-Identifier: MIT */
/* The live stream: its fd, blocking and timed reads, snapshots. */
#include "live.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/private/stream.h"
#include "stream/stream.h"

/* A stream of the user page faults of a target, each with its address. */
static void watch(struct live_stream *w, struct attar_target *target, bool backward,
	uint32_t watermark, size_t ring_bytes)
{
	struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = ring_bytes, .keep_own = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.exclude_kernel = 1,
		.write_backward = backward,
		.wakeup_watermark = watermark};

	w->target = target;
	attar_stream_attr(&attr, false);
	if (attar_symbols_new(NULL, &w->symbols) < 0 ||
		attar_counter_open(target, &attr, "page-faults", 0, &w->counter) < 0 ||
		attar_stream_live(target, &w->counter, 1, w->symbols, &opts, &w->stream) < 0 ||
		attar_stream_start(w->stream) < 0)
		fail_msg("%s", attar_error());
}

static struct attar_target *target_of(pid_t tid)
{
	char text[16];
	struct attar_target_opts opts = {.size = sizeof(opts), .tids = text};
	struct attar_target *target;

	snprintf(text, sizeof(text), "%d", tid);
	if (attar_target_new(&opts, &target) < 0)
		fail_msg("%s", attar_error());
	return target;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Returns the page of the area that the event is about, or SIZE_MAX. */
static size_t page_of(const struct attar_event *ev, const char *area, size_t pages)
{
	uint64_t at = (ev->record->sample.addr - (uintptr_t)area) / page_size();

	return ev->record->type == PERF_RECORD_SAMPLE && at < pages ? at : SIZE_MAX;
}

static int readable(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0);
}

static size_t drain(struct attar_stream *stream, const char *area, size_t pages)
{
	struct attar_event ev;
	size_t n = 0;

	while (attar_stream_next(stream, &ev) > 0)
		n += page_of(&ev, area, pages) != SIZE_MAX;
	return n;
}

/* Reads until reading, which allocates memory for new things, causes no further events. */
static void settle(struct attar_stream *stream)
{
	struct attar_event ev;
	size_t n;

	do {
		for (n = 0; attar_stream_next(stream, &ev) > 0; n++)
			;
	} while (n);
}

/*
 * 48 bytes per record, a watermark of 4800 bytes, which the kernel counts from the last wakeup: the
 * fd is not readable after 50 records, readable after 100, and not readable after reading.
 */
static void test_fd_is_readable_at_the_watermark(void **state)
{
	enum { PAGES = 700 };
	struct attar_target *self = live_self();
	char *area = live_map(PAGES);
	struct live_stream w;
	size_t n = 200;
	int fd;

	watch(&w, self, false, 4800, 65536);
	fd = attar_stream_fd(w.stream);
	live_touch(area, 0, n);
	settle(w.stream);
	while (readable(fd))
		;
	for (; n < 310 && !readable(fd); n++)
		live_touch(area, n, n + 1);
	assert_int_equal(drain(w.stream, area, PAGES), n - 200);
	assert_int_equal(readable(fd), 0);
	live_touch(area, n, n + 50);
	assert_int_equal(readable(fd), 0);
	live_touch(area, n + 50, n + 110);
	assert_int_equal(readable(fd), 1);
	assert_int_equal(drain(w.stream, area, PAGES), 110);
	assert_int_equal(readable(fd), 0);
	live_touch(area, n + 110, n + 300);
	assert_int_equal(readable(fd), 1);
	assert_int_equal(drain(w.stream, area, PAGES), 190);
	assert_int_equal(readable(fd), 0);
	live_stream_done(&w);
	live_unmap(area, PAGES);
}

static void read_all_of(
	struct live_stream *w, int timeout_ms, const char *area, size_t from, size_t to)
{
	struct attar_event ev;

	while (from < to) {
		assert_int_equal(attar_stream_read(w->stream, timeout_ms, &ev), 1);
		if (page_of(&ev, area, 1000) != SIZE_MAX)
			assert_int_equal(page_of(&ev, area, 1000), from++);
	}
}

/* Non-blocking, timed and blocking reads: each returns every event, also below the watermark. */
static void test_reads_block_wait_or_return(void **state)
{
	struct attar_target *self = live_self();
	char *area = live_map(60);
	struct attar_event ev;
	struct live_stream w;
	int r;

	watch(&w, self, false, 0, 65536);
	live_touch(area, 0, 20);
	read_all_of(&w, 0, area, 0, 20);
	while (attar_stream_read(w.stream, 0, &ev))
		;
	/* the first read that waits can touch pages of its own */
	while ((r = attar_stream_read(w.stream, 20, &ev)) == 1)
		assert_true(page_of(&ev, area, 60) == SIZE_MAX);
	assert_int_equal(r, 0);
	live_touch(area, 20, 40);
	read_all_of(&w, 1000, area, 20, 40);
	live_touch(area, 40, 60);
	read_all_of(&w, -1, area, 40, 60);
	assert_int_equal(attar_stream_stop(w.stream), 0);
	while (attar_stream_read(w.stream, -1, &ev)) /* stopped: it does not wait */
		;
	live_stream_done(&w);
	live_unmap(area, 60);
}

static uint64_t wakeups(struct attar_stream *stream)
{
	struct attar_stream_stats stats;

	attar_stream_get_stats(stream, &stats);
	return stats.wakeups;
}

/* What was polled for the caller does not wake a call for another fd. */
static void test_waits_for_the_given_fd_only(void **state)
{
	struct attar_target *self = live_self();
	struct attar_event ev;
	struct live_stream w;
	uint64_t before;
	int fds[2];

	watch(&w, self, false, 0, 65536);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(attar_stream_wait(w.stream, fds[0], 0), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	while (attar_stream_next(w.stream, &ev) > 0)
		;
	assert_int_equal(attar_stream_wait(w.stream, fds[0], 0), 2);
	before = wakeups(w.stream);
	while (attar_stream_read(w.stream, 20, &ev) > 0)
		;
	assert_in_range(wakeups(w.stream) - before, 0, 10);
	assert_int_equal(attar_stream_wait(w.stream, fds[0], 0), 2);
	close(fds[0]);
	close(fds[1]);
	live_stream_done(&w);
}

/* Touches pages until the next watermark is reached, and reads all. Returns the next page. */
static size_t pass_watermark(struct live_stream *w, char *area, size_t n)
{
	while (attar_stream_wait(w->stream, -1, 0))
		;
	while (!attar_stream_wait(w->stream, -1, 0)) {
		live_touch(area, n, n + 1);
		n++;
	}
	settle(w->stream);
	return n;
}

/*
 * As in test_fd_is_readable_at_the_watermark(), the kernel wakes its reader after 100 records each
 * time: the first time, all but 30 were read before; then 95 are unread.
 */
static void test_wait_leaves_rings_that_were_just_read(void **state)
{
	enum { PAGES = 700 };
	struct attar_target *self = live_self();
	char *area = live_map(PAGES);
	struct live_stream w;
	uint64_t before;
	size_t n = 200;

	watch(&w, self, false, 4800, 65536);
	live_touch(area, 0, n);
	settle(w.stream);
	n = pass_watermark(&w, area, n);
	live_touch(area, n, n + 80);
	assert_int_equal(drain(w.stream, area, PAGES), 80);
	live_touch(area, n + 80, n + 110);
	before = wakeups(w.stream);
	assert_int_equal(attar_stream_wait(w.stream, -1, 20), 0);
	assert_int_equal(wakeups(w.stream), before);
	assert_int_equal(drain(w.stream, area, PAGES), 30);
	live_touch(area, n + 110, n + 205);
	assert_int_equal(attar_stream_wait(w.stream, -1, 20), 1);
	assert_int_equal(wakeups(w.stream), before + 1);
	assert_int_equal(drain(w.stream, area, PAGES), 95);
	live_stream_done(&w);
	live_unmap(area, PAGES);
}

/* A blocking read of a child's events returns them all, and ends with the child. */
static void test_blocking_read_ends_with_its_target(void **state)
{
	struct attar_target *self = live_self();
	char *area = live_map(500), go;
	struct attar_event ev;
	struct live_stream w;
	int pipe_fds[2], r;
	size_t n = 0;
	pid_t child;

	attar_target_free(self);
	assert_int_equal(pipe(pipe_fds), 0);
	child = fork();
	if (!child) {
		if (read(pipe_fds[0], &go, 1) == 1)
			live_touch(area, 0, 500);
		_exit(0);
	}
	watch(&w, target_of(child), false, 0, 65536);
	assert_int_equal(write(pipe_fds[1], "x", 1), 1);
	while ((r = attar_stream_read(w.stream, -1, &ev)) > 0)
		n += page_of(&ev, area, 500) != SIZE_MAX;
	assert_int_equal(r, -ENOTCONN);
	assert_int_equal(n, 500);
	waitpid(child, NULL, 0);
	live_stream_done(&w);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	live_unmap(area, 500);
}

static bool run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/*
 * A thread that changes the CPU at each page: two rings, one order; a second snapshot has only the
 * rest.
 */
static void test_snapshot_is_ordered_over_cpus(void **state)
{
	enum { PAGES = 120 };
	struct attar_target *self = live_self();
	char *area = live_map(PAGES);
	struct attar_event ev;
	cpu_set_t before;
	struct live_stream w;
	size_t next = 0, cpus[2] = {0};

	attar_target_free(self);
	sched_getaffinity(0, sizeof(before), &before);
	if (!run_on(1) || !run_on(0))
		live_skip("this process may not run on CPUs 0 and 1");
	watch(&w, target_of((pid_t)syscall(SYS_gettid)), true, 0, 65536);
	assert_int_equal(attar_stream_next(w.stream, &ev), 0);
	for (size_t i = 0; i < PAGES; i++) {
		run_on(i % 2);
		live_touch(area, i, i + 1);
		if (i != 99)
			continue;
		assert_true(attar_stream_snapshot(w.stream) >= 100);
		assert_int_equal(attar_stream_snapshot(w.stream), -EBUSY);
		while (attar_stream_next(w.stream, &ev) > 0) {
			if (page_of(&ev, area, PAGES) == SIZE_MAX)
				continue;
			assert_int_equal(page_of(&ev, area, PAGES), next);
			assert_int_equal(ev.cpu, next++ % 2);
			cpus[ev.cpu]++;
		}
	}
	assert_int_equal(next, 100);
	assert_int_equal(cpus[0], 50);
	assert_true(attar_stream_snapshot(w.stream) >= 20);
	while (attar_stream_next(w.stream, &ev) > 0)
		if (page_of(&ev, area, PAGES) != SIZE_MAX)
			assert_int_equal(page_of(&ev, area, PAGES), next++);
	assert_int_equal(next, PAGES);
	sched_setaffinity(0, sizeof(before), &before);
	live_stream_done(&w);
	live_unmap(area, PAGES);
}

/* 30 pages are touched while the rings are stopped, and no others are lost. */
static void test_losses_while_stopped(void **state)
{
	enum { PAGES = 100, STOPPED = 50, RESUMED = 80 };
	char *area = live_map(PAGES);
	struct attar_stream_stats stats;
	struct attar_event ev;
	struct live_stream w;
	size_t seen = 0;

	watch(&w, target_of((pid_t)syscall(SYS_gettid)), true, 0, 65536);
	live_touch(area, 0, STOPPED);
	assert_true(attar_stream_snapshot(w.stream) >= STOPPED);
	live_touch(area, STOPPED, RESUMED);
	while (attar_stream_next(w.stream, &ev) > 0)
		seen += page_of(&ev, area, PAGES) != SIZE_MAX;
	live_touch(area, RESUMED, PAGES);
	assert_true(attar_stream_snapshot(w.stream) >= PAGES - RESUMED);
	while (attar_stream_next(w.stream, &ev) > 0)
		seen += page_of(&ev, area, PAGES) != SIZE_MAX;
	assert_int_equal(seen, STOPPED + PAGES - RESUMED);
	attar_stream_get_stats(w.stream, &stats);
	assert_true(stats.lost >= RESUMED - STOPPED);
	assert_int_equal(stream_lost_while_stopped(w.stream), stats.lost);
	live_stream_done(&w);
	live_unmap(area, PAGES);
}

/*
 * The side-band counter writes forward, the recorder backward: names and samples are in one order.
 */
static void test_snapshot_includes_side_band_events(void **state)
{
	enum { PAGES = 30 };
	struct attar_target *target = live_self();
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true};
	struct perf_event_attr faults = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.exclude_kernel = 1,
		.write_backward = 1};
	struct perf_event_attr side = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.exclude_kernel = 1};
	struct attar_counter *counters[2];
	char *area = live_map(PAGES), name[16];
	struct attar_event ev;
	struct live_stream w = {.target = target};
	size_t next = 0;

	attar_stream_attr(&faults, false);
	attar_stream_attr(&side, true);
	if (attar_symbols_new(NULL, &w.symbols) < 0 ||
		attar_counter_open(target, &faults, "page-faults", 0, &counters[0]) < 0 ||
		attar_counter_open(target, &side, "dummy", 0, &counters[1]) < 0 ||
		attar_stream_live(target, counters, 2, w.symbols, &opts, &w.stream) < 0 ||
		attar_stream_start(w.stream) < 0)
		fail_msg("%s", attar_error());
	assert_int_equal(stream_rings(w.stream), 2);
	for (size_t i = 0; i < PAGES; i++) {
		snprintf(name, sizeof(name), "page-%zu", i);
		prctl(PR_SET_NAME, name);
		live_touch(area, i, i + 1);
	}
	assert_true(attar_stream_snapshot(w.stream) >= PAGES);
	while (attar_stream_next(w.stream, &ev) > 0) {
		if (page_of(&ev, area, PAGES) == SIZE_MAX)
			continue;
		snprintf(name, sizeof(name), "page-%zu", next);
		assert_int_equal(page_of(&ev, area, PAGES), next++);
		assert_string_equal(ev.thread->comm, name);
		assert_int_equal(ev.counter, 0);
	}
	assert_int_equal(next, PAGES);
	attar_stream_free(w.stream);
	attar_counter_close(counters[0]);
	attar_counter_close(counters[1]);
	attar_target_free(target);
	attar_symbols_free(w.symbols);
	live_unmap(area, PAGES);
}

struct writer {
	char *area;
	pid_t tid;
	bool run, end;
	uint64_t rounds;
};

enum { WRITER_PAGES = 64 };

/*
 * Causes faults on its pages repeatedly, as fast as it can; on one CPU only, because losses are
 * reported in the next record of the same CPU.
 */
static void *write_on(void *argument)
{
	struct writer *w = argument;
	cpu_set_t here;

	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	assert_int_equal(sched_setaffinity(0, sizeof(here), &here), 0);
	__atomic_store_n(&w->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&w->run, __ATOMIC_ACQUIRE))
		sched_yield();
	while (!__atomic_load_n(&w->end, __ATOMIC_ACQUIRE)) {
		live_touch(w->area, 0, WRITER_PAGES);
		madvise(w->area, WRITER_PAGES * page_size(), MADV_DONTNEED);
		__atomic_add_fetch(&w->rounds, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void wait_for_rounds(const struct writer *w, uint64_t n)
{
	uint64_t end = __atomic_load_n(&w->rounds, __ATOMIC_ACQUIRE) + n;

	while (__atomic_load_n(&w->rounds, __ATOMIC_ACQUIRE) < end)
		sched_yield();
}

/*
 * Records are complete and consecutive: each is for the page after the previous one's. Events
 * during a snapshot are lost, and a record reports it where they are missing: the records since
 * then are counted.
 */
static size_t check_snapshot(struct live_stream *w, const char *area)
{
	struct attar_event ev;
	size_t n = 0, last = 0;

	while (attar_stream_next(w->stream, &ev) > 0) {
		size_t at = page_of(&ev, area, WRITER_PAGES);

		if (ev.record->type == PERF_RECORD_LOST)
			n = 0;
		if (at == SIZE_MAX)
			continue;
		if (n++)
			assert_int_equal(at, (last + 1) % WRITER_PAGES);
		last = at;
	}
	return n;
}

/* The writer never stops: no snapshot has a torn record or a gap in the middle. */
static void test_no_snapshot_is_torn(void **state)
{
	struct attar_target *self = live_self();
	struct writer writer = {.area = live_map(WRITER_PAGES)};
	struct attar_stream_stats stats;
	struct live_stream w;
	pthread_t thread;
	size_t full = 0;

	attar_target_free(self);
	assert_int_equal(pthread_create(&thread, NULL, write_on, &writer), 0);
	while (!__atomic_load_n(&writer.tid, __ATOMIC_ACQUIRE))
		sched_yield();
	watch(&w, target_of(writer.tid), true, 0, 4096);
	__atomic_store_n(&writer.run, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 40; i++) {
		wait_for_rounds(&writer, 3);
		assert_true(attar_stream_snapshot(w.stream) >= 0);
		full += check_snapshot(&w, writer.area) > 60;
	}
	__atomic_store_n(&writer.end, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	attar_stream_get_stats(w.stream, &stats);
	assert_int_equal(stats.malformed, 0);
	assert_true(full > 30);
	live_stream_done(&w);
	live_unmap(writer.area, WRITER_PAGES);
}

/* Which call of realloc() fails, counted down; 0: none. */
static unsigned fails_in;

void *__real_realloc(void *p, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_realloc(void *p, size_t size)
{
	return fails_in && !--fails_in ? NULL : __real_realloc(p, size);
}

static size_t mapped_rings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	size_t n = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, "[perf_event]") != NULL;
	fclose(maps);
	return n;
}

static void test_stream_without_memory_leaves_no_ring(void **state)
{
	struct attar_stream_opts opts = {.size = sizeof(opts)};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1};
	struct live_stream w = {.target = live_self()};
	int r = -ENOMEM;

	attar_stream_attr(&attr, false);
	assert_int_equal(attar_symbols_new(NULL, &w.symbols), 0);
	assert_int_equal(attar_counter_open(w.target, &attr, "page-faults", 0, &w.counter), 0);
	for (unsigned moment = 1; r < 0; moment++) {
		fails_in = moment;
		r = attar_stream_live(w.target, &w.counter, 1, w.symbols, &opts, &w.stream);
		fails_in = 0;
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(mapped_rings(), r == 0);
		assert_true(r == 0 || moment < 100);
	}
	live_stream_done(&w);
	assert_int_equal(mapped_rings(), 0);
}

/*
 * A stream ID does not change the position of the time in samples, but in other records, where it
 * is found from the end.
 */
static void test_counters_with_time_at_other_offsets_are_refused(void **state)
{
	struct attar_stream_opts opts = {.size = sizeof(opts)};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1};
	struct attar_counter *counters[2];
	struct attar_stream *stream;
	struct live_stream w;

	watch(&w, live_self(), false, 1, 4096);
	attar_stream_attr(&attr, false);
	counters[0] = w.counter;
	attr.sample_type |= PERF_SAMPLE_STREAM_ID;
	assert_int_equal(attar_counter_open(w.target, &attr, "numbered", 0, &counters[1]), 0);
	assert_int_equal(
		attar_stream_live(w.target, counters, 2, w.symbols, &opts, &stream), -EINVAL);
	assert_string_equal(attar_error(), "'page-faults' and 'numbered' cannot share a stream: "
					   "their records have the time at different offsets");
	assert_int_equal(attar_stream_add(w.stream, counters[1], 1), -EINVAL);
	attar_counter_close(counters[1]);
	live_stream_done(&w);
}

static void test_stream_without_counters(void **state)
{
	char pid[16];
	struct attar_target_opts target_opts = {.size = sizeof(target_opts), .pids = pid};
	struct attar_stream_opts opts = {.size = sizeof(opts)};
	struct attar_event event;
	struct live_stream w = {0};

	snprintf(pid, sizeof(pid), "%d", getpid());
	assert_int_equal(attar_target_new(&target_opts, &w.target), 0);
	assert_int_equal(attar_symbols_new(NULL, &w.symbols), 0);
	assert_int_equal(attar_stream_live(w.target, NULL, 0, w.symbols, &opts, &w.stream), 0);
	assert_int_equal(attar_stream_start(w.stream), 0);
	assert_int_equal(attar_stream_next(w.stream, &event), 0);
	live_stream_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stream_without_memory_leaves_no_ring),
		cmocka_unit_test(test_stream_without_counters),
		cmocka_unit_test(test_counters_with_time_at_other_offsets_are_refused),
		cmocka_unit_test(test_fd_is_readable_at_the_watermark),
		cmocka_unit_test(test_reads_block_wait_or_return),
		cmocka_unit_test(test_waits_for_the_given_fd_only),
		cmocka_unit_test(test_wait_leaves_rings_that_were_just_read),
		cmocka_unit_test(test_blocking_read_ends_with_its_target),
		cmocka_unit_test(test_snapshot_is_ordered_over_cpus),
		cmocka_unit_test(test_losses_while_stopped),
		cmocka_unit_test(test_snapshot_includes_side_band_events),
		cmocka_unit_test(test_no_snapshot_is_torn),
	};

	return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
