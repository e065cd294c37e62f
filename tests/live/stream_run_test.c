/* SPDX-License-Identifier: MIT */
/*
 * Samples as profilers request them, in long runs through a small ring: the first argument of each
 * system call is its number, so delivered and actual calls can be compared one by one.
 */
#include "calls.h"
#include "stream/sample_run.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	RING = 8192,
	FITS = 16 /* calls: with a call chain, or if each makes two samples */
};

static void watch(struct calls *w, struct attar_target *target, bool exits, uint64_t more)
{
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING, .keep_own = true};

	calls_watch(w, target, exits, PERF_SAMPLE_RAW | more, &opts);
}

static void call(uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
		syscall(SYS_getppid, i);
}

/* The first argument of sys_enter: after the common fields and the system call's number. */
static uint64_t number_in(const char *raw)
{
	uint64_t number;

	memcpy(&number, raw + 16, sizeof(number));
	return number;
}

static uint64_t number_of(const struct attar_event *ev)
{
	assert_true(ev->record->sample.raw_size >= 24);
	return number_in(ev->record->sample.raw);
}

/* Expects every call starting at `from`, in order; returns the number of the next one. */
static uint64_t expect(struct calls *w, uint64_t from)
{
	struct attar_event ev;
	uint64_t time = 0;

	while (attar_stream_next(w->stream, &ev) > 0) {
		if (ev.record->type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(number_of(&ev), from++);
		assert_int_equal(ev.thread->tid, syscall(SYS_gettid));
		assert_int_equal(ev.record->tid, ev.thread->tid);
		assert_int_equal(ev.time, ev.record->time);
		assert_int_equal(ev.record->sample.period, 1);
		assert_null(ev.record->sample.branches);
		assert_true(ev.time >= time);
		time = ev.time;
	}
	return from;
}

/*
 * Rounds of 0 to FITS - 1 calls: the ring wraps at every possible offset, inside and at the end of
 * runs.
 */
static void every_call_comes(uint64_t more)
{
	struct attar_stream_stats stats;
	uint64_t made = 0, seen = 0;
	struct calls w;

	watch(&w, live_self(), false, more);
	for (size_t i = 0; i < 2000; i++) {
		call(made, made + i % FITS);
		made += i % FITS;
		seen = expect(&w, seen);
		assert_int_equal(seen, made);
	}
	attar_stream_get_stats(w.stream, &stats);
	assert_int_equal(stats.samples, made);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.disordered, 0);
	assert_int_equal(stats.malformed, 0);
	calls_unwatch(&w);
}

static void test_every_call_is_delivered(void **state)
{
	every_call_comes(0);
}

static void test_every_call_is_delivered_with_its_callchain(void **state)
{
	every_call_comes(PERF_SAMPLE_CALLCHAIN); /* 136 bytes and more: records that wrap */
}

static void test_every_call_is_delivered_with_rare_fields(void **state)
{
	every_call_comes(PERF_SAMPLE_ADDR); /* not on the fast path */
}

/* Of the calls that follow each other without another record, all but the first are repeats. */
static void test_repeats(void **state)
{
	struct attar_stream_stats stats;
	struct attar_repeats repeats;
	uint64_t made = 0, seen = 0, repeated = 0;
	struct attar_event ev;
	struct calls w;

	watch(&w, live_self(), false, 0);
	for (size_t i = 0; i < 2000; i++) {
		call(made, made + i % FITS);
		made += i % FITS;
		while (attar_stream_next(w.stream, &ev) > 0) {
			assert_int_equal(number_of(&ev), seen++);
			repeats.n = 0;
			sample_run_repeats(w.stream, UINT64_MAX, 4, &repeats);
			assert_in_range(repeats.n, 0, 4);
			for (uint64_t k = 0; k < repeats.n; k++)
				assert_int_equal(
					number_in((const char *)repeats.raw + k * repeats.stride),
					seen++);
			repeated += repeats.n;
		}
		assert_int_equal(seen, made);
	}
	assert_in_range(repeated, made / 2, made * 4 / 5);
	attar_stream_get_stats(w.stream, &stats);
	assert_int_equal(stats.samples, made);
	assert_int_equal(stats.disordered, 0);
	calls_unwatch(&w);
}

/* Checks entry and exit of the calls from `seen` on, which were taken together. */
static void check_turns(
	const struct attar_turns *turns, uint64_t seen, pid_t parent, uint64_t *time)
{
	for (uint64_t k = 0; k < turns->n; k++) {
		const char *entry = (const char *)turns->raw[0] + k * turns->stride,
			   *exit = (const char *)turns->raw[1] + k * turns->stride;
		uint64_t begin = attar_turns_get_time(turns, entry),
			 end = attar_turns_get_time(turns, exit);
		int64_t number, ret;

		assert_true(turns->raw_size[0] >= 64 && turns->raw_size[1] >= 24);
		assert_int_equal(number_in(entry), seen + k);
		memcpy(&number, exit + 8, sizeof(number));
		memcpy(&ret, exit + 16, sizeof(ret));
		assert_int_equal(number, SYS_getppid);
		assert_int_equal(ret, parent);
		assert_true(*time <= begin && begin <= end);
		*time = end;
	}
}

