/* SPDX-License-Identifier: MIT */
/*
 * What a stream reports about undelivered records: lost samples, lost side-band records, missing
 * events.
 */
#include "calls.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/private/stream.h"
#include "perf/counter.h"
#include "stream/stream.h"

enum { RING = 4096 };

/* What was delivered. */
struct seen {
	uint64_t samples, renames, lost_records;
	uint64_t lost; /* according to the records */
};

static void watch(struct calls *w, bool exits, bool track, bool keep_own)
{
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING, .keep_own = keep_own, .track = track};

	calls_watch(w, live_self(), exits, 0, &opts);
}

static void read_all(struct calls *w, struct seen *seen)
{
	struct attar_event ev;

	while (attar_stream_next(w->stream, &ev) > 0) {
		seen->samples += ev.record->type == PERF_RECORD_SAMPLE;
		seen->renames += ev.record->type == PERF_RECORD_COMM;
		if (ev.record->type != PERF_RECORD_LOST)
			continue;
		seen->lost_records++;
		seen->lost += ev.record->lost.lost;
		assert_true(ev.lost_from > 0 && ev.lost_from <= ev.lost_to);
	}
}

static struct attar_stream_stats finish(struct calls *w, struct seen *seen)
{
	struct attar_stream_stats stats;

	assert_int_equal(attar_stream_stop(w->stream), 0);
	read_all(w, seen);
	attar_stream_get_stats(w->stream, &stats);
	return stats;
}

static void rename_thread(uint64_t n)
{
	char name[16], before[16];

	prctl(PR_GET_NAME, before);
	for (uint64_t i = 1; i < n; i++) {
		snprintf(name, sizeof(name), "name-%llu", (unsigned long long)i);
		prctl(PR_SET_NAME, name);
	}
	prctl(PR_SET_NAME, before);
}

/* Both overrun the same ring in turn: each loss is counted exactly. */
static void test_lost_samples_and_side_band_are_counted_separately(void **state)
{
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct calls w;

	watch(&w, false, true, true);
	if (!(w.counters[0]->attr.read_format & PERF_FORMAT_LOST_)) {
		calls_unwatch(&w);
		live_skip("counts of lost records require Linux 6.0");
	}
	for (int round = 0; round < 20; round++) {
		live_getppid(100);
		rename_thread(70);
		read_all(&w, &seen);
	}
	stats = finish(&w, &seen);
	assert_int_equal(stats.samples, seen.samples);
	assert_true(stats.lost > 0 && stats.lost_side_band > 0);
	assert_int_equal(seen.samples + stats.lost, 20 * 100);
	assert_int_equal(seen.renames + stats.lost_side_band, 20 * 70);
	assert_int_equal(seen.lost, stats.lost);
	assert_int_equal(stats.missing, 0);
	calls_unwatch(&w);
}

/* More side-band records are lost after the record of the first loss: it reports no sample. */
static void test_side_band_that_is_lost_later(void **state)
{
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct calls w;

	watch(&w, false, true, true);
	if (!(w.counters[0]->attr.read_format & PERF_FORMAT_LOST_)) {
		calls_unwatch(&w);
		live_skip("counts of lost records require Linux 6.0");
	}
	rename_thread(200);
	read_all(&w, &seen);
	rename_thread(200);
	stats = finish(&w, &seen);
	assert_true(stats.lost_side_band > 200);
	assert_int_equal(seen.renames + stats.lost_side_band, 2 * 200);
	assert_int_equal(seen.lost_records, 0);
	assert_int_equal(stats.lost, 0);
	calls_unwatch(&w);
}

