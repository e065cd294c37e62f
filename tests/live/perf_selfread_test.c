/* SPDX-License-Identifier: MIT */
/* Self-reading: with simulated pages and CPU, and on the running kernel as far as it allows. */
#include "live.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "perf/selfread.h"

/* ---- a simulated CPU ---- */

static struct perf_event_mmap_page page;
static uint64_t pmc_value, clock_value;
static uint32_t pmc_index;
static int interruptions; /* how often the kernel updates in between; -1: each time */

static uint64_t fake_pmc(uint32_t index)
{
	pmc_index = index;
	if (interruptions) {
		interruptions -= interruptions > 0;
		page.lock += 2;
		page.offset += 1000;
	}
	return pmc_value;
}

static uint64_t fake_clock(void)
{
	return clock_value;
}

static const struct selfread_cpu cpu = {.pmc = fake_pmc, .clock = fake_clock};

static void begin(void)
{
	page = (struct perf_event_mmap_page){.cap_user_rdpmc = 1,
		.cap_user_time = 1,
		.lock = 2,
		.index = 3,
		.pmc_width = 48,
		.offset = 1000,
		.time_enabled = 500,
		.time_running = 400,
		.time_mult = 1,
		.time_shift = 0};
	pmc_value = 7;
	clock_value = 60;
	interruptions = 0;
}

static void test_adds_the_counter_to_the_page(void **state)
{
	struct selfread_counts c;

	begin();
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 1007);
	assert_int_equal(c.time_enabled, 560);
	assert_int_equal(c.time_running, 460);
	assert_int_equal(pmc_index, 2);
}

/* Counters are preset below zero, so that they overflow after a period. */
static void test_extends_the_sign(void **state)
{
	struct selfread_counts c;

	begin();
	pmc_value = 0xfffffffffff0; /* -16 in 48 bits */
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 984);
	pmc_value |= 0xabcdULL << 48; /* bits above the width are ignored */
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 984);
	page.pmc_width = 64;
	page.offset = 16;
	pmc_value = (uint64_t)-8;
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 8);
	page.pmc_width = 32;
	pmc_value = 0x80000000;
	page.offset = 0x80000000;
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 0);
	page.offset = -(1LL << 40); /* the kernel's part may be negative */
	pmc_value = 1;
	page.pmc_width = 48;
	assert_true(selfread_page(&page, &cpu, &c));
	assert_true(c.raw == (uint64_t)(1 - (1LL << 40)));
}

/* Cycles to ns as in the kernel: compared with the same product in 128 bits. */
static void test_converts_cycles_to_time(void **state)
{
	const uint64_t cycles[] = {0, 1, 999, 1ULL << 31, 123456789012345, UINT64_MAX >> 12};
	struct selfread_counts c;

	begin();
	page.time_enabled = page.time_running = 0;
	page.time_mult = 871526;
	page.time_shift = 21;
	page.time_offset = 1000;
	for (size_t i = 0; i < sizeof(cycles) / sizeof(cycles[0]); i++) {
		uint64_t truth = 1000 + (uint64_t)((unsigned __int128)cycles[i] * 871526 >> 21);

		clock_value = cycles[i];
		assert_true(selfread_page(&page, &cpu, &c));
		assert_true(c.time_enabled == truth);
		assert_true(c.time_running == truth);
	}
	/* the offset is subtracted by the kernel: it is negative */
	page.time_offset = (uint64_t)-50;
	clock_value = 2097152;
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.time_enabled, 871526 - 50);
}

/* A clock of 24 bits that has wrapped since the kernel's last update. */
static void test_extends_clocks_that_wrap(void **state)
{
	struct selfread_counts c;

	begin();
	page.time_enabled = 0;
	page.cap_user_time_short = 1;
	page.time_mask = 0xffffff;
	page.time_cycles = 0x5fffff0;
	clock_value = 0x10;
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.time_enabled, 0x5fffff0 + 0x20);
}

static void test_retries_after_an_update_by_the_kernel(void **state)
{
	struct selfread_counts c;

	begin();
	interruptions = 3;
	assert_true(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 4007);
	begin();
	interruptions = -1;
	assert_false(selfread_page(&page, &cpu, &c));
	begin();
	page.lock = 3; /* the kernel is updating forever */
	assert_false(selfread_page(&page, &cpu, &c));
}

