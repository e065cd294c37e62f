/* SPDX-License-Identifier: MIT */
/* The functions and lines of this program itself, by its file and by its memory. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attar/private/symbol.h"
#include "attar/symbol.h"
#include "base/base.h"
#include "inlined.h"

enum { FRAMES = 16 };

static struct attar_symbols *new_symbols(size_t max_source_bytes)
{
	struct attar_symbols_opts opts = {
		.size = sizeof(opts), .max_source_bytes = max_source_bytes};
	struct attar_symbols *symbols = NULL;

	assert_int_equal(attar_symbols_new(&opts, &symbols), 0);
	return symbols;
}

static attar_location location_of(struct attar_symbols *symbols, uintptr_t address)
{
	attar_location file, location;

	assert_int_equal(symbols_find_file(symbols, "/proc/self/exe", &file), 0);
	assert_int_equal(symbols_vaddr(symbols, file, vaddr_of(address), &location), 0);
	return location;
}

static void check_frame(const struct attar_frame *frame, const char *name, unsigned line)
{
	assert_string_equal(frame->name, name);
	assert_int_equal(frame->line, line);
	assert_string_equal(strrchr(frame->file, '/'), "/inlined.h");
	assert_string_equal(strrchr(frame->module, '/'), strrchr(program_invocation_name, '/'));
	assert_int_equal(frame->kind, ATTAR_DSO_IS_FILE);
}

static void check_outer(const struct attar_frame *frames, int n, uintptr_t address)
{
	assert_int_equal(n, 3);
	check_frame(&frames[0], "inner", INNER_LINE);
	check_frame(&frames[1], "middle", MIDDLE_LINE);
	check_frame(&frames[2], "outer", OUTER_LINE);
	assert_true(frames[0].inlined && frames[1].inlined && !frames[2].inlined);
	for (int i = 0; i < n; i++)
		assert_int_equal(frames[i].offset, address - (uintptr_t)outer);
}

static void test_file(void **state)
{
	struct attar_symbols *symbols = new_symbols(0);
	uintptr_t address = outer();
	struct attar_frame frames[FRAMES];

	check_outer(frames,
		attar_symbols_frames(symbols, location_of(symbols, address), frames, FRAMES),
		address);
	attar_symbols_free(symbols);
}

static void test_process(void **state)
{
	struct attar_symbols *symbols = new_symbols(0);
	struct attar_address_space *space = attar_address_space_new(symbols, getpid());
	struct attar_frame frames[FRAMES];
	uintptr_t address = outer();
	attar_location location;

	assert_int_equal(attar_address_space_scan(space), 0);
	location = attar_address_space_locate(space, address);
	check_outer(frames, attar_symbols_frames(symbols, location, frames, FRAMES), address);
	/* In no mapping: one frame without a name. */
	location = attar_address_space_locate(space, 4);
	assert_int_equal(attar_symbols_frames(symbols, location, frames, FRAMES), 1);
	assert_null(frames[0].name);
	assert_null(frames[0].file);
	assert_null(frames[0].build_id);
	assert_int_equal(frames[0].offset, 4);
	attar_address_space_free(space);
	attar_symbols_free(symbols);
}

struct batch {
	uintptr_t address;
	unsigned seen[4];
};

static void on_frames(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	struct batch *batch = ctx;

	assert_true(index < ARRAY_SIZE(batch->seen));
	batch->seen[index]++;
	if (index == 1)
		assert_null(frames[0].name);
	else if (index == 2)
		assert_string_equal(frames[n - 1].name, "where");
	else
		check_outer(frames, (int)n, batch->address);
}

