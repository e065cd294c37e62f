/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "symbol/maps.h"

static bool line(const char *text, struct attar_mapping *m, bool *executable)
{
	static char copy[8192];

	snprintf(copy, sizeof(copy), "%s", text);
	return maps_line(copy, m, executable);
}

static void test_lines(void **state)
{
	struct attar_mapping m;
	bool x;

	assert_true(line("55c8e5400000-55c8e5402000 r-xp 00002000 fe:10 1234567                    "
			 "/usr/bin/a b",
		&m, &x));
	assert_true(x);
	assert_int_equal(m.start, 0x55c8e5400000);
	assert_int_equal(m.len, 0x2000);
	assert_int_equal(m.pgoff, 0x2000);
	assert_int_equal(m.maj, 0xfe);
	assert_int_equal(m.min, 0x10);
	assert_int_equal(m.ino, 1234567);
	assert_string_equal(m.path, "/usr/bin/a b");
	assert_true(line("7f0000000000-7f0000021000 rw-p 00000000 00:00 0 ", &m, &x));
	assert_false(x);
	assert_string_equal(m.path, "");
	assert_true(line("1000-2000 r-xp 0 0:0 1 /a\\012b (deleted)", &m, &x));
	assert_string_equal(m.path, "/a\nb (deleted)");
	assert_true(line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  "
			 "[vsyscall]",
		&m, &x));
	assert_int_equal(m.start, 0xffffffffff600000);
}

static void test_no_lines(void **state)
{
	static const char *const bad[] = {"", "x", "1000", "1000-", "1000-2000", "1000-2000 r-x",
		"2000-1000 r-xp 0 0:0 0", "1000-1000 r-xp 0 0:0 0", "1000-2000 r-xp 0 0 0",
		"1000-11112222333344445555 r-xp 0 0:0 0", "1000-2000 r-xpp 0 0:0 0"};
	struct attar_mapping m;
	bool x;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(line(bad[i], &m, &x));
}

struct seen {
	uint64_t first;
	unsigned n, executable;
};

static int count(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	struct seen *seen = ctx;

	if (mapping->start >= seen->first && mapping->start < seen->first + 20000ULL * 4096) {
		seen->n++;
		seen->executable += executable;
	}
	return 0;
}

/* More mappings than any buffer holds: every second page of 20,000 has another protection. */
static void test_many(void **state)
{
	enum { PAGES = 20000, PAGE = 4096 };
	char *pages =
		mmap(NULL, (size_t)PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct seen seen = {.first = (uintptr_t)pages};

	assert_true(pages != MAP_FAILED);
	for (size_t i = 0; i < PAGES; i += 2)
		assert_int_equal(mprotect(pages + i * PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	assert_int_equal(maps_read(getpid(), count, &seen), 0);
	assert_in_range(
		seen.n, PAGES - 1, PAGES); /* the last may have been merged with its neighbour */
	assert_int_equal(seen.executable, PAGES / 2);
	munmap(pages, (size_t)PAGES * PAGE);
}

/* The executable mappings as text; [vsyscall] is the kernel's. */
static int list(void *ctx, const struct attar_mapping *m, bool executable)
{
	if (executable && strcmp(m->path, "[vsyscall]") != 0)
		buf_printf(ctx, "%llx+%llx at %llx of %x:%x %llu '%s'\n",
			(unsigned long long)m->start, (unsigned long long)m->len,
			(unsigned long long)m->pgoff, m->maj, m->min, (unsigned long long)m->ino,
			m->path);
	return 0;
}

/* Both ways to read them agree: code of files, the vdso, anonymous and deleted ones. */
static void test_code(void **state)
{
	int fd = memfd_create("a\nb", MFD_CLOEXEC);
	struct buf all _cleanup_(buf_done) = {0}, code _cleanup_(buf_done) = {0};
	char *shared, *own = mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_return_code(ftruncate(fd, 3 * 4096), errno);
	shared = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 2 * 4096);
	assert_true(own != MAP_FAILED && shared != MAP_FAILED);
	assert_int_equal(maps_read(getpid(), list, &all), 0);
	assert_int_equal(maps_read_code(getpid(), list, &code), 0);
	assert_string_equal(buf_text(&code), buf_text(&all));
	assert_non_null(strstr(buf_text(&code), "'[vdso]'\n"));
	assert_non_null(strstr(buf_text(&code), " ''\n"));
	assert_non_null(strstr(buf_text(&code), "+1000 at 2000 of "));
	assert_non_null(strstr(buf_text(&code), "'/memfd:a\nb (deleted)'\n"));
	munmap(own, 4096);
	munmap(shared, 4096);
	close(fd);
}

static int refuse(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	return -ENOMEM;
}

static void test_errors(void **state)
{
	assert_int_equal(maps_read(getpid(), refuse, NULL), -ENOMEM);
	assert_int_equal(maps_read_code(getpid(), refuse, NULL), -ENOMEM);
	assert_int_equal(maps_read_code(0x3fffffff, refuse, NULL), -ESRCH);
	assert_int_equal(maps_read(0x3fffffff, refuse, NULL), -ESRCH);
	assert_string_equal(
		attar_error(), "cannot read the mappings of process 1073741823: no such process");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
