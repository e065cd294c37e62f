/* SPDX-License-Identifier: MIT */
/* The cache of the kernel's functions: what it answers, and when it is not used. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/kernel.h"
#include "symbol/kernel_cache.h"

static char directory[64], cache[96], path[96], file[128];

/*
 * The names of functions tell which text they are from: the first lines, which are compared, are
 * longer than what follows.
 */
static void write_kallsyms(const char *version, uint64_t start)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (unsigned i = 0; i < 100; i++)
		fprintf(f, "%016llx T first_%u\n", (unsigned long long)start + 16 * i, i);
	fprintf(f, "%016llx T %s_core\n", (unsigned long long)start + 0x10000, version);
	fprintf(f, "%016llx T %s_core_end\n", (unsigned long long)start + 0x10100, version);
	fprintf(f, "ffffffffc0100000 t %s_module\t[ext4]\n", version);
	fprintf(f, "ffffffffc0100100 t %s_module_end\t[ext4]\n", version);
	fprintf(f, "ffffffffc0100200 t %s_program\t[bpf]\n", version);
	fprintf(f, "ffffffffc0100300 t %s_program_end\t[bpf]\n", version);
	fclose(f);
}

#define START 0xffffffff81000000

/* Checks the name that a process finds which has not read anything yet. */
static void check(uint64_t address, const char *name)
{
	struct kernel kernel = {.path = path, .cache = cache};
	struct kernel_hit hit;

	assert_true(kernel_find(&kernel, address, &hit));
	assert_string_equal(hit.name, name);
	kernel_done(&kernel);
}

static int fresh(void **state)
{
	(void)state;
	unlink(file);
	rmdir(cache);
	write_kallsyms("old", START);
	return 0;
}

static void test_functions(void **state)
{
	struct stat st;

	(void)state;
	check(START + 0x10010, "old_core");
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(stat(cache, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	write_kallsyms("new", START);
	check(START + 0x10010, "old_core");
	check(0xffffffffc0100010, "old_module");
}

/* Functions that may be gone, or whose end is unknown. */
static void test_what_is_not_cached(void **state)
{
	struct kernel kernel = {.path = path, .cache = cache};
	struct kernel_hit hit;

	(void)state;
	check(START, "first_0");
	write_kallsyms("new", START);
	check(0xffffffffc0100210, "new_program");
	write_kallsyms("newer", START);
	check(0xffffffffc0100110, "newer_module_end");
	/* both from one process */
	write_kallsyms("newest", START);
	assert_true(kernel_find(&kernel, 0xffffffffc0100010, &hit));
	assert_string_equal(hit.name, "old_module");
	assert_false(kernel_find(&kernel, UINT64_MAX, &hit));
	assert_true(kernel.is_cached);
	assert_true(kernel_find(&kernel, 0xffffffffc0100310, &hit));
	assert_string_equal(hit.name, "newest_program_end");
	assert_false(kernel.is_cached);
	kernel_done(&kernel);
}

static void test_other_addresses(void **state)
{
	(void)state;
	check(START, "first_0");
	write_kallsyms("new", START + 0x200000);
	check(START + 0x210010, "new_core");
	check(START + 0x210010, "new_core"); /* from the new file */
	write_kallsyms("newer", START + 0x200000);
	check(START + 0x210010, "new_core");
}

static void test_other_modules(void **state)
{
	struct kernel_cache_key key = {path, 1};
	struct kallsyms list, cached;

	(void)state;
	assert_int_equal(kallsyms_read(&list, path), 0);
	kernel_cache_write(cache, &key, &list);
	assert_true(kernel_cache_read(cache, &key, &cached));
	kallsyms_done(&cached);
	key.modules = 2;
	assert_false(kernel_cache_read(cache, &key, &cached));
	kallsyms_done(&list);
}

static void test_another_boot(void **state)
{
	char boot[37] = "00000000-0000-0000-0000-000000000000";
	int fd;

	(void)state;
	check(START, "first_0");
	fd = open(file, O_WRONLY);
	assert_int_equal(pwrite(fd, boot, 36, 16), 36);
	close(fd);
	write_kallsyms("new", START);
	check(START + 0x10010, "new_core");
}

static void test_hidden_addresses(void **state)
{
	struct kernel kernel = {.path = path, .cache = cache};
	struct kernel_hit hit;
	FILE *f;

	(void)state;
	check(START, "first_0");
	f = fopen(path, "w");
	for (unsigned i = 0; i < 200; i++)
		fprintf(f, "%016x T first_%u\n", 0, i);
	fclose(f);
	assert_false(kernel_find(&kernel, START, &hit));
	kernel_done(&kernel);
}

static void test_directory_of_others(void **state)
{
	(void)state;
	check(START, "first_0");
	assert_int_equal(chmod(cache, 0777), 0);
	write_kallsyms("new", START);
	check(START + 0x10010, "new_core");
}

/* Any byte of the file may be another: no name is read beyond it. */
static void test_damaged(void **state)
{
	struct kernel_cache_key key = {path, 0};
	static char bytes[1 << 16], damaged[1 << 16];
	struct kallsyms list;
	struct kallsyms_hit hit;
	ssize_t n;
	int fd;

	(void)state;
	assert_int_equal(kallsyms_read(&list, path), 0);
	kernel_cache_write(cache, &key, &list);
	kallsyms_done(&list);
	fd = open(file, O_RDWR);
	n = read(fd, bytes, sizeof(bytes));
	assert_in_range(n, 2200, sizeof(bytes) - 1);
	for (ssize_t i = 0; i < n; i++) {
		memcpy(damaged, bytes, (size_t)n);
		damaged[i] = (char)~damaged[i];
		assert_int_equal(pwrite(fd, damaged, (size_t)n, 0), n);
		if (!kernel_cache_read(cache, &key, &list))
			continue;
		for (uint64_t at = START; at < START + 0x10200; at += 16)
			if (kallsyms_find(&list, at, &hit))
				assert_true(strlen(hit.name) < (size_t)n);
		kallsyms_done(&list);
	}
	for (ssize_t i = n; i-- > 0;) {
		assert_int_equal(ftruncate(fd, i), 0);
		assert_false(kernel_cache_read(cache, &key, &list));
	}
	close(fd);
}

static int remove_all(void **state)
{
	(void)state;
	unlink(file);
	unlink(path);
	rmdir(cache);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_functions, fresh),
		cmocka_unit_test_setup(test_what_is_not_cached, fresh),
		cmocka_unit_test_setup(test_other_addresses, fresh),
		cmocka_unit_test_setup(test_other_modules, fresh),
		cmocka_unit_test_setup(test_another_boot, fresh),
		cmocka_unit_test_setup(test_hidden_addresses, fresh),
		cmocka_unit_test_setup(test_directory_of_others, fresh),
		cmocka_unit_test_setup(test_damaged, fresh),
	};

	snprintf(directory, sizeof(directory), "/tmp/kernel-cache.XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	snprintf(cache, sizeof(cache), "%s/cache", directory);
	snprintf(path, sizeof(path), "%s/kallsyms", directory);
	snprintf(file, sizeof(file), "%s/kallsyms", cache);
	return cmocka_run_group_tests(tests, NULL, remove_all);
}