/* The kernel writes no record of a loss that is the last event of a ring. */
static void test_losses_at_the_end_have_a_record(void **state)
{
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct calls w;

	watch(&w, false, false, true);
	if (!(w.counters[0]->attr.read_format & PERF_FORMAT_LOST_)) {
		calls_unwatch(&w);
		live_skip("counts of lost records require Linux 6.0");
	}
	live_getppid(1000);
	stats = finish(&w, &seen);
	assert_int_equal(seen.samples + seen.lost, 1000);
	assert_int_equal(seen.lost_records, 1);
	assert_int_equal(seen.lost, stats.lost);
	read_all(&w, &seen);
	assert_int_equal(seen.lost_records, 1);
	calls_unwatch(&w);
}

/* The exit of the calls is counted, but has no ring. */
static void test_events_counted_but_not_delivered_are_missing(void **state)
{
	const struct attar_cpu_count *counts;
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct calls w;

	watch(&w, true, true, true);
	live_getppid(10);
	read_all(&w, &seen);
	assert_int_equal(attar_counter_redirect(w.counters[1], NULL), 0);
	live_getppid(1000);
	attar_stream_get_stats(w.stream, &stats);
	assert_int_equal(stats.missing, 0); /* some may still be in the ring */
	stats = finish(&w, &seen);
	assert_int_equal(seen.samples + stats.lost, 10 + 1010);
	assert_int_equal(stats.missing, 1000);
	assert_int_equal(stream_get_missing(w.stream, &counts), 1);
	assert_int_equal(counts->cpu, -1); /* the target is a thread on any CPU */
	assert_int_equal(counts->count, 1000);
	calls_unwatch(&w);
}

/* Samples that are left out and samples that were lost are not missing. */
static void test_normal_streams_miss_nothing(void **state)
{
	for (int keep_own = 0; keep_own < 2; keep_own++) {
		struct attar_stream_stats stats;
		struct seen seen = {0};
		struct calls w;

		watch(&w, true, true, keep_own);
		for (int round = 0; round < 20; round++) {
			live_getppid(round % 2 ? 200 : 10);
			read_all(&w, &seen);
		}
		stats = finish(&w, &seen);
		assert_true(stats.lost > 0);
		assert_int_equal(stats.samples + stats.own + stats.lost, 2 * 20 * 105);
		assert_int_equal(stats.missing, 0);
		calls_unwatch(&w);
	}
}

/* It was enabled long before the stream: events that it counted before are not missing. */
static void test_counts_from_before_the_start_are_not_missing(void **state)
{
	struct attar_stream_stats stats;
	struct perf_event_attr exit = live_sys_exit();
	struct attar_counter *added;
	struct seen seen = {0};
	struct calls w;

	watch(&w, false, false, true);
	exit.disabled = 0;
	exit.sample_period = 1;
	exit.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	attar_stream_attr(&exit, false);
	exit.disabled = 0;
	assert_int_equal(attar_counter_open(w.target, &exit, "exit", 0, &added), 0);
	assert_int_equal(attar_counter_filter(added, live_getppid_filter), 0);
	live_getppid(5);
	read_all(&w, &seen);
	assert_int_equal(attar_stream_add(w.stream, added, 1), 0);
	live_getppid(5);
	stats = finish(&w, &seen);
	assert_int_equal(stats.missing, 0);
	assert_int_equal(seen.samples, 5 + 2 * 5);
	attar_stream_free(w.stream);
	w.stream = NULL;
	attar_counter_close(added);
	calls_unwatch(&w);
}

/* What arrived before the start does not stand in for what was missing after it. */
static void test_arrivals_from_before_the_start(void **state)
{
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = RING, .keep_own = true};
	struct perf_event_attr attrs[] = {live_sys_enter(), live_sys_exit()};
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct calls w = {.target = live_self(), .n = 2};

	assert_int_equal(attar_symbols_new(NULL, &w.symbols), 0);
	for (size_t i = 0; i < w.n; i++) {
		attrs[i].sample_period = 1;
		attar_stream_attr(&attrs[i], false);
		if (attar_counter_open(w.target, &attrs[i], "call", 0, &w.counters[i]) < 0 ||
			attar_counter_filter(w.counters[i], live_getppid_filter) < 0 ||
			attar_counter_enable(w.counters[i]) < 0)
			fail_msg("%s", attar_error());
	}
	assert_int_equal(
		attar_stream_live(w.target, w.counters, 2, w.symbols, &opts, &w.stream), 0);
	live_getppid(10);
	assert_int_equal(attar_stream_start(w.stream), 0);
	live_getppid(5);
	assert_int_equal(attar_counter_redirect(w.counters[1], NULL), 0);
	live_getppid(7);
	stats = finish(&w, &seen);
	assert_int_equal(seen.samples, 2 * 5 + 7);
	assert_int_equal(stats.early, 2 * 10);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.missing, 7);
	calls_unwatch(&w);
}

