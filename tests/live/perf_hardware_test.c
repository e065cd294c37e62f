/* SPDX-License-Identifier: MIT */
/*
 * Hardware counters, with loops of known length. If one instruction is one cycle and the same in
 * every run (a guest under -icount, indicated by ATTAR_ICOUNT), counts are exact except for a
 * constant part around the loop; on a real CPU, interrupts add to them. Skipped without a CPU PMU.
 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "attar/record.h"

static bool is_exact(void)
{
	return getenv("ATTAR_ICOUNT") != NULL;
}

/* Two instructions per iteration. */
__attribute__((noinline)) static void turn(uint64_t n)
{
#ifdef __aarch64__
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
	__asm__ volatile("1: sub $1, %0\n\tjnz 1b" : "+r"(n) : : "cc");
#endif
}

static struct perf_event_attr event(uint64_t config)
{
	return (struct perf_event_attr){.type = PERF_TYPE_HARDWARE,
		.config = config,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1};
}

/* Skips the test if there is none. */
static struct attar_counter *open_or_skip(
	struct attar_target *target, const struct perf_event_attr *attr, unsigned flags)
{
	struct attar_counter *c;

	if (attar_counter_open(target, attr, "hardware", flags, &c) == 0)
		return c;
	attar_target_free(target);
	live_skip(attar_error());
	return NULL;
}

static struct attar_value value_of(struct attar_counter *c)
{
	struct attar_value v;

	if (attar_counter_read(c, &v) < 0)
		fail_msg("%s", attar_error());
	return v;
}

static uint64_t count_turns(struct attar_counter *c, uint64_t turns)
{
	struct attar_value v;

	assert_int_equal(attar_counter_reset(c), 0);
	attar_counter_enable(c);
	turn(turns);
	attar_counter_disable(c);
	v = value_of(c);
	assert_int_equal(v.quality, ATTAR_QUALITY_EXACT);
	return v.value;
}

/* The constant part includes one iteration; each further iteration adds two instructions. */
static void test_counts_instructions(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = event(PERF_COUNT_HW_INSTRUCTIONS);
	struct attar_counter *c = open_or_skip(target, &attr, 0);
	const uint64_t slack = is_exact() ? 0 : 5000;
	uint64_t constant = count_turns(c, 1);

	assert_in_range(constant, 2, 2000 + slack);
	for (uint64_t turns = 1000; turns <= 10000000; turns *= 10) {
		uint64_t more = count_turns(c, turns + 1);

		assert_in_range(
			more + slack, constant + 2 * turns, constant + 2 * turns + 2 * slack);
	}
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_counts_cycles(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = event(PERF_COUNT_HW_CPU_CYCLES);
	struct attar_counter *c = open_or_skip(target, &attr, 0);
	uint64_t constant = count_turns(c, 1), more = count_turns(c, 1000001);

	if (is_exact())
		assert_int_equal(more, constant + 2000000);
	else
		assert_in_range(more, 1000000 / 4, 1000000 * 40ULL);
	attar_counter_close(c);
	attar_target_free(target);
}

/* ---- sampling ---- */

static size_t drain(struct attar_ring *ring, const struct attar_layout *layout, uint64_t period)
{
	const struct perf_event_header *header;
	struct attar_record r;
	size_t n = 0;

	attar_ring_begin(ring);
	while ((header = attar_ring_next(ring))) {
		assert_int_equal(attar_record_parse(layout, header, header->size, &r), 0);
		if (r.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(r.sample.period, period);
		n++;
	}
	attar_ring_end(ring);
	return n;
}

/*
 * One sample each time that the period is full; a thousand per second, which no kernel throttles.
 * Cycles: QEMU delivers few of the overflows of its instruction counter.
 */
static void test_samples_at_the_period(void **state)
{
	enum { PERIOD = 1000003, TURNS = 50000000 };
	struct attar_target *target = live_self();
	struct perf_event_attr attr = event(PERF_COUNT_HW_CPU_CYCLES);
	struct attar_ring **rings;
	struct attar_layout layout;
	struct attar_counter *c;
	uint64_t counted;
	size_t n, taken;

	attr.sample_period = PERIOD;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
	c = open_or_skip(target, &attr, 0);
	if (attar_rings_new(target, &c, 1, 65536, &rings, &n) < 0)
		fail_msg("%s", attar_error());
	attar_layout_init(&layout, attar_counter_attr(c));
	attar_counter_enable(c);
	turn(TURNS);
	attar_counter_disable(c);
	counted = value_of(c).value;
	taken = drain(rings[0], &layout, PERIOD);
	if (is_exact())
		assert_in_range(counted, 2 * TURNS, 2 * TURNS + 1000);
	assert_in_range(taken, counted / PERIOD - 1, counted / PERIOD + 1);
	assert_int_equal(counter_lost(c), 0);
	attar_rings_free(rings, n);
	attar_counter_close(c);
	attar_target_free(target);
}

/* ---- more events than counters ---- */

static void test_scales_when_overcommitted(void **state)
{
	enum { MANY = 40 };
	const uint64_t turns = is_exact() ? 200000000 : 1000000000;
	struct attar_target *target = live_self();
	struct perf_event_attr attr = event(PERF_COUNT_HW_INSTRUCTIONS);
	struct attar_counter *c[MANY];
	size_t scaled = 0;

	c[0] = open_or_skip(target, &attr, 0);
	for (int i = 1; i < MANY; i++)
		assert_int_equal(attar_counter_open(target, &attr, "hardware", 0, &c[i]), 0);
	assert_int_equal(counters_enable_all(), 0);
	turn(turns);
	assert_int_equal(counters_disable_all(), 0);
	for (int i = 0; i < MANY; i++) {
		struct attar_value v = value_of(c[i]);
		double off = (double)v.value / (double)(2 * turns) - 1;

		if (v.quality == ATTAR_QUALITY_SCALED) {
			scaled++;
			assert_true(v.time_running < v.time_enabled);
			assert_true(v.raw < v.value);
			if (off < -0.05 || off > 0.05)
				fail_msg("number %d: %.1f %% off", i, 100 * off);
		} else
			assert_int_equal(v.quality, ATTAR_QUALITY_NOT_COUNTED);
		attar_counter_close(c[i]);
	}
	/* all except those that were never scheduled, which are marked so */
	assert_true(scaled >= 7);
	attar_target_free(target);
}

/* ---- groups ---- */

/*
 * Leader and sibling of the CPU's PMU, and siblings of the kernel's: all of them count at the same
 * time.
 */
static void test_siblings_of_other_pmus(void **state)
{
	const struct perf_event_attr instructions = event(PERF_COUNT_HW_INSTRUCTIONS),
				     cycles = event(PERF_COUNT_HW_CPU_CYCLES),
				     faults = {.type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_PAGE_FAULTS,
					     .disabled = 1},
				     clock = {.type = PERF_TYPE_SOFTWARE,
					     .config = PERF_COUNT_SW_TASK_CLOCK,
					     .disabled = 1};
	const struct attar_group_event events[] = {{"instructions", &instructions},
		{"page-faults", &faults}, {"cycles", &cycles}, {"task-clock", &clock}};
	struct attar_target *target = live_self();
	struct attar_value v[4];
	struct attar_group *g;

	attar_counter_close(open_or_skip(target, &instructions, 0));
	if (attar_group_open(target, events, 4, 0, &g) < 0)
		fail_msg("%s", attar_error());
	live_fault(1);
	assert_int_equal(attar_group_enable(g), 0);
	live_fault(23);
	turn(1000000);
	assert_int_equal(attar_group_disable(g), 0);
	assert_int_equal(attar_group_read(g, v), 0);
	assert_int_equal(v[1].value, 23);
	assert_in_range(v[0].value, 2000000, 2200000);
	assert_true(v[2].value > 200000 && v[3].value > 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(v[i].quality, ATTAR_QUALITY_EXACT);
		assert_int_equal(v[i].time_enabled, v[0].time_enabled);
	}
	attar_group_close(g);
	attar_target_free(target);
}

/* ---- without a system call ---- */

/* The switches of self-reading: arm64's sysctl, or x86's file of the PMU. NULL if there is none. */
static const char *access_path(void)
{
	static const char *const paths[] = {
		"/proc/sys/kernel/perf_user_access", "/sys/bus/event_source/devices/cpu/rdpmc"};

	for (size_t i = 0; i < 2; i++)
		if (access(paths[i], W_OK) == 0)
			return paths[i];
	return NULL;
}

static int set_access(const char *path, int value)
{
	FILE *f = fopen(path, "r+e");
	int before = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &before), 1);
	rewind(f);
	fprintf(f, "%d\n", value);
	assert_int_equal(fclose(f), 0);
	return before;
}

