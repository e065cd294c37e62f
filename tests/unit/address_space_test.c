/* SPDX-License-Identifier: MIT */
/* Overlapping mappings, compared with an array that has the truth for every address. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attar/private/symbol.h"
#include "attar/symbol.h"
#include "symbol/address_space.h"

enum { ADDRESSES = 512 };

static struct attar_symbols *fresh(unsigned max_dsos)
{
	struct attar_symbols_opts opts = {
		.size = sizeof(opts), .no_kernel = true, .max_dsos = max_dsos};
	struct attar_symbols *symbols;

	assert_int_equal(attar_symbols_new(&opts, &symbols), 0);
	return symbols;
}

struct truth {
	unsigned file[ADDRESSES]; /* number + 1; 0: nothing */
	uint64_t offset[ADDRESSES];
};

static void check(
	struct attar_symbols *symbols, struct attar_address_space *space, const struct truth *truth)
{
	for (unsigned i = 0; i < ADDRESSES; i++) {
		attar_location location = attar_address_space_locate(space, 0x400000 + i);
		enum attar_dso_kind kind;
		char want[32] = "[unknown]";

		if (truth->file[i])
			snprintf(want, sizeof(want), "/nowhere/%u", truth->file[i]);
		assert_string_equal(attar_symbols_dso(symbols, location, &kind), want);
		if (truth->file[i])
			assert_int_equal(location & 0xffffffffffff, truth->offset[i]);
		else
			assert_int_equal(location, 0x400000 + i);
	}
}

static void map(struct attar_address_space *space, struct truth *truth, unsigned start,
	unsigned len, unsigned file, uint64_t pgoff)
{
	char path[32];
	struct attar_mapping mapping = {
		.start = 0x400000 + start, .len = len, .pgoff = pgoff, .path = path};

	snprintf(path, sizeof(path), "/nowhere/%u", file);
	assert_int_equal(attar_address_space_map(space, &mapping), 0);
	for (unsigned i = start; i < start + len; i++) {
		truth->file[i] = file;
		truth->offset[i] = pgoff + i - start;
	}
}