/* A stop during a round: the rest of the ring is delivered too, before the first 0. */
static void test_stop_during_a_round_loses_nothing(void **state)
{
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct attar_event ev;
	struct calls w;

	watch(&w, false, false, true);
	live_getppid(5);
	assert_int_equal(attar_stream_next(w.stream, &ev), 1);
	live_getppid(5);
	stats = finish(&w, &seen);
	assert_int_equal(1 + seen.samples, 10);
	assert_int_equal(stats.missing, 0);
	calls_unwatch(&w);
}

/* As if the ring were shared with an event that is not the stream's. */
static void test_records_of_unknown_events_are_malformed(void **state)
{
	struct attar_stream_stats stats;
	struct seen seen = {0};
	struct calls w;

	watch(&w, false, false, true);
	live_getppid(200);
	map_reset(&w.stream->ids);
	stream_forget_ids(w.stream);
	read_all(&w, &seen);
	live_getppid(1); /* with a LOST record before it, which is counted whoever caused it */
	stats = finish(&w, &seen);
	assert_int_equal(seen.samples, 0);
	assert_int_equal(seen.lost_records, 1);
	assert_true(stats.lost > 0);
	assert_int_equal(stats.malformed + stats.lost, 201);
	assert_int_equal(stats.missing, 0);
	calls_unwatch(&w);
}

/* FORK has the child, COMM the thread with its new name. */
static void test_fork_and_comm_events_have_their_thread(void **state)
{
	char before[16];
	struct attar_event ev;
	int forks = 0, names = 0;
	struct calls w;
	pid_t child;

	watch(&w, false, true, true);
	prctl(PR_GET_NAME, before);
	prctl(PR_SET_NAME, "another-name");
	prctl(PR_SET_NAME, before);
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	while (attar_stream_next(w.stream, &ev) > 0) {
		assert_int_equal(
			ev.counter, ev.record->type == PERF_RECORD_SAMPLE ? 0 : ATTAR_NO_COUNTER);
		if (ev.record->type == PERF_RECORD_FORK) {
			assert_int_equal(ev.thread->tid, child);
			assert_int_equal(ev.thread->process->parent, getpid());
			forks++;
		}
		if (ev.record->type == PERF_RECORD_COMM) {
			assert_int_equal(ev.thread->tid, getpid());
			assert_string_equal(ev.thread->comm, names ? before : "another-name");
			names++;
		}
	}
	assert_int_equal(forks, 1);
	assert_int_equal(names, 2);
	calls_unwatch(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lost_samples_and_side_band_are_counted_separately),
		cmocka_unit_test(test_side_band_that_is_lost_later),
		cmocka_unit_test(test_losses_at_the_end_have_a_record),
		cmocka_unit_test(test_events_counted_but_not_delivered_are_missing),
		cmocka_unit_test(test_normal_streams_miss_nothing),
		cmocka_unit_test(test_counts_from_before_the_start_are_not_missing),
		cmocka_unit_test(test_arrivals_from_before_the_start),
		cmocka_unit_test(test_stop_during_a_round_loses_nothing),
		cmocka_unit_test(test_records_of_unknown_events_are_malformed),
		cmocka_unit_test(test_fork_and_comm_events_have_their_thread),
	};

	return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
