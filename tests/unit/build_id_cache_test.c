/* SPDX-License-Identifier: MIT */
/* A cache of perf in the places that its configuration can name. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "elf/elf.h"
#include "symbol/build_id_cache.h"
#include "symbol/dso_open.h"
#include "symbol_child.h"

struct program {
	const char *directory; /* also the home directory */
	uint8_t id[ELF_MAX_BUILD_ID];
	char name[2 * ELF_MAX_BUILD_ID + 2]; /* the id as in the cache: "ab/cdef..." */
	size_t size;
};

static void read_id(struct program *p)
{
	int fd = open(child_path("symbol_target"), O_RDONLY | O_CLOEXEC);
	struct byte_source source;
	struct elf elf;
	size_t n = 0;

	assert_true(fd >= 0 && byte_source_file(fd, &source) >= 0 && elf_init(&elf, &source) >= 0);
	p->size = elf_build_id(&elf, p->id);
	assert_int_equal(p->size, 20);
	for (size_t i = 0; i < p->size; i++)
		n += (size_t)snprintf(
			p->name + n, sizeof(p->name) - n, i ? "%02x" : "%02x/", p->id[i]);
	elf_done(&elf);
	close(fd);
}

static int start(void **state)
{
	static struct program program;

	program.directory = child_directory();
	assert_non_null(program.directory);
	read_id(&program);
	setenv("HOME", program.directory, 1);
	unsetenv("PERF_BUILDID_DIR");
	unsetenv("PERF_CONFIG");
	*state = &program;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	child_clean();
	return 0;
}

/* Puts a file of the build folder into a cache below the home directory. */
static void add(const struct program *p, const char *cache, const char *file, const char *below)
{
	assert_true(child_shell("mkdir -p \"$(dirname '%s/%s/.build-id/%s%s')\" && "
				"cp '%s' '%s/%s/.build-id/%s%s'",
		p->directory, cache, p->name, below, file, p->directory, cache, p->name, below));
}

static void configure(const struct program *p, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", p->directory, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
}

static bool found(const struct program *p)
{
	int fd = build_id_cache_open(p->id, p->size);

	if (fd < 0) {
		assert_int_equal(fd, -ENOENT);
		return false;
	}
	assert_true(dso_is_build(fd, p->id, p->size));
	close(fd);
	return true;
}

static void test_default(void **state)
{
	const struct program *p = *state;

	assert_false(found(p));
	add(p, ".debug", child_path("symbol_target"), "/elf");
	assert_true(found(p));
	unsetenv("HOME");
	assert_false(found(p));
}

static void test_file_of_old_perf(void **state)
{
	const struct program *p = *state;

	add(p, ".debug", child_path("symbol_target"), "");
	assert_true(found(p));
}

static void test_file_with_another_build_id(void **state)
{
	const struct program *p = *state;

	add(p, ".debug", "/proc/self/exe", "/elf");
	assert_false(found(p));
}

static void test_fifo(void **state)
{
	const struct program *p = *state;

	assert_true(child_shell("mkdir -p '%s/.debug/.build-id/%s' && "
				"mkfifo '%s/.debug/.build-id/%s/elf' '%s/.perfconfig'",
		p->directory, p->name, p->directory, p->name, p->directory));
	assert_false(found(p));
}

static void test_environment(void **state)
{
	const struct program *p = *state;
	char path[128];

	add(p, "other", child_path("symbol_target"), "/elf");
	assert_false(found(p));
	snprintf(path, sizeof(path), "%s/other", p->directory);
	setenv("PERF_BUILDID_DIR", path, 1);
	configure(p, ".perfconfig", "[buildid]\n\tdir = /nonexistent\n");
	assert_true(found(p));
}

static void test_configuration(void **state)
{
	const struct program *p = *state;
	char path[128];

	add(p, "my cache", child_path("symbol_target"), "/elf");
	configure(p, ".perfconfig", "[report]\n dir = ~/my cache\n[buildid]\n#dir = ~/my cache\n");
	assert_false(found(p));
	configure(p, ".perfconfig", "[ui]\n x = 1\n[buildid]\n dir = ~/my cache  ; mine\n[y]\nz=1");
	assert_true(found(p));
	configure(p, ".perfconfig", "[buildid]\ndir=\"~/my cache\"\ndirectory = /nonexistent\n");
	assert_true(found(p));
	configure(p, "config", "[buildid]\ndir = /nonexistent\n");
	snprintf(path, sizeof(path), "%s/config", p->directory);
	setenv("PERF_CONFIG", path, 1);
	assert_false(found(p));
}

static void test_short_build_id(void **state)
{
	const struct program *p = *state;

	assert_int_equal(build_id_cache_open(p->id, 1), -ENOENT);
	assert_int_equal(build_id_cache_open(p->id, 0), -ENOENT);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_default),
		CASE(test_file_of_old_perf),
		CASE(test_file_with_another_build_id),
		CASE(test_fifo),
		CASE(test_environment),
		CASE(test_configuration),
		CASE(test_short_build_id),
	};

	return cmocka_run_group_tests_name("build_id_cache", tests, NULL, NULL);
}
