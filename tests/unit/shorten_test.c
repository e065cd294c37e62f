/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "report/model/shorten.h"
#include "report/model/width.h"

static const char *text_at(void *ctx, size_t i)
{
	return ((const char *const *)ctx)[i];
}

/* Shortens n texts to `columns`: they must be as expected, and fit. */
static void assert_shortened(
	const char *const *texts, size_t n, unsigned columns, const char *const *expected)
{
	struct shorten how = shorten_choose(text_at, (void *)texts, n, columns);

	for (size_t i = 0; i < n; i++) {
		struct buf b = {0};

		shorten_add(&b, &how, texts[i], columns);
		assert_string_equal(buf_text(&b), expected[i]);
		assert_true(width_of(buf_text(&b)) <= columns);
		buf_done(&b);
	}
}

static void test_ends_are_cut_if_texts_stay_different(void **state)
{
	const char *const texts[] = {"alpha_function", "beta_function", "short", "alpha_function"};
	const char *const expected[] = {"alpha…", "beta_…", "short", "alpha…"};

	assert_shortened(texts, 4, 6, expected);
}

static void test_common_prefix_is_cut(void **state)
{
	const char *const texts[] = {
		"syscalls:sys_enter_mmap", "page-faults", "syscalls:sys_enter_munmap_ab"};
	const char *const expected[] = {"…:sys_enter_mmap", "page-faults", "…enter_munmap_ab"};

	assert_shortened(texts, 3, 16, expected);
	/* so little is left that their ends are cut, too */
	assert_shortened((const char *const[]){"sys_enter_long", "sys_enter_size"}, 2, 4,
		(const char *const[]){"…lo…", "…si…"});
}

static void test_beginnings_are_cut(void **state)
{
	const char *const texts[] = {"xsys_enter_read", "sys_enter_write", "sys_enter_open"};
	const char *const expected[] = {"…r_read", "…_write", "…r_open"};

	assert_shortened(texts, 3, 7, expected);
}

static void test_middles_are_cut(void **state)
{
	const char *const texts[] = {"in_a_call_end", "on_a_call_end", "on_a_call_now", "xy_call"};
	const char *const expected[] = {"in…_end", "on…_end", "on…_now", "xy_call"};

	assert_shortened(texts, 4, 7, expected);
}

static void test_paths_keep_their_ends(void **state)
{
	const char *const texts[] = {"/usr/lib/a.so", "/usr/lib/b.so"};
	const char *const expected[] = {"…/a.so", "…/b.so"};

	assert_shortened(texts, 2, 6, expected);
}

static void test_wide_characters(void **state)
{
	const char *const texts[] = {"漢字漢字a", "漢字漢字b"};
	const char *const expected[] = {"…漢字a", "…漢字b"};

	assert_shortened(texts, 2, 6, expected);
}

static void test_every_width(void **state)
{
	static const char *const texts[] = {"", "a", "sched:sched_switch", "sched:sched_wakeup",
		"漢字漢字漢字", "/bin/true", "sched:é_switch", "e\u0301e\u0301e\u0301e\u0301"};

	for (unsigned columns = 0; columns < 30; columns++) {
		struct shorten how =
			shorten_choose(text_at, (void *)texts, ARRAY_SIZE(texts), columns);

		for (how.how = SHORTEN_END; how.how <= SHORTEN_MIDDLE; how.how++)
			for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
				struct buf b = {0};

				shorten_add(&b, &how, texts[i], columns);
				assert_true(width_of(buf_text(&b)) <= columns);
				buf_done(&b);
			}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends_are_cut_if_texts_stay_different),
		cmocka_unit_test(test_common_prefix_is_cut),
		cmocka_unit_test(test_beginnings_are_cut),
		cmocka_unit_test(test_middles_are_cut),
		cmocka_unit_test(test_paths_keep_their_ends),
		cmocka_unit_test(test_wide_characters),
		cmocka_unit_test(test_every_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
