/* SPDX-License-Identifier: MIT */
/* Error messages: what failed and why, and how to fix it. */
#include "unit.h"

#include <string.h>
#include <sys/resource.h>

#include "base/base.h"
#include "base/excerpt.h"
#include "base/file_limit.h"

static void assert_error(const char *text, const char *reason, const char *fix)
{
	assert_string_equal(attar_error(), text);
	assert_string_equal(attar_error_reason(), reason);
	assert_string_equal(attar_error_fix(), fix);
}

static void test_fix_is_separate(void **state)
{
	attar_error_clear();
	assert_error("", "", "");
	assert_int_equal(
		attar_fail(EINVAL, "%s: no file" ATTAR_FIX "use -o %s", "a: b", "x"), -EINVAL);
	assert_error("a: b: no file: use -o x", "a: b: no file", "use -o x");
	attar_fail(-EINVAL, "%s not open;" ATTAR_FIX "use -o %s", "a;", "x");
	assert_error("a; not open; use -o x", "a; not open", "use -o x");
	attar_context(-EINVAL, "--%s", "input");
	assert_error("--input: a; not open; use -o x", "--input: a; not open", "use -o x");
	attar_fail(-EINVAL, "no fix is marked: use %d", 1);
	assert_error("no fix is marked: use 1", "no fix is marked: use 1", "");
	attar_fail(-EINVAL, "'%s'" ATTAR_FIX "use 1", "\x1f: use 1");
	assert_error("'\x1f: use 1': use 1", "'\x1f: use 1'", "use 1");
	attar_error_clear();
	assert_error("", "", "");
}

static void test_fix_is_kept_with_added_context(void **state)
{
	attar_fail(-EINVAL, "no attribute 'stak'" ATTAR_FIX "did you mean '%s'?", "stack");
	attar_context(-EINVAL, "--%s", "event");
	excerpt_append("stak", 1, -EINVAL);
	assert_error("--event: no attribute 'stak': did you mean 'stack'?\n    stak\n    ^",
		"--event: no attribute 'stak'", "did you mean 'stack'?");
	attar_fail(-EIO, "other failure");
	assert_error("other failure", "other failure", "");
}

static void test_fix_in_context(void **state)
{
	attar_fail(-ENOENT, "cannot open %s", "/sys/cpus");
	assert_int_equal(attar_context(-ENOENT, "the CPUs of '%s' are unknown" ATTAR_FIX "mount %s",
				 "x", "/sys"),
		-ENOENT);
	assert_error("the CPUs of 'x' are unknown: cannot open /sys/cpus: mount /sys",
		"the CPUs of 'x' are unknown: cannot open /sys/cpus", "mount /sys");
	attar_context(-ENOENT, "a;" ATTAR_FIX "use b");
	assert_error("a: the CPUs of 'x' are unknown: cannot open /sys/cpus: mount /sys",
		"a: the CPUs of 'x' are unknown: cannot open /sys/cpus", "mount /sys");
	attar_fail(-EINVAL, "no such word");
	attar_context(-EINVAL, "'%s';" ATTAR_FIX "use b", "\x1f");
	assert_error("'\x1f': no such word; use b", "'\x1f': no such word", "use b");
}

static void test_limits_of_files(void **state)
{
	assert_int_equal(file_limit_fail(ENFILE, "cannot open %s", "x"), -ENFILE);
	assert_error("cannot open x: the system's limit of open files is reached: raise sysctl "
		     "fs.file-max",
		"cannot open x: the system's limit of open files is reached",
		"raise sysctl fs.file-max");
	assert_int_equal(file_limit_fail(EMFILE, "cannot open %s", "x"), -EMFILE);
	assert_int_equal(strncmp(attar_error_fix(), "run ulimit -n ", strlen("run ulimit -n ")), 0);
	assert_null(strstr(attar_error_reason(), "ulimit"));
	assert_int_equal(file_limit_fail(ENOENT, "cannot open %s", "x"), -ENOENT);
	assert_error("cannot open x: No such file or directory",
		"cannot open x: No such file or directory", "");
}

static void test_long_texts(void **state)
{
	static char text[4096];

	memset(text, 'x', sizeof(text) - 1);
	attar_fail(-EINVAL, "%s" ATTAR_FIX "use y", text);
	assert_true(strlen(attar_error()) < sizeof(text));
	assert_string_equal(attar_error_fix(), "");
	assert_string_equal(attar_error_reason(), attar_error());
	attar_fail(-EINVAL, "x" ATTAR_FIX "%s", text);
	assert_string_equal(attar_error_reason(), "x");
	attar_context(-EINVAL, "%s", "y");
	assert_int_equal(attar_error_reason()[0], 'y');
}

/* Without memory because of a limit: the limit, and how to raise it. */
static void test_limit_of_memory(void **state)
{
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = 1ULL << 46; /* enough, also for a sanitizer */
	attar_fail(-ENOMEM, "no table");
	assert_string_equal(attar_error(), "no table");
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	assert_int_equal(base_oom(), -ENOMEM);
	assert_string_equal(attar_error(),
		"out of memory; the address space of this process is limited to 68719476736 KiB: "
		"raise the limit (ulimit -v)");
	assert_string_equal(attar_error_fix(), "raise the limit (ulimit -v)");
	attar_context(-ENOMEM, "no report");
	assert_true(!strncmp(attar_error(), "no report: out of memory; ", 26));
	attar_fail(-ENOMEM, "no ring" ATTAR_FIX "use -m");
	assert_string_equal(attar_error(), "no ring: use -m");
	attar_fail(-EINVAL, "no event");
	assert_string_equal(attar_error(), "no event");
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

static void test_context_of_no_reason(void **state)
{
	attar_error_clear();
	assert_int_equal(attar_context(-ENOMEM, "cannot make the report"), -ENOMEM);
	assert_non_null(strstr(attar_error(), "cannot make the report: out of memory"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_context_of_no_reason),
		cmocka_unit_test(test_fix_is_separate),
		cmocka_unit_test(test_fix_is_kept_with_added_context),
		cmocka_unit_test(test_fix_in_context),
		cmocka_unit_test(test_limits_of_files),
		cmocka_unit_test(test_limit_of_memory),
		cmocka_unit_test(test_long_texts),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