/* A loop between two self-readings; returns how they were read. */
static uint64_t read_around(struct attar_counter *c, uint64_t turns, bool *ret_by_self)
{
	struct attar_value before, after;

	if (attar_counter_read_self(c, &before) < 0)
		fail_msg("%s", attar_error());
	turn(turns);
	if (attar_counter_read_self(c, &after) < 0)
		fail_msg("%s", attar_error());
	assert_int_equal(before.by_self_read, after.by_self_read);
	*ret_by_self = after.by_self_read;
	return after.raw - before.raw;
}

static void count_around(bool allowed)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = event(PERF_COUNT_HW_INSTRUCTIONS);
	struct attar_counter *c = open_or_skip(target, &attr, ATTAR_COUNTER_SELF_READ);
	const uint64_t slack = is_exact() ? 0 : 5000;
	uint64_t constant, more;
	bool by_self;

	attar_counter_enable(c);
	read_around(c, 1, &by_self);
	constant = read_around(c, 1, &by_self);
	more = read_around(c, 1000001, &by_self);
	if (is_exact() || !allowed)
		assert_int_equal(by_self, allowed);
	assert_in_range(more + slack, constant + 2000000, constant + 2000000 + 2 * slack);
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_self_reading_agrees_with_read(void **state)
{
	const char *path = access_path();
	struct perf_event_attr attr = event(PERF_COUNT_HW_INSTRUCTIONS);
	struct attar_target *target = live_self();
	int before;

	attar_counter_close(open_or_skip(target, &attr, 0));
	attar_target_free(target);
	if (!path)
		live_skip("this machine has no switch for self-reading");
	before = set_access(path, 0);
	count_around(false);
	set_access(path, 1);
	count_around(true);
	set_access(path, before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_instructions),
		cmocka_unit_test(test_counts_cycles),
		cmocka_unit_test(test_samples_at_the_period),
		cmocka_unit_test(test_scales_when_overcommitted),
		cmocka_unit_test(test_siblings_of_other_pmus),
		cmocka_unit_test(test_self_reading_agrees_with_read),
	};

	return cmocka_run_group_tests_name("perf_hardware", tests, NULL, NULL);
}
