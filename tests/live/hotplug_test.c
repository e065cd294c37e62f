/* SPDX-License-Identifier: MIT */
/*
 * CPUs go offline and online while they are watched. Most tests switch CPU 1 off and on, so they
 * only run on request: in a guest, with ATTAR_TEST_HOTPLUG=1.
 */
#include "live.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "attar/private/stream.h"
#include "attar/stream.h"
#include "perf/target.h"

enum { CALLS = 23 };

static char filter[64]; /* lets only getppid(2) of this thread through, on any CPU */

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static void set_cpu1(bool online)
{
	int fd = open("/sys/devices/system/cpu/cpu1/online", O_WRONLY | O_CLOEXEC);

	run_on(0);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, online ? "1" : "0", 1), 1);
	close(fd);
}

static void need_guest(void)
{
	if (!getenv("ATTAR_TEST_HOTPLUG") ||
		access("/sys/devices/system/cpu/cpu1/online", W_OK) < 0)
		live_skip("CPUs are switched off and on in a guest only");
	snprintf(filter, sizeof(filter), "%s && common_pid == %d", live_getppid_filter, gettid());
	set_cpu1(true);
}

static struct attar_target *whole_system(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts)};
	struct attar_target *target;

	if (attar_target_new(&opts, &target) < 0)
		fail_msg("%s", attar_error());
	return target;
}

static struct attar_counter *open_calls(struct attar_target *target)
{
	struct perf_event_attr attr = live_sys_enter();
	struct attar_counter *c;

	if (attar_counter_open(target, &attr, "getppid", 0, &c) < 0 ||
		attar_counter_filter(c, filter) < 0 || attar_counter_enable(c) < 0)
		fail_msg("%s", attar_error());
	return c;
}

static void call_on(int cpu)
{
	run_on(cpu);
	live_getppid(CALLS);
}

/* Returns the value of the counter's instance on a CPU; at most one. */
static struct attar_value on_cpu(struct attar_counter *c, int cpu)
{
	struct attar_value v = {.quality = ATTAR_QUALITY_ERROR};

	for (size_t i = 0; i < attar_counter_instances(c); i++)
		if (attar_counter_instance_at(c, i).cpu == cpu)
			assert_int_equal(attar_counter_read_at(c, i, &v), 0);
	return v;
}

static void assert_count(
	struct attar_counter *c, int cpu, uint64_t value, enum attar_quality quality)
{
	struct attar_value v = on_cpu(c, cpu);

	assert_int_equal(v.value, value);
	assert_int_equal(v.quality, quality);
}

static void test_counts_continue(void **state)
{
	struct attar_value sum, before;
	struct attar_target *target;
	struct attar_counter *c;

	need_guest();
	target = whole_system();
	c = open_calls(target);
	call_on(0);
	call_on(1);
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 0);
	before = on_cpu(c, 1);
	set_cpu1(false);
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 1);
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 0);
	assert_count(c, 1, CALLS, ATTAR_QUALITY_EXACT); /* nothing runs there: nothing is missed */
	set_cpu1(true);
	call_on(1); /* not yet watched */
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 1);
	call_on(1);
	assert_count(c, 0, CALLS, ATTAR_QUALITY_EXACT);
	assert_count(c, 1, 2 * CALLS, ATTAR_QUALITY_PARTIAL);
	assert_int_equal(attar_counter_read(c, &sum), 0);
	assert_int_equal(sum.value, 3 * CALLS);
	assert_int_equal(sum.quality, ATTAR_QUALITY_PARTIAL);
	sum = on_cpu(c, 1);
	sum = attar_value_since(&sum, &before);
	assert_int_equal(sum.value, CALLS);
	assert_int_equal(sum.quality, ATTAR_QUALITY_PARTIAL);
	assert_int_equal(attar_counter_reset(c), 0);
	call_on(1);
	assert_int_equal(on_cpu(c, 1).value, CALLS);
	attar_counter_close(c);
	attar_target_free(target);
}

