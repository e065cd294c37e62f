/* SPDX-License-Identifier: MIT */
/* Reading a counter, enabling it and delivering a record allocate nothing. */
#include "allocations.h"
#include "live.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "attar/stream.h"

enum { TIMES = 1000, MEMBERS = 4 };

static const uint64_t configs[MEMBERS] = {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS,
	PERF_COUNT_SW_CONTEXT_SWITCHES, PERF_COUNT_SW_CPU_MIGRATIONS};

/* This thread on each CPU: several instances, whose values are added. */
static struct attar_target *self_on_cpus(void)
{
	char tid[16];
	struct attar_target_opts opts = {.size = sizeof(opts), .tids = tid};
	struct attar_target *target;

	snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
	if (attar_target_new(&opts, &target) < 0)
		fail_msg("%s", attar_error());
	return target;
}

static void use_counter(struct attar_counter *c)
{
	struct attar_value value;

	for (size_t i = 0; i < TIMES; i++) {
		assert_int_equal(attar_counter_enable(c), 0);
		assert_int_equal(attar_counter_read(c, &value), 0);
		assert_int_equal(attar_counter_read_at(c, 0, &value), 0);
		assert_int_equal(attar_counter_read_self(c, &value), 0);
		assert_int_equal(attar_counter_disable(c), 0);
		assert_int_equal(attar_counter_reset(c), 0);
	}
}

static void counter_allocates_nothing(struct attar_target *target)
{
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_TASK_CLOCK);
	size_t before = allocations_made();

	use_counter(c);
	assert_int_equal(allocations_made(), before);
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_a_counter_allocates_nothing(void **state)
{
	allocations_need();
	counter_allocates_nothing(live_self());
	counter_allocates_nothing(self_on_cpus());
}

static struct attar_group *open_group(struct attar_target *target)
{
	struct perf_event_attr attrs[MEMBERS];
	struct attar_group_event events[MEMBERS];
	struct attar_group *group;

	for (int i = 0; i < MEMBERS; i++) {
		attrs[i] = (struct perf_event_attr){
			.type = PERF_TYPE_SOFTWARE, .config = configs[i], .disabled = 1};
		events[i] = (struct attar_group_event){"member", &attrs[i]};
	}
	if (attar_group_open(target, events, MEMBERS, 0, &group) < 0)
		fail_msg("%s", attar_error());
	return group;
}

static void group_allocates_nothing(struct attar_target *target)
{
	struct attar_group *group = open_group(target);
	struct attar_value values[MEMBERS];
	uint64_t alone[MEMBERS];
	size_t before = allocations_made();

	for (size_t i = 0; i < TIMES; i++) {
		assert_int_equal(attar_group_enable(group), 0);
		assert_int_equal(attar_group_read(group, values), 0);
		assert_int_equal(attar_group_read_at(group, 0, values), 0);
		assert_true(group_values(group, alone) >= 0);
		assert_int_equal(attar_group_disable(group), 0);
		if (i >= TIMES / 2) /* values are differences from here on */
			assert_int_equal(attar_group_reset(group), 0);
	}
	assert_int_equal(allocations_made(), before);
	attar_group_close(group);
	attar_target_free(target);
}

static void test_a_group_allocates_nothing(void **state)
{
	allocations_need();
	group_allocates_nothing(live_self());
	group_allocates_nothing(self_on_cpus());
}

static size_t drain(struct attar_stream *stream)
{
	struct attar_event ev;
	size_t n = 0;

	while (attar_stream_next(stream, &ev) > 0)
		n += ev.record->type == PERF_RECORD_SAMPLE;
	return n;
}

/* 20 records at a time into a ring for about 50: most rounds wrap. */
static void test_records_allocate_nothing(void **state)
{
	const struct attar_stream_opts opts = {
		.size = sizeof(opts), .ring_bytes = 16384, .keep_own = true};
	struct perf_event_attr attr = live_sys_enter();
	struct attar_target *target;
	struct attar_symbols *symbols;
	struct attar_counter *counter;
	struct attar_stream *stream;
	size_t seen = 0, before;

	allocations_need();
	target = live_self();
	attr.sample_period = 1;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	attar_stream_attr(&attr, true);
	if (attar_symbols_new(NULL, &symbols) < 0 ||
		attar_counter_open(target, &attr, "system calls", 0, &counter) < 0 ||
		attar_counter_filter(counter, live_getppid_filter) < 0 ||
		attar_stream_live(target, &counter, 1, symbols, &opts, &stream) < 0 ||
		attar_stream_start(stream) < 0)
		fail_msg("%s", attar_error());
	for (int i = 0; i < 10; i++) { /* adds this thread to the table; the first record wraps */
		live_getppid(20);
		drain(stream);
	}
	before = allocations_made();
	for (size_t i = 0; i < TIMES; i++) {
		live_getppid(20);
		attar_stream_wait(stream, -1, 0);
		seen += drain(stream);
	}
	assert_int_equal(allocations_made(), before);
	assert_int_equal(seen, 20 * TIMES);
	attar_stream_free(stream);
	attar_counter_close(counter);
	attar_symbols_free(symbols);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_counter_allocates_nothing),
		cmocka_unit_test(test_a_group_allocates_nothing),
		cmocka_unit_test(test_records_allocate_nothing),
	};

	return cmocka_run_group_tests_name("allocations", tests, NULL, NULL);
}
