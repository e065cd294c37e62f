/* SPDX-License-Identifier: MIT */
/*
 * Contents of samples and records of the running kernel, and wakeups: each test causes known
 * events.
 */
#include "watch.h"

#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* ---- thread, CPU, time ---- */

static bool has_tid(const struct attar_record *r, const void *unused)
{
	return r->tid == (uint32_t)gettid() && r->time;
}

static void test_sample_id_all_gives_trailers(void **state)
{
	for (int on = 0; on < 2; on++) {
		struct perf_event_attr attr = watch_silent;
		struct watch w;

		attr.comm = 1;
		attr.sample_id_all = on;
		watch_self(&w, &attr);
		watch_rename();
		assert_int_equal(watch_count(&w, PERF_RECORD_COMM, has_tid, NULL), on ? 2 : 0);
		watch_done(&w);
	}
}

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static bool is_between(const struct attar_record *r, const void *times)
{
	const uint64_t *t = times;

	return r->time >= t[0] && r->time <= t[1];
}

static void test_time_is_of_the_chosen_clock(void **state)
{
	const clockid_t clocks[] = {
		CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI};

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct perf_event_attr attr = watch_silent;
		uint64_t times[2];
		struct watch w;

		attr.comm = attr.use_clockid = 1;
		attr.clockid = clocks[i];
		watch_self(&w, &attr);
		times[0] = now(clocks[i]);
		watch_rename();
		times[1] = now(clocks[i]);
		assert_int_equal(watch_count(&w, PERF_RECORD_COMM, is_between, times), 2);
		watch_done(&w);
	}
}

/* ---- samples ---- */

static void spin(uint64_t ns)
{
	uint64_t end = now(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (now(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static bool is_10_ms(const struct attar_record *r, const void *unused)
{
	return r->sample.period == 10000000;
}

/*
 * A clock at 100 samples per second has one every 10 ms of CPU time; a slow machine may miss some,
 * but adds none.
 */
static void test_frequency_sets_the_number_of_samples(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = 100,
		.sample_type = PERF_SAMPLE_PERIOD};
	struct watch w;
	uint64_t start, end;
	size_t n;

	watch_self(&w, &attr);
	start = now(CLOCK_THREAD_CPUTIME_ID);
	spin(500000000);
	n = watch_count(&w, PERF_RECORD_SAMPLE, is_10_ms, NULL);
	end = now(CLOCK_THREAD_CPUTIME_ID);
	assert_in_range(n, 5, (end - start) / 10000000 + 5);
	watch_done(&w);
}

struct frames {
	size_t user, kernel, most;
};

static bool add_frames(const struct attar_record *r, const void *frames)
{
	struct frames *f = (struct frames *)frames;
	bool user = false;
	size_t n = 0;

	for (uint32_t i = 0; i < r->sample.callchain_nr; i++) {
		uint64_t ip = r->sample.callchain[i];

		if (ip >= (uint64_t)-4095) {
			user = ip == PERF_CONTEXT_USER;
			continue;
		}
		n++;
		*(user ? &f->user : &f->kernel) += 1;
	}
	f->most = n > f->most ? n : f->most;
	return true;
}

/* Returns the stacks at which this thread goes to sleep: in the kernel, called by user code. */
static struct frames stacks(bool no_user, bool no_kernel, uint16_t deepest)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_CALLCHAIN,
		.exclude_callchain_user = no_user,
		.exclude_callchain_kernel = no_kernel,
		.sample_max_stack = deepest};
	struct frames f = {0};
	struct watch w;

	watch_self(&w, &attr);
	for (int i = 0; i < 10; i++)
		watch_doze();
	assert_true(watch_count(&w, PERF_RECORD_SAMPLE, add_frames, &f) >= 10);
	watch_done(&w);
	return f;
}

static void test_callchain_options_exclude_frames(void **state)
{
	struct frames f = stacks(false, false, 0);

	assert_true(f.user && f.kernel);
	f = stacks(true, false, 0);
	assert_true(!f.user && f.kernel);
	f = stacks(false, true, 0);
	assert_true(f.user && !f.kernel);
}

static void test_max_stack_limits_the_callchain(void **state)
{
	assert_true(stacks(true, false, 0).most > 3);
	assert_int_equal(stacks(true, false, 3).most, 3);
}

/* ---- waiting ---- */

static int wait_for(struct watch *w, int timeout_ms)
{
	struct pollfd p = {.fd = attar_ring_fd(w->rings[0]), .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1 && p.revents & POLLIN;
}

static void fault_and_stay(void)
{
	live_fault(23);
	pause();
}

/*
 * The ring's fd becomes readable at every fifth sample, not before; a blocked thread wakes up too.
 */
static void test_ring_wakes_after_wakeup_events(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_ADDR,
		.exclude_kernel = 1,
		.wakeup_events = 5,
		.disabled = 1};
	struct child c;
	struct watch w;

	live_fault(1);
	watch_self(&w, &attr);
	attar_counter_disable(w.c);
	assert_false(wait_for(&w, 0));
	attar_counter_enable(w.c);
	live_fault(4);
	attar_counter_disable(w.c);
	assert_false(wait_for(&w, 10)); /* times out */
	attar_counter_enable(w.c);
	live_fault(1);
	attar_counter_disable(w.c);
	assert_true(wait_for(&w, 0));
	assert_int_equal(watch_count(&w, PERF_RECORD_SAMPLE, NULL, NULL), 5);
	watch_done(&w);
	c = child_new(fault_and_stay);
	watch_target(&w, child_target(&c), &attr);
	assert_int_equal(write(c.go, "x", 1), 1);
	assert_true(wait_for(&w, 20000)); /* blocks until the child reaches it */
	kill(c.pid, SIGKILL);
	child_end(&c);
	assert_true(watch_count(&w, PERF_RECORD_SAMPLE, NULL, NULL) >= 5);
	watch_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample_id_all_gives_trailers),
		cmocka_unit_test(test_time_is_of_the_chosen_clock),
		cmocka_unit_test(test_frequency_sets_the_number_of_samples),
		cmocka_unit_test(test_callchain_options_exclude_frames),
		cmocka_unit_test(test_max_stack_limits_the_callchain),
		cmocka_unit_test(test_ring_wakes_after_wakeup_events),
	};

	return cmocka_run_group_tests_name("perf_samples", tests, NULL, NULL);
}
