/* SPDX-License-Identifier: MIT */
/* User text in messages: short text is unchanged, long text is cut between characters. */
#include "unit.h"

#include <string.h>

#include "base/base.h"

static void test_short_texts_are_unchanged(void **state)
{
	char text[CLIP_TEXT_MAX + 1];

	memset(text, 'x', CLIP_TEXT_MAX);
	text[CLIP_TEXT_MAX] = '\0';
	assert_string_equal(CLIP(""), "");
	assert_string_equal(CLIP(text), text);
	assert_string_equal(CLIP_N("abcdef", 3), "abc");
	assert_string_equal(CLIP_N("ab", 3), "ab");
	assert_null(CLIP(NULL));
}

static void test_long_texts_are_cut(void **state)
{
	char text[200], want[CLIP_BYTES] = "";

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(want, 'x', CLIP_TEXT_MAX);
	memcpy(want + CLIP_TEXT_MAX, "...", 4);
	assert_string_equal(CLIP(text), want);
	assert_string_equal(CLIP_N(text, CLIP_TEXT_MAX + 1), want);
}

/* A character of three bytes lies across the limit. */
static void test_characters_are_not_split(void **state)
{
	char text[200], want[CLIP_BYTES] = "";

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text + CLIP_TEXT_MAX - 2, "\xe2\x82\xac", 3);
	memset(want, 'x', CLIP_TEXT_MAX - 2);
	memcpy(want + CLIP_TEXT_MAX - 2, "...", 4);
	assert_string_equal(CLIP(text), want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_short_texts_are_unchanged),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_characters_are_not_split),
	};

	return cmocka_run_group_tests_name("clip", tests, NULL, NULL);
}
