/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/daily.h"
#include "folder.h"

enum { DAY = 24 * 60 * 60, NOW = 1700000000 };

static void test_once_a_day(void **state)
{
	const char *folder = folder_make();

	(void)state;
	assert_true(daily_is_first_in(folder, "a", NOW));
	assert_false(daily_is_first_in(folder, "a", NOW));
	assert_false(daily_is_first_in(folder, "a", NOW + DAY - 1));
	assert_true(daily_is_first_in(folder, "b", NOW));
	assert_true(daily_is_first_in(folder, "a", NOW + DAY));
	assert_false(daily_is_first_in(folder, "a", NOW + DAY + 1));
	assert_true(daily_is_first_in(folder, "a", NOW)); /* the clock was set back */
	assert_false(daily_is_first_in(folder, "a", NOW));
	folder_remove();
}

/* A link is not followed, and nothing is written if there is no folder. */
static void test_hostile_folder(void **state)
{
	const char *folder = folder_make();
	char link[256], file[256];
	struct stat st;

	(void)state;
	folder_line("file", "text");
	snprintf(link, sizeof(link), "%s/link", folder);
	snprintf(file, sizeof(file), "%s/file", folder);
	assert_int_equal(symlink(file, link), 0);
	assert_true(daily_is_first_in(folder, "link", NOW));
	assert_true(daily_is_first_in(folder, "link", NOW));
	assert_int_equal(stat(file, &st), 0);
	assert_int_not_equal(st.st_mtime, NOW);
	assert_true(daily_is_first_in("/nonexistent", "a", NOW));
	assert_int_equal(unlink(link), 0);
	folder_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once_a_day), cmocka_unit_test(test_hostile_folder)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
