/* SPDX-License-Identifier: MIT */
#include "unit.h"
#include "base/suggest.h"

static const char *nearest(const char *word, const char *const *known)
{
	struct suggest s = {.word = word};

	for (; *known; known++)
		suggest_offer(&s, *known);
	return s.best;
}

static void test_nearest_word(void **state)
{
	char word[241] = "";
	const char *const known[] = {"profile", "trace", "stat", "list", "doctor", NULL};

	assert_string_equal(nearest("porfile", known), "profile");
	assert_string_equal(nearest("prof", known), "profile");
	assert_string_equal(nearest("trcae", known), "trace");
	assert_string_equal(nearest("start", known), "stat");
	assert_null(nearest("kmemleak", known));
	assert_null(nearest("", known));
	assert_null(nearest("stop", (const char *const[]){"list", NULL}));
	assert_null(nearest("yaml", (const char *const[]){"html", NULL}));
	/* A name of 240 bytes is not near, although a third of its length is more than 64. */
	memset(word, 'x', sizeof(word) - 1);
	assert_null(nearest("A::go", (const char *const[]){word, NULL}));
	assert_null(nearest(word, (const char *const[]){"A::go", word, NULL}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_nearest_word)};

	return cmocka_run_group_tests_name("suggest", tests, NULL, NULL);
}