/* Off and on between two checks: the list of online CPUs is the same, but the events are dead. */
static void test_short_absence_is_noticed(void **state)
{
	struct attar_target *target;
	struct attar_counter *c;

	need_guest();
	target = whole_system();
	c = open_calls(target);
	for (int i = 1; i <= 3; i++) {
		call_on(1);
		set_cpu1(false);
		set_cpu1(true);
		assert_int_equal(attar_target_follow_cpus(target, &c, 1), 1);
		assert_int_equal(on_cpu(c, 1).value, i * CALLS);
	}
	attar_counter_disable(c);
	set_cpu1(false);
	set_cpu1(true);
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 1);
	call_on(1); /* it stays disabled */
	assert_int_equal(on_cpu(c, 1).value, 3 * CALLS);
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_groups_continue(void **state)
{
	struct perf_event_attr calls,
		faults = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
	struct attar_group_event events[] = {{"getppid", &calls}, {"page-faults", &faults}};
	struct attar_counter *leader, *second;
	struct attar_target *target;
	struct attar_value values[2];
	struct attar_group *group;
	size_t place = 1;

	need_guest();
	calls = live_sys_enter();
	target = whole_system();
	if (attar_group_open(target, events, 2, 0, &group) < 0)
		fail_msg("%s", attar_error());
	leader = attar_group_counter(group, 0);
	second = attar_group_counter(group, 1);
	assert_int_equal(attar_counter_instance_at(leader, place).cpu, 1);
	assert_int_equal(attar_counter_filter(leader, filter), 0);
	attar_group_enable(group);
	run_on(1);
	live_fault(1000);
	call_on(1);
	set_cpu1(false);
	assert_int_equal(attar_target_follow_cpus(target, &leader, 1), 1);
	assert_int_equal(attar_group_read_at(group, place, values), 0);
	assert_int_equal(values[0].value, CALLS);
	assert_in_range(values[1].value, 1000, 1400);
	set_cpu1(true);
	assert_int_equal(attar_target_follow_cpus(target, &leader, 1), 1);
	run_on(1);
	live_fault(1000);
	call_on(1);
	assert_int_equal(attar_group_read_at(group, place, values), 0);
	assert_int_equal(values[0].value, 2 * CALLS);
	assert_in_range(values[1].value, 2000, 2800);
	assert_int_equal(values[1].quality, ATTAR_QUALITY_PARTIAL);
	assert_int_equal(on_cpu(second, 1).quality, ATTAR_QUALITY_PARTIAL);
	attar_group_close(group);
	attar_target_free(target);
}

static void test_new_cpu_is_added(void **state)
{
	struct attar_target *target;
	struct attar_counter *c;
	const int *cpus;
	size_t n;

	need_guest();
	set_cpu1(false);
	target = whole_system();
	c = open_calls(target);
	assert_int_equal(attar_counter_instances(c), 1);
	set_cpu1(true);
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 1);
	assert_int_equal(attar_counter_instances(c), 2);
	cpus = target_cpus(target, &n);
	assert_int_equal(n, 2);
	assert_int_equal(cpus[1], 1);
	call_on(1);
	assert_count(c, 1, CALLS, ATTAR_QUALITY_PARTIAL);
	attar_counter_close(c);
	attar_target_free(target);
}

/* ---- streams ---- */

struct watched {
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *calls, *other;
	struct attar_stream *stream;
	size_t n;      /* samples of this thread's calls, in order */
	size_t others; /* of the other event, which occurs on every CPU */
	uint64_t time;
};

static void watch(struct watched *w)
{
	struct attar_stream_opts opts = {.size = sizeof(opts), .keep_own = true};
	struct perf_event_attr attr = live_sys_enter(), clock = {.type = PERF_TYPE_SOFTWARE,
								.config = PERF_COUNT_SW_CPU_CLOCK,
								.sample_period = 10000000};

	*w = (struct watched){.target = whole_system()};
	attr.sample_period = 1;
	attar_stream_attr(&attr, true);
	attar_stream_attr(&clock, false);
	if (attar_symbols_new(NULL, &w->symbols) < 0 ||
		attar_counter_open(w->target, &attr, "getppid", 0, &w->calls) < 0 ||
		attar_counter_filter(w->calls, filter) < 0 ||
		attar_counter_open(w->target, &clock, "cpu-clock", 0, &w->other) < 0 ||
		attar_stream_live(w->target, &w->calls, 2, w->symbols, &opts, &w->stream) < 0 ||
		attar_stream_start(w->stream) < 0)
		fail_msg("%s", attar_error());
}

static void unwatch(struct watched *w)
{
	attar_stream_free(w->stream);
	attar_counter_close(w->other);
	attar_counter_close(w->calls);
	attar_target_free(w->target);
	attar_symbols_free(w->symbols);
}

static void drain(struct watched *w)
{
	struct attar_event ev;

	while (attar_stream_next(w->stream, &ev) > 0) {
		assert_true(ev.time >= w->time);
		w->time = ev.time;
		if (ev.record->type != PERF_RECORD_SAMPLE)
			continue;
		w->n += ev.counter == 0;
		w->others += ev.counter == 1 && ev.cpu == 1;
		if (ev.counter == 0)
			assert_int_equal(ev.cpu, 1);
	}
}