/* Each location once, also if it occurs twice, whatever the order. */
static void test_batch(void **state)
{
	struct attar_symbols *symbols = new_symbols(0);
	struct batch batch = {.address = outer()};
	attar_location here = location_of(symbols, batch.address);
	attar_location locations[] = {here, 5, location_of(symbols, (uintptr_t)where + 1), here};

	assert_int_equal(symbols_frames_batch(symbols, locations, 4, on_frames, &batch), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(batch.seen[i], 1);
	assert_int_equal(symbols_frames_batch(symbols, NULL, 0, on_frames, &batch), 0);
	attar_symbols_free(symbols);
}

/* Code of this file behind that of all others. */
__attribute__((noinline, section("behind_text"))) static uintptr_t behind(void)
{
	return (uintptr_t)behind;
}

static void count_name(void *ctx, size_t index, const struct attar_frame *frames, size_t n)
{
	static const char *const names[] = {
		"attar_symbols_new", "behind", "where", "where", "where"};

	assert_string_equal(frames[n - 1].name, names[index]);
	assert_non_null(frames[n - 1].file);
	++*(int *)ctx;
}

/*
 * With room for one source file, each is read once, also if the code of another is in between: all
 * of it, because there are several addresses.
 */
static void test_batch_by_unit(void **state)
{
	struct attar_symbols *symbols = new_symbols(1);
	uintptr_t here = (uintptr_t)where + 1, other = (uintptr_t)attar_symbols_new + 1;
	uintptr_t there = behind();
	attar_location locations[] = {location_of(symbols, other), location_of(symbols, there),
		location_of(symbols, here), location_of(symbols, here), location_of(symbols, here)};
	struct attar_symbols_stats stats;
	int n = 0;

	assert_true(here < other && other < there);
	assert_int_equal(symbols_frames_batch(symbols, locations, 5, count_name, &n), 0);
	assert_int_equal(n, 5);
	symbols_get_stats(symbols, &stats);
	assert_int_equal(stats.sources_read, 2);
	attar_symbols_free(symbols);
}

/* With room for one source file, two are read in turn, with the same answers. */
static void test_limit(void **state)
{
	struct attar_symbols *symbols = new_symbols(1);
	uintptr_t address = outer();
	attar_location here = location_of(symbols, address);
	attar_location there = location_of(symbols, (uintptr_t)attar_symbols_new + 1);
	struct attar_symbols_stats stats;
	struct attar_frame frames[FRAMES];

	for (int i = 0; i < 2; i++) {
		check_outer(frames, attar_symbols_frames(symbols, here, frames, FRAMES), address);
		assert_true(attar_symbols_frames(symbols, there, frames, FRAMES) >= 1);
		assert_string_equal(strrchr(frames[0].file, '/'), "/symbols.c");
	}
	symbols_get_stats(symbols, &stats);
	assert_int_equal(stats.sources_read, 4);
	assert_int_equal(stats.sources_dropped, 3);
	attar_symbols_free(symbols);
}

static void test_bad_files(void **state)
{
	struct attar_symbols *symbols = new_symbols(0);
	attar_location file = 0, location = 7;

	assert_int_equal(symbols_find_file(symbols, "/nonexistent", &file), -ENOENT);
	assert_int_equal(symbols_find_file(symbols, "/proc/self/maps", &file), -ENOEXEC);
	assert_int_equal(symbols_find_file(symbols, "/", &file), -ENOEXEC);
	assert_int_equal(file, 0);
	assert_int_equal(symbols_find_file(symbols, "/proc/self/exe", &file), 0);
	assert_int_equal(symbols_vaddr(symbols, file, UINT64_MAX, &location), -ENOENT);
	assert_int_equal(location, 7);
	attar_error_clear();
	attar_symbols_free(symbols);
}

static void test_demangle(void **state)
{
	char name[16];

	assert_int_equal(symbol_demangle("_Z1fi", name, sizeof(name)), 6);
	assert_string_equal(name, "f(int)");
	assert_int_equal(symbol_demangle("_Z1fi.cold", name, sizeof(name)), 14);
	assert_string_equal(name, "f(int) (.cold)");
	assert_int_equal(symbol_demangle("_Z1fi", name, 4), 6);
	assert_string_equal(name, "f(i");
	assert_int_equal(symbol_demangle("main", name, sizeof(name)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_process),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_batch_by_unit),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_demangle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