static void test_reads_only_permitted_counters(void **state)
{
	struct selfread_counts c = {.raw = 23};

	begin();
	page.index = 0;
	assert_false(selfread_page(&page, &cpu, &c));
	begin();
	page.cap_user_rdpmc = 0;
	assert_false(selfread_page(&page, &cpu, &c));
	begin();
	page.cap_user_time = 0;
	assert_false(selfread_page(&page, &cpu, &c));
	assert_int_equal(c.raw, 23);
}

/* ---- the running kernel ---- */

static struct attar_value by_self(struct attar_counter *c)
{
	struct attar_value v;

	if (attar_counter_read_self(c, &v) < 0)
		fail_msg("%s", attar_error());
	return v;
}

/* Events without a hardware counter are read by read(2), and the value says so. */
static void test_falls_back_to_a_system_call(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_PAGE_FAULTS);
	struct attar_value v;

	by_self(c); /* maps its page */
	live_fault(1);
	attar_counter_enable(c);
	live_fault(100);
	attar_counter_disable(c);
	v = by_self(c);
	assert_int_equal(v.value, 100);
	assert_int_equal(v.quality, ATTAR_QUALITY_EXACT);
	assert_false(v.by_self_read);
	attar_counter_reset(c);
	assert_int_equal(by_self(c).value, 0);
	attar_counter_close(c);
	attar_target_free(target);
}

/* On arm64 the administrator must allow it. */
static const char user_access[] = "/proc/sys/kernel/perf_user_access";

static int set_user_access(int value)
{
	int before = 0;
	FILE *f = fopen(user_access, "r+");

	if (!f)
		return 0;
	if (fscanf(f, "%d", &before) == 1) {
		rewind(f);
		fprintf(f, "%d\n", value);
	}
	fclose(f);
	return before;
}

static struct attar_counter *open_cycles(struct attar_target *target, bool inherit)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = inherit};
	struct attar_counter *c = NULL;

	if (attar_counter_open(target, &attr, "cycles", ATTAR_COUNTER_SELF_READ, &c) < 0) {
		attar_target_free(target);
		live_skip(attar_error());
	}
	return c;
}

static void *read_elsewhere(void *counter)
{
	struct attar_value v = by_self(counter);

	assert_false(v.by_self_read);
	return NULL;
}

/* Values read directly are between the kernel's before and after; also after a reset. */
static void test_agrees_with_the_kernel(void **state)
{
	struct attar_target *target = live_self();
	int before = set_user_access(1);
	struct attar_counter *c = open_cycles(target, false);
	struct attar_value first, own, last;
	pthread_t other;

	own = by_self(c);
	if (!own.by_self_read) {
		set_user_access(before);
		attar_counter_close(c);
		attar_target_free(target);
		live_skip("this CPU or kernel does not allow threads to read their counters");
	}
	for (int i = 0; i < 1000; i++) {
		if (i == 500)
			assert_int_equal(attar_counter_reset(c), 0);
		assert_int_equal(attar_counter_read(c, &first), 0);
		own = by_self(c);
		assert_int_equal(attar_counter_read(c, &last), 0);
		assert_true(first.raw <= own.raw && own.raw <= last.raw);
		assert_true(first.time_enabled <= own.time_enabled);
		assert_true(own.time_enabled <= last.time_enabled);
		assert_false(first.by_self_read);
	}
	/* another thread has other counters in its CPU */
	assert_int_equal(pthread_create(&other, NULL, read_elsewhere, c), 0);
	pthread_join(other, NULL);
	attar_counter_close(c);
	c = open_cycles(target, true);
	assert_false(by_self(c).by_self_read); /* the page does not include counts of children */
	attar_counter_close(c);
	set_user_access(before);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adds_the_counter_to_the_page),
		cmocka_unit_test(test_extends_the_sign),
		cmocka_unit_test(test_converts_cycles_to_time),
		cmocka_unit_test(test_extends_clocks_that_wrap),
		cmocka_unit_test(test_retries_after_an_update_by_the_kernel),
		cmocka_unit_test(test_reads_only_permitted_counters),
		cmocka_unit_test(test_falls_back_to_a_system_call),
		cmocka_unit_test(test_agrees_with_the_kernel),
	};

	return cmocka_run_group_tests_name("perf_selfread", tests, NULL, NULL);
}
