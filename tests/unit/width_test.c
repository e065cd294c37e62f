/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include "report/model/width.h"

static void test_width(void **state)
{
	assert_int_equal(width_of(""), 0);
	assert_int_equal(width_of("abc"), 3);
	assert_int_equal(width_of("äöü…"), 4);
	assert_int_equal(width_of("漢字"), 4);
	assert_int_equal(width_of("😀"), 2);
	assert_int_equal(width_of("e\u0301\u200b"), 1);
	assert_int_equal(width_of("\U0001F469\u200d"), 2);
}

static void assert_cut(const char *text, unsigned columns, const char *expected)
{
	struct buf b = {0};
	unsigned width = width_cut(&b, text, columns);

	assert_string_equal(buf_text(&b), expected);
	assert_int_equal(width, width_of(expected));
	buf_done(&b);
}

static void test_cut(void **state)
{
	assert_cut("abc", 3, "abc");
	assert_cut("abcd", 3, "ab…");
	assert_cut("abcd", 1, "…");
	assert_cut("abcd", 0, "");
	assert_cut("", 0, "");
	assert_cut("漢字字", 5, "漢字…");
	assert_cut("漢字字", 4, "漢…");
	assert_cut("e\u0301e\u0301e\u0301", 2, "e\u0301…");
}

static void assert_cut_start(const char *text, unsigned columns, const char *expected)
{
	struct buf b = {0};

	width_cut_start(&b, text, columns);
	assert_string_equal(buf_text(&b), expected);
	buf_done(&b);
}

static void test_cut_start(void **state)
{
	assert_cut_start("/usr/lib/libc.so.6", 18, "/usr/lib/libc.so.6");
	assert_cut_start("/usr/lib/libc.so.6", 11, "…/libc.so.6");
	assert_cut_start("/usr/lib/libc.so.6", 1, "…");
	assert_cut_start("/usr/lib/libc.so.6", 0, "");
	assert_cut_start("/漢字", 4, "…字");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_start),
	};

	return cmocka_run_group_tests_name("width", tests, NULL, NULL);
}
