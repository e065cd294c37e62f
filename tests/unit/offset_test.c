/* SPDX-License-Identifier: MIT */
/* The offset of a clock that is measured, compared with the true offset of a simulated clock. */
#include "unit.h"

#include "base/base.h"
#include "peer/offset.h"

enum { STEP_NS = 1000000, MEASURE_NS = 500000000, ERROR_NS = 50000 };

static const uint64_t second = 1000000000;

/* The clock of the other machine, and what is known about it. */
struct clocks {
	struct offset offset;
	uint64_t there, measured; /* ns, of the other clock */
	int64_t ahead;            /* ns: the true offset */
	uint64_t last_here;       /* the newest time that was converted */
	uint64_t worst;           /* ns: the largest error of converted times */
	uint64_t seed;
};

static void start(struct clocks *c, int64_t ahead)
{
	*c = (struct clocks){.there = 100 * second, .ahead = ahead, .seed = 7};
	offset_start(&c->offset, ahead, ERROR_NS);
}

/* A measurement is wrong by less than its error. */
static void measure(struct clocks *c)
{
	int64_t noise = (int64_t)(base_hash64(c->seed++) % (2 * ERROR_NS)) - ERROR_NS;

	c->measured = c->there;
	offset_follow(&c->offset, c->there, c->ahead + noise, ERROR_NS);
}

/* An event of this moment is converted: after those before it, and as exactly as reported. */
static void convert(struct clocks *c)
{
	uint64_t here = offset_here(&c->offset, c->there);
	int64_t wrong = (int64_t)(here - (c->there - (uint64_t)c->ahead));

	assert_true(here >= c->last_here);
	c->last_here = here;
	c->worst = MAX(c->worst, (uint64_t)(wrong < 0 ? -wrong : wrong));
}

/* The time passes while the other clock gains this much in a second. */
static void run(struct clocks *c, uint64_t ns, int64_t gain)
{
	for (uint64_t end = c->there + ns; c->there < end; c->there += STEP_NS) {
		c->ahead += gain * STEP_NS / (int64_t)second;
		convert(c);
		if (c->there - c->measured >= MEASURE_NS)
			measure(c);
	}
}

/* 0.1 ms per second are 360 ms in an hour. */
static void test_drift_is_corrected(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		struct clocks c;

		start(&c, 5 * (int64_t)second);
		run(&c, 3600 * second, sign * 100000);
		assert_int_equal(c.ahead - 5 * (int64_t)second, sign * 360000000);
		assert_true(c.worst <= c.offset.error);
		assert_in_range(c.offset.error, ERROR_NS, 5 * ERROR_NS);
	}
}

static void test_no_drift_changes_nothing(void **state)
{
	struct clocks c;

	(void)state;
	start(&c, -3 * (int64_t)second);
	run(&c, 60 * second, 0);
	assert_int_equal(c.worst, 0);
	assert_in_range(c.offset.error, ERROR_NS, 2 * ERROR_NS);
}

/* One of the machines was suspended: convert() checks that times never run backwards. */
static void test_steps(void **state)
{
	(void)state;
	for (int sign = -1; sign <= 1; sign += 2) {
		struct clocks c;

		start(&c, 0);
		run(&c, 2 * second, 0);
		c.ahead += sign * (int64_t)second;
		run(&c, 3 * second, 0);
		assert_in_range(c.offset.error, second, second + 2 * ERROR_NS);
		c.worst = 0;
		run(&c, 10 * second, 0);
		assert_in_range(c.worst, 0, ERROR_NS);
	}
}

static void test_converted_times_stay(void **state)
{
	struct offset o;
	uint64_t before[10];

	(void)state;
	offset_start(&o, 1000, ERROR_NS);
	offset_follow(&o, second, 500000, ERROR_NS);
	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		before[i] = offset_here(&o, second + i * 20000000);
	offset_follow(&o, second + 9 * 20000000, -900000, ERROR_NS);
	for (unsigned i = 0; i < ARRAY_SIZE(before); i++)
		assert_int_equal(offset_here(&o, second + i * 20000000), before[i]);
}

/* Data waited on the way: such a measurement shows large changes only. */
static void test_slow_measurements(void **state)
{
	struct offset o;

	(void)state;
	offset_start(&o, 0, ERROR_NS);
	offset_follow(&o, second, 9 * ERROR_NS, 10 * ERROR_NS);
	assert_int_equal(offset_at(&o, 2 * second), 0);
	assert_int_equal(o.error, ERROR_NS);
	offset_follow(&o, second, 20 * ERROR_NS, 10 * ERROR_NS);
	assert_int_equal(offset_at(&o, 2 * second), 20 * ERROR_NS);
	assert_int_equal(o.error, 30 * ERROR_NS);
}

/* The times are those that another machine claims. */
static void test_hostile_times(void **state)
{
	static const uint64_t times[] = {0, 1, UINT64_C(1) << 59, UINT64_C(1) << 60,
		UINT64_C(1) << 62, UINT64_C(1) << 63, UINT64_MAX};
	struct offset o;

	(void)state;
	for (size_t first = 0; first < ARRAY_SIZE(times); first++) {
		offset_start(&o, (int64_t)times[first], UINT64_MAX);
		for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
			offset_follow(&o, times[i], (int64_t)times[i], 0);
			offset_here(&o, times[i]);
			offset_here(&o, times[ARRAY_SIZE(times) - 1 - i]);
		}
	}
	for (uint64_t i = 1; i < 3 * OFFSET_POINTS; i++) { /* older points are forgotten */
		offset_start(&o, 0, 0);
		for (uint64_t n = 0; n < i; n++)
			offset_follow(&o, second + n * 10, (int64_t)(n % 2) * 100, 0);
		assert_true(offset_here(&o, 0) <= offset_here(&o, 100 * second));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drift_is_corrected),
		cmocka_unit_test(test_no_drift_changes_nothing),
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_converted_times_stay),
		cmocka_unit_test(test_slow_measurements),
		cmocka_unit_test(test_hostile_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
