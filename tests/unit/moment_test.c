/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "base/moment.h"

#define S UINT64_C(1000000000)

static const uint64_t wall = UINT64_C(1700000000) * S; /* 2023-11-14 22:13:20 UTC */

/* The time on a clock that is 0 at `wall`, in a recording from second 10 to 20. */
static uint64_t resolved(const char *text)
{
	const struct moment_span span = {
		.from = 10 * S, .to = 20 * S, .start = 10 * S, .end = 20 * S, .offset = wall};
	struct moment m;

	assert_int_equal(moment_parse(text, &m), 0);
	return moment_resolve(&m, &span);
}

static void test_moments(void **state)
{
	assert_int_equal(resolved("2.5"), 12 * S + S / 2);
	assert_int_equal(resolved("0"), 10 * S);
	assert_int_equal(resolved("250ms"), 10 * S + S / 4);
	assert_int_equal(resolved("1m"), 70 * S);
	assert_int_equal(resolved("-3s"), 17 * S);
	assert_int_equal(resolved("-1h"), 0);
	assert_int_equal(resolved("22:13:32"), 12 * S);
	assert_int_equal(resolved("22:13:32.000000001"), 12 * S + 1);
	assert_int_equal(resolved("22:13:32.0000000019"), 12 * S + 1);
	assert_int_equal(resolved("22:14"), 40 * S);
	assert_int_equal(resolved("22:13"), 0); /* before the clock began */
	assert_int_equal(resolved("2023-11-14 22:13:32.5"), 12 * S + S / 2);
	assert_int_equal(resolved("2023-11-15T22:13:32"), (12 + 24 * 3600) * S);
	assert_int_equal(resolved("1970-01-01 00:00"), 0);
}

/* Times at the limits of the types, as a forged recording has them. */
static void test_limits(void **state)
{
	const struct moment_span span = {.from = UINT64_MAX - 1,
		.to = UINT64_MAX,
		.start = UINT64_MAX - 1,
		.end = 5,
		.offset = UINT64_MAX / 2};
	struct moment m;

	assert_int_equal(moment_parse("9999999s", &m), 0);
	assert_int_equal(moment_resolve(&m, &span), UINT64_MAX);
	assert_int_equal(moment_parse("-9s", &m), 0);
	assert_int_equal(moment_resolve(&m, &span), 0);
	assert_int_equal(moment_parse("9999-12-31 23:59:59", &m), 0);
	moment_resolve(&m, &span);
	assert_int_equal(moment_parse("0000-01-01 00:00", &m), 0);
	assert_int_equal(moment_resolve(&m, &span), 0);
	assert_int_equal(moment_parse("12:00", &m), 0);
	moment_resolve(&m, &span);
}

static void test_bad_moments(void **state)
{
	struct moment m = {.ns = 7};

	for (const char *const *bad = (const char *const[]){"", "-", "x", "1:00", "24:00", "10:60",
		     "10:00:60", "10:00:00.", "10:00:", "10:00 ", "2023-02-30 10:00",
		     "2023-13-01 10:00", "2023-01-01", "2023-01-01 ", "2023-01-01x10:00", "--1",
		     "1x", NULL};
		*bad; bad++) {
		assert_int_equal(moment_parse(*bad, &m), -EINVAL);
		assert_non_null(strstr(attar_error(), "is not a time: use a time of day"));
	}
	assert_int_equal(m.ns, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_moments),
		cmocka_unit_test(test_limits), cmocka_unit_test(test_bad_moments)};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