/* Of the calls that follow each other, all but the first two or so are taken together. */
static void test_turns(void **state)
{
	uint64_t made = 0, seen = 0, turned = 0, time;
	const pid_t parent = getppid();
	struct attar_stream_stats stats;
	struct attar_turns turns;
	struct attar_event ev;
	struct calls w;

	watch(&w, live_self(), true, 0);
	for (size_t i = 0; i < 1000; i++) {
		call(made, made + i % FITS);
		made += i % FITS;
		while (attar_stream_next(w.stream, &ev) > 0) {
			if (ev.counter == 0) {
				assert_int_equal(number_of(&ev), seen);
				continue;
			}
			seen++;
			time = ev.time;
			turns.n = 0;
			sample_run_turns(w.stream, 0, UINT64_MAX, 4, &turns);
			assert_in_range(turns.n, 0, 4);
			check_turns(&turns, seen, parent, &time);
			seen += turns.n;
			turned += turns.n;
		}
		assert_int_equal(seen, made);
	}
	assert_in_range(turned, made / 2, made * 4 / 5);
	attar_stream_get_stats(w.stream, &stats);
	assert_int_equal(stats.samples, 2 * made);
	assert_int_equal(stats.disordered, 0);
	calls_unwatch(&w);
}

/* Two events alternate in one ring, then one of them has it alone. */
static void test_each_sample_has_its_event(void **state)
{
	struct attar_event ev;
	uint64_t seen = 0;
	struct calls w;

	watch(&w, live_self(), true, 0);
	for (uint64_t round = 0; round < 500; round++) {
		if (round == 250)
			assert_int_equal(attar_counter_disable(w.counters[1]), 0);
		call(round * 10, round * 10 + 10);
		while (attar_stream_next(w.stream, &ev) > 0) {
			bool is_exit = round < 250 && seen % 2;

			assert_int_equal(ev.counter, is_exit);
			if (!is_exit)
				assert_int_equal(number_of(&ev),
					round < 250 ? seen / 2 : 2500 + seen - 5000);
			seen++;
		}
	}
	assert_int_equal(seen, 2 * 2500 + 2500);
	calls_unwatch(&w);
}

/*
 * More than the ring holds: calls missing from the sequence are those that LOST records report, at
 * the same position.
 */
static void test_missing_calls_are_counted_as_lost(void **state)
{
	uint64_t made = 0, next = 0, lost = 0, seen = 0;
	struct attar_stream_stats stats;
	struct attar_event ev;
	struct calls w;

	watch(&w, live_self(), false, 0);
	for (size_t round = 0; round < 200; round++) {
		uint64_t n = round % 2 ? 100 : 10;

		call(made, made + n);
		made += n;
		while (attar_stream_next(w.stream, &ev) > 0) {
			if (ev.record->type == PERF_RECORD_LOST) {
				lost += ev.record->lost.lost;
				next += ev.record->lost.lost;
				assert_true(ev.lost_from <= ev.lost_to);
			} else {
				assert_int_equal(number_of(&ev), next++);
				seen++;
			}
		}
	}
	attar_stream_get_stats(w.stream, &stats);
	assert_true(lost > 0);
	assert_int_equal(seen + stats.lost, made);
	assert_int_equal(stats.samples, seen);
	calls_unwatch(&w);
}

static bool run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0;
}

/* This thread on each CPU: as many rings. */
static struct attar_target *self_on_cpus(void)
{
	char tid[16];
	struct attar_target_opts opts = {.size = sizeof(opts), .tids = tid};
	struct attar_target *target;

	attar_target_free(live_self());
	snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
	if (attar_target_new(&opts, &target) < 0)
		fail_msg("%s", attar_error());
	return target;
}

/*
 * The thread changes the CPU after every one to four calls: runs in each ring end where the other's
 * begin.
 */
static void test_runs_end_at_an_older_record_of_another_ring(void **state)
{
	uint64_t made = 0, seen = 0;
	cpu_set_t before;
	struct calls w;

	sched_getaffinity(0, sizeof(before), &before);
	if (!run_on(1) || !run_on(0))
		live_skip("this process may not run on CPUs 0 and 1");
	watch(&w, self_on_cpus(), false, 0);
	for (size_t round = 0; round < 100; round++) {
		for (int hop = 0; hop < 8; hop++) {
			run_on(hop % 2);
			call(made, made + 1 + hop / 2);
			made += 1 + hop / 2;
		}
		seen = expect(&w, seen);
		assert_int_equal(seen, made);
	}
	sched_setaffinity(0, sizeof(before), &before);
	calls_unwatch(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_call_is_delivered),
		cmocka_unit_test(test_every_call_is_delivered_with_its_callchain),
		cmocka_unit_test(test_every_call_is_delivered_with_rare_fields),
		cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_each_sample_has_its_event),
		cmocka_unit_test(test_missing_calls_are_counted_as_lost),
		cmocka_unit_test(test_runs_end_at_an_older_record_of_another_ring),
	};

	return cmocka_run_group_tests_name("stream_run", tests, NULL, NULL);
}