/* A stream checks for CPUs every 100 ms. */
static void drain_for(struct watched *w, int ms)
{
	struct timespec ts;
	uint64_t end = 0;

	for (;;) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		end = end ? end
			  : (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 +
				      (uint64_t)ms;
		if ((uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000 > end)
			return;
		drain(w);
		attar_stream_wait(w->stream, -1, 20);
	}
}

static void test_stream_continues(void **state)
{
	struct watched w;

	need_guest();
	watch(&w);
	for (size_t round = 1; round <= 3; round++) {
		call_on(1);
		drain(&w);
		assert_int_equal(w.n, round * CALLS);
		call_on(1); /* records in the ring of a CPU that goes offline are not lost */
		set_cpu1(false);
		drain_for(&w, 300);
		assert_int_equal(w.n, (round + 1) * CALLS);
		set_cpu1(true);
		drain_for(&w, 300);
		w.n -= CALLS;
		w.others = 0;
		run_on(1);
		for (volatile long i = 0; i < 20000000; i++)
			;
		drain_for(&w, 100);
		assert_true(w.others > 0); /* the other event of the ring is back too */
	}
	attar_stream_stop(w.stream);
	drain(&w);
	assert_int_equal(w.n, 3 * CALLS);
	unwatch(&w);
}

static void test_stream_adds_a_new_cpu(void **state)
{
	struct watched w;

	need_guest();
	set_cpu1(false);
	watch(&w);
	assert_int_equal(stream_rings(w.stream), 1);
	set_cpu1(true);
	drain_for(&w, 300);
	assert_int_equal(stream_rings(w.stream), 2);
	call_on(1);
	drain(&w);
	assert_int_equal(w.n, CALLS);
	unwatch(&w);
}

/* ---- looks without a change ---- */

/* The list of online CPUs is kept from one look to the next. */
/* As if CPU 0 had gone offline and come back. */
static void renew_cpu0(struct attar_target *target, struct attar_counter *c)
{
	target->hotplug.departures.at[0]++;
	target->hotplug.changes++;
	assert_int_equal(attar_target_follow_cpus(target, &c, 1), 1);
}

/* Counts of earlier times remain, also if the event cannot be read any more. */
static void test_renewed_counts(void **state)
{
	struct attar_counter_instance dead;
	struct attar_target *target;
	struct attar_counter *c;
	int other;

	live_need_root("watch a CPU");
	snprintf(filter, sizeof(filter), "%s && common_pid == %d", live_getppid_filter, gettid());
	target = whole_system();
	while (target->hotplug.departures.n == 0)
		assert_int_equal(vec_push(&target->hotplug.departures, 0), 0);
	c = open_calls(target);
	call_on(0);
	assert_count(c, 0, CALLS, ATTAR_QUALITY_EXACT);
	renew_cpu0(target, c);
	assert_count(c, 0, CALLS, ATTAR_QUALITY_PARTIAL);
	call_on(0);
	dead = attar_counter_instance_at(c, 0);
	assert_int_equal(dead.cpu, 0);
	other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup3(other, dead.fd, O_CLOEXEC), dead.fd);
	close(other);
	renew_cpu0(target, c);
	assert_count(c, 0, CALLS, ATTAR_QUALITY_PARTIAL);
	call_on(0);
	assert_count(c, 0, 2 * CALLS, ATTAR_QUALITY_PARTIAL);
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_looks_without_a_change(void **state)
{
	struct hotplug hotplug = {0};
	parse_ints online = {0};
	size_t n;

	if (hotplug_online(&online) < 0)
		fail_msg("%s", attar_error());
	n = online.n;
	hotplug_init(&hotplug, &online);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hotplug_look(&hotplug), 0);
	assert_int_equal(hotplug.online.n, n);
	assert_int_equal(hotplug.changes, 0);
	hotplug_done(&hotplug);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_continue),
		cmocka_unit_test(test_short_absence_is_noticed),
		cmocka_unit_test(test_groups_continue),
		cmocka_unit_test(test_new_cpu_is_added),
		cmocka_unit_test(test_stream_continues),
		cmocka_unit_test(test_stream_adds_a_new_cpu),
		cmocka_unit_test(test_renewed_counts),
		cmocka_unit_test(test_looks_without_a_change),
	};

	return cmocka_run_group_tests_name("hotplug", tests, NULL, NULL);
}
