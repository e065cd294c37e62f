/* SPDX-License-Identifier: MIT */
/*
 * Every struct of options may be shorter than ours, and longer if the rest is zero: programs and
 * libraries of different versions work together.
 */
#include "unit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "attar/attar-run.h"

/* Creates an object with these options, and frees it. Returns 0 or a negative errno. */
typedef int make_fn(const void *opts);

static int make_target(const void *opts)
{
	struct attar_target *target = NULL;
	int r = attar_target_new(opts, &target);

	attar_target_free(target);
	return r;
}

static int make_catalog(const void *opts)
{
	struct attar_catalog *catalog = NULL;
	int r = attar_catalog_new(opts, &catalog);

	attar_catalog_free(catalog);
	return r;
}

static int make_symbols(const void *opts)
{
	struct attar_symbols *symbols = NULL;
	int r = attar_symbols_new(opts, &symbols);

	attar_symbols_free(symbols);
	return r;
}

static int make_shm_source(const void *opts)
{
	struct attar_shm_source *shm_source = NULL;
	int r = attar_shm_source_new(opts, &shm_source);

	attar_shm_source_free(shm_source);
	return r;
}

static int make_renderer(const void *opts)
{
	struct attar_renderer *renderer = NULL;
	int r = attar_renderer_new("text", stdout, opts, &renderer);

	attar_renderer_free(renderer);
	return r;
}

/* What is refused for any options. */
static void check_refusals(make_fn *make, size_t known)
{
	union {
		size_t size;
		char bytes[512];
	} opts = {.size = known + 16};

	assert_true(known + 16 < sizeof(opts));
	opts.bytes[known + 15] = 1;
	assert_int_equal(make(&opts), -E2BIG);
	assert_non_null(strstr(attar_error(), "that this version of libattar does not support"));
	opts.size = 0;
	assert_int_equal(make(&opts), -EINVAL);
	assert_non_null(strstr(attar_error(), "the member 'size' of the options is 0"));
	opts.size = SIZE_MAX / 0xff * 0x5a; /* like memory that was never initialized */
	assert_int_equal(make(&opts), -EINVAL);
}

static void check(make_fn *make, size_t known)
{
	union {
		size_t size;
		char bytes[512];
	} opts = {.size = known};

	assert_int_equal(make(&opts), 0);
	opts.size = sizeof(size_t);
	assert_int_equal(make(&opts), 0);
	opts.size = known + 16;
	assert_int_equal(make(&opts), 0);
	check_refusals(make, known);
}

static void test_sizes_of_options(void **state)
{
	check(make_target, sizeof(struct attar_target_opts));
	check(make_catalog, sizeof(struct attar_catalog_opts));
	check(make_symbols, sizeof(struct attar_symbols_opts));
	check(make_renderer, sizeof(struct attar_render_opts));
}

/* An shm_source needs patterns and on_new_event. */
static void test_sizes_of_a_shm_source(void **state)
{
	struct attar_shm_source_opts opts = {.size = sizeof(opts), .patterns = "*"};

	check_refusals(make_shm_source, sizeof(opts));
	assert_int_equal(make_shm_source(&opts), -EINVAL);
	assert_non_null(strstr(attar_error(), "an shm_source needs patterns of event names"));
}

/* Invalid options are refused before the target is checked. */
static void test_sizes_of_a_stream(void **state)
{
	struct attar_stream_opts opts = {.size = 0};
	struct attar_stream *stream = NULL;

	assert_int_equal(attar_stream_live(NULL, NULL, 0, NULL, &opts, &stream), -EINVAL);
	assert_non_null(strstr(attar_error(), "the member 'size' of the options is 0"));
	assert_null(stream);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_of_options),
		cmocka_unit_test(test_sizes_of_a_shm_source),
		cmocka_unit_test(test_sizes_of_a_stream),
	};

	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