static void test_overlaps(void **state)
{
	struct attar_symbols *symbols = fresh(0);
	struct attar_address_space *space = attar_address_space_new(symbols, 1), *child;
	struct truth truth = {0}, before;
	uint64_t seed = 5;

	for (int round = 0; round < (int)unit_rounds(300); round++) {
		unsigned start, len;

		seed = base_hash64(seed + (unsigned)round);
		start = seed % (ADDRESSES - 64);
		len = 1 + (seed >> 20) % 64;
		before = truth;
		child = address_space_fork(space, 2);
		map(space, &truth, start, len, 1 + (seed >> 40) % 5, seed >> 52);
		check(symbols, space, &truth);
		if (round % 10 == 0) /* the other side of a fork is unchanged */
			check(symbols, child, &before);
		attar_address_space_free(child);
	}
	address_space_reset(space);
	memset(&truth, 0, sizeof(truth));
	check(symbols, space, &truth);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

static attar_location location_of(struct attar_address_space *space, const char *path,
	uint64_t start, uint64_t ino, uint32_t generation)
{
	struct attar_mapping mapping = {.start = start,
		.len = 0x1000,
		.path = path,
		.maj = 8,
		.ino = ino,
		.ino_generation = generation};

	assert_int_equal(attar_address_space_map(space, &mapping), 0);
	return attar_address_space_locate(space, start + 0x10) >> 48;
}

/* The owner of code: the file's identity, not only its path; for memory, its process. */
static void test_same_file_has_same_identity(void **state)
{
	struct attar_symbols *symbols = fresh(0);
	struct attar_address_space *a = attar_address_space_new(symbols, 1),
				   *b = attar_address_space_new(symbols, 2);

	assert_true(location_of(a, "/nowhere/x", 0x1000, 7, 0) ==
		    location_of(b, "/nowhere/x", 0x9000, 7, 0));
	assert_true(location_of(a, "/nowhere/x", 0x1000, 7, 0) ==
		    location_of(b, "/nowhere/x (deleted)", 0x9000, 7, 0));
	assert_true(location_of(a, "/nowhere/x", 0x1000, 7, 0) !=
		    location_of(b, "/nowhere/x", 0x9000, 8, 0));
	assert_true(location_of(a, "/nowhere/y", 0x1000, 7, 0) !=
		    location_of(b, "/nowhere/x", 0x9000, 7, 0));
	assert_true(location_of(a, "/nowhere/z", 0x1000, 9, 1) ==
		    location_of(b, "/nowhere/z", 0x9000, 9, 0));
	assert_true(location_of(a, "/nowhere/z", 0x1000, 9, 1) !=
		    location_of(b, "/nowhere/z", 0x9000, 9, 2));
	assert_true(
		location_of(a, "//anon", 0x1000, 0, 0) != location_of(b, "//anon", 0x1000, 0, 0));
	assert_true(
		location_of(a, "//anon", 0x1000, 0, 0) == location_of(a, "[heap]", 0x5000, 0, 0));
	assert_true(location_of(a, "[vdso]", 0x7fff00001000, 0, 0) ==
		    location_of(b, "[vdso]", 0x7fff00009000, 0, 0));
	assert_true(location_of(a, "[vdso]", 0x7fff00001000, 0, 0) !=
		    location_of(b, "[vdso]", 0xf7f00000, 0, 0));
	attar_address_space_free(a);
	attar_address_space_free(b);
	attar_symbols_free(symbols);
}

/* Memory without a file: the location is the address, and adjacent mappings are one. */
static void test_memory_without_a_file(void **state)
{
	struct attar_mapping page = {.len = 0x1000, .path = ""};
	struct attar_symbols *symbols = fresh(0);
	struct attar_address_space *space = attar_address_space_new(symbols, 1);
	uint64_t pages = unit_rounds(100000);
	enum attar_dso_kind kind;
	attar_location location;

	for (uint64_t i = 0; i < pages; i++) {
		page.start = 0x10000000 + i * 37 % pages * 0x1000;
		assert_int_equal(attar_address_space_map(space, &page), 0);
	}
	assert_int_equal(space->ranges->n, 1);
	location = attar_address_space_locate(space, 0x10012345);
	assert_int_equal(location & 0xffffffffffff, 0x10012345);
	attar_symbols_dso(symbols, location, &kind);
	assert_int_equal(kind, ATTAR_DSO_IS_JIT);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

static void test_edges(void **state)
{
	struct attar_mapping top = {
		.start = 0xffffffffff600000, .len = 0x1000, .path = "[vsyscall]"};
	struct attar_mapping last = {
		.start = UINT64_MAX - 0xfff, .len = 0x1000, .path = "/nowhere/last"};
	struct attar_mapping none = {.start = 0x1000, .path = "/nowhere/none"};
	struct attar_mapping over = {
		.start = UINT64_MAX - 0xfff, .len = 0x1001, .path = "/nowhere/over"};
	struct attar_symbols *symbols = fresh(0);
	struct attar_address_space *space = attar_address_space_new(symbols, 1);
	enum attar_dso_kind kind;

	assert_int_equal(attar_address_space_map(space, &none), -EINVAL);
	assert_int_equal(attar_address_space_map(space, &over), -EINVAL);
	assert_int_equal(attar_address_space_map(space, &top), 0);
	assert_int_equal(attar_address_space_map(space, &last), 0);
	assert_string_equal(
		attar_symbols_dso(symbols, attar_address_space_locate(space, UINT64_MAX), &kind),
		"/nowhere/last");
	assert_string_equal(
		attar_symbols_dso(symbols, attar_address_space_locate(space, top.start), &kind),
		"[vsyscall]");
	assert_int_equal(kind, ATTAR_DSO_IS_UNKNOWN);
	assert_int_equal(
		attar_location_dso(attar_address_space_locate(space, 0)), ATTAR_DSO_UNKNOWN);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

static void test_bounds(void **state)
{
	struct attar_mapping mapping = {.len = 0x1000, .maj = 8};
	struct attar_symbols *symbols = fresh(10);
	struct attar_address_space *space = attar_address_space_new(symbols, 1);
	struct attar_symbols_stats stats;
	struct attar_symbol symbol;
	char path[32];

	for (unsigned i = 0; i < SPACE_MAX_RANGES + 10; i++) {
		snprintf(path, sizeof(path), "/nowhere/%u", i % 20);
		mapping.path = path;
		mapping.start = 0x100000 + (uint64_t)i * 0x2000;
		assert_int_equal(attar_address_space_map(space, &mapping),
			i < SPACE_MAX_RANGES ? 0 : -ENOSPC);
	}
	symbols_get_stats(symbols, &stats);
	assert_int_equal(stats.mappings_refused, 10);
	assert_true(stats.dsos_refused >= SPACE_MAX_RANGES / 2);
	assert_int_equal(stats.dsos, 10 + 3);
	assert_int_equal(
		attar_location_dso(attar_address_space_locate(space, 0x100000 + 15 * 0x2000)),
		ATTAR_DSO_FULL);
	assert_int_equal(
		attar_symbols_resolve(symbols,
			attar_address_space_locate(space, 0x100000 + 15 * 0x2000), &symbol),
		-ENOENT);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

/* Binaries without samples are forgotten with their last mapping; those with a location stay. */
static void test_untouched_binaries_are_forgotten(void **state)
{
	struct attar_symbols *symbols = fresh(16);
	struct attar_mapping mapping = {.start = 0x400000, .len = 0x1000};
	struct attar_symbols_stats stats;
	enum attar_dso_kind kind;
	attar_location kept = 0;
	char path[32];

	mapping.path = path;
	for (unsigned i = 1; i <= 1000; i++) {
		struct attar_address_space *space = attar_address_space_new(symbols, 1 << 30),
					   *child;

		snprintf(path, sizeof(path), "/nowhere/%u", i);
		mapping.ino = i;
		assert_int_equal(attar_address_space_map(space, &mapping), 0);
		child = address_space_fork(space, 1 << 29);
		attar_address_space_free(space);
		symbols_get_stats(symbols, &stats);
		assert_int_equal(stats.dsos, i <= 500 ? 4 : 5);
		if (i == 500)
			kept = attar_address_space_locate(child, 0x400010);
		mapping.path = "//anon"; /* in the location of the file, and by itself */
		assert_int_equal(attar_address_space_map(child, &mapping), 0);
		mapping.path = path;
		attar_address_space_free(child);
	}
	symbols_get_stats(symbols, &stats);
	assert_int_equal(stats.dsos, 4);
	assert_int_equal(stats.dsos_refused, 0);
	assert_string_equal(attar_symbols_dso(symbols, kept, &kind), "/nowhere/500");
	assert_int_equal(kind, ATTAR_DSO_IS_FILE);
	attar_symbols_free(symbols);
}

/* A mapping, and that its 16th byte is at an offset of a file, or of anonymous memory (0). */
static void expect(struct attar_address_space *space, uint64_t start, uint64_t len,
	const char *path, uint64_t pgoff, uint64_t offset)
{
	struct attar_mapping mapping = {.start = start, .len = len, .pgoff = pgoff, .path = path};
	attar_location location;
	enum attar_dso_kind kind;

	if (path)
		assert_int_equal(attar_address_space_map(space, &mapping), 0);
	location = attar_address_space_locate(space, start + 16);
	attar_symbols_dso(space->symbols, location, &kind);
	assert_int_equal(kind, offset ? ATTAR_DSO_IS_FILE : ATTAR_DSO_IS_JIT);
	assert_int_equal(location & 0xffffffffffff, offset ? offset + 16 : start + 16);
}

enum { MIB = 1 << 20 };

/* As the kernel reports it: the anonymous memory after the file that it replaces a part of. */
static void test_code_copied_to_huge_pages(void **state)
{
	struct attar_symbols *symbols = fresh(0);
	struct attar_address_space *space = attar_address_space_new(symbols, 1 << 30);

	(void)state;
	expect(space, 0x400000, 16 * MIB, "/nowhere/1", 0x1000, 0x1000);
	expect(space, 0x800000, 4 * MIB, "//anon", 0, 0x401000);
	expect(space, 0xc00000, 2 * MIB, "/anon_hugepage (deleted)", 0, 0x801000);
	expect(space, 0x1000000, 1 * MIB, "//anon", 0, 0); /* not a huge page */
	expect(space, 0x1200000, 4 * MIB, "//anon", 0, 0); /* more than the file's mapping */
	expect(space, 0x2000000, 2 * MIB, "//anon", 0, 0); /* elsewhere */
	expect(space, 0x2000000, 2 * MIB, "[anon]", 0, 0); /* over anonymous memory */
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

/* As in /proc/PID/maps: a hole in the mapping of the file. */
static void test_code_copied_before_the_scan(void **state)
{
	struct attar_symbols *symbols = fresh(0);
	struct attar_address_space *space = attar_address_space_new(symbols, 1 << 30);

	(void)state;
	expect(space, 0x400000, 4 * MIB, "/nowhere/1", 0x1000, 0x1000);
	expect(space, 0x800000, 2 * MIB, "", 0, 0);
	expect(space, 0xa00000, 1 * MIB, "/nowhere/1", 0x601000, 0x601000);
	expect(space, 0x800000, 0, NULL, 0, 0x401000); /* now it is known whose hole it is */
	expect(space, 0xb00000, 1 * MIB, "", 0, 0);
	expect(space, 0xc00000, 1 * MIB, "/nowhere/2", 0x801000, 0x801000);
	expect(space, 0xb00000, 0, NULL, 0, 0); /* between two files */
	expect(space, 0xd00000, 1 * MIB, "", 0, 0);
	expect(space, 0xe00000, 1 * MIB, "/nowhere/2", 0x1000, 0x1000);
	expect(space, 0xd00000, 0, NULL, 0, 0); /* between two mappings of a file */
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

/* Of a process with very many mappings of code, the first ones are read. */
static void test_scan_of_many_mappings(void **state)
{
	enum { PAGE = 4096, MAPPINGS = 6000 };
	struct attar_symbols *symbols;
	struct attar_address_space *space;
	char *at = mmap(NULL, 2 * MAPPINGS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	for (int n = 0; n <= MAPPINGS; n += MAPPINGS / 2) {
		space = attar_address_space_new(symbols, getpid());
		assert_non_null(space);
		assert_int_equal(attar_address_space_scan(space), 0);
		assert_int_equal(space->is_cut, n > 4000);
		attar_address_space_free(space);
		for (int i = n; i < n + MAPPINGS / 2 && i < MAPPINGS; i++)
			assert_int_equal(
				mprotect(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC), 0);
	}
	munmap(at, 2 * MAPPINGS * PAGE);
	attar_symbols_free(symbols);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_same_file_has_same_identity),
		cmocka_unit_test(test_memory_without_a_file),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_untouched_binaries_are_forgotten),
		cmocka_unit_test(test_code_copied_to_huge_pages),
		cmocka_unit_test(test_scan_of_many_mappings),
		cmocka_unit_test(test_code_copied_before_the_scan),
	};

	return cmocka_run_group_tests_name("space", tests, NULL, NULL);
}
