/* SPDX-License-Identifier: MIT */
/*
 * Public functions that fail leave their outputs unchanged and set a message. Not tested here:
 * functions that are documented to write on failure (attar_record_parse(),
 * attar_symbols_resolve()).
 */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attar/attar-run.h"
#include "attar/private/perf.h"

enum { POISON = 0xa5 };

static const struct {
	size_t size;
} too_short = {.size = 1};

/*
 * Fails unless the call returns a negative errno, sets a message and leaves the output unchanged.
 */
#define FAILS(output, call)                                                                        \
	do {                                                                                       \
		unsigned char before[sizeof(output)];                                              \
                                                                                                   \
		memset(&(output), POISON, sizeof(output));                                         \
		memset(before, POISON, sizeof(before));                                            \
		attar_error_clear();                                                               \
		if ((call) >= 0)                                                                   \
			fail_msg("does not fail: %s", #call);                                      \
		if (memcmp(&(output), before, sizeof(before)))                                     \
			fail_msg("fails, and wrote its output: %s", #call);                        \
	} while (0)

static void test_parsers_keep_outputs_on_failure(void **state)
{
	static const char text[] =
		"name: it\nID: 7\nformat:\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n\n"
		"print fmt: \"%d\", REC->a\n";
	struct attar_catalog_opts nowhere = {.size = sizeof(nowhere), .tracefs = "/nonexistent"};
	struct attar_catalog *catalog, *ret_catalog;
	const struct attar_format *ret_format;
	struct attar_format *format, *ret_parsed;
	const struct attar_field *ret_field;
	struct attar_event_list *ret_list;
	struct attar_eventheader ret_header;
	struct attar_read ret_read;
	uint64_t u64 = 0;
	int64_t ret_i64;

	assert_int_equal(attar_catalog_new(&nowhere, &catalog), 0);
	assert_int_equal(attar_format_parse("test", text, sizeof(text) - 1, &format), 0);
	FAILS(ret_catalog, attar_catalog_new((const void *)&too_short, &ret_catalog));
	FAILS(ret_format, attar_catalog_format(catalog, "sched", "sched_switch", &ret_format));
	FAILS(ret_list, attar_event_list_parse(catalog, "page-faults,,", &ret_list));
	FAILS(ret_list, attar_event_list_parse(catalog, "page-faults,no-such-event", &ret_list));
	FAILS(ret_parsed, attar_format_parse("test", "name: x\n", 8, &ret_parsed));
	FAILS(ret_field, attar_format_need(format, "b", &ret_field));
	if (attar_catalog_pmu(catalog, 0))
		FAILS(ret_i64,
			attar_pmu_cap(attar_catalog_pmu(catalog, 0), "no_such_cap", &ret_i64));
	FAILS(ret_header, attar_eventheader_parse("", 1, &ret_header));
	FAILS(u64, attar_eventheader_keyword("no keyword", &u64));
	FAILS(ret_read, attar_read_parse(PERF_FORMAT_GROUP, &u64, 4, &ret_read));
	attar_format_free(format);
	attar_catalog_free(catalog);
}

static void test_constructors_keep_outputs_on_failure(void **state)
{
	struct attar_target_opts wrong = {.size = sizeof(wrong), .pids = "none"};
	struct attar_shm_source_opts nothing = {.size = sizeof(nothing)};
	struct attar_target *target = live_self(), *ret_target;
	struct attar_renderer *ret_renderer;
	struct attar_symbols *ret_symbols;
	struct attar_shm_source *ret_shm_source;
	struct attar_run *ret_run;
	uint64_t times[2];

	FAILS(ret_target, attar_target_new(&wrong, &ret_target));
	FAILS(times, target_command_times(target, &times[0], &times[1]));
	FAILS(ret_renderer, attar_renderer_new("no-such-format", stdout, NULL, &ret_renderer));
	FAILS(ret_symbols, attar_symbols_new((const void *)&too_short, &ret_symbols));
	FAILS(ret_shm_source, attar_shm_source_new(&nothing, &ret_shm_source));
	FAILS(ret_run, attar_run_new("no-such-profiler", &ret_run));
	attar_target_free(target);
}

static void test_counters_keep_outputs_on_failure(void **state)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .config = 0xfff},
			       faults = {.type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_PAGE_FAULTS};
	struct attar_group_event member = {.name = "page-faults", .attr = &faults};
	struct attar_target *target = live_self();
	struct attar_counter *counter = live_software(target, PERF_COUNT_SW_PAGE_FAULTS),
			     *ret_counter;
	struct attar_group *group, *ret_group;
	struct attar_value value;
	struct {
		uint32_t ids[4];
		size_t n;
	} programs;
	uint64_t ret_u64;

	assert_int_equal(attar_group_open(target, &member, 1, 0, &group), 0);
	FAILS(ret_counter, attar_counter_open(target, &attr, "none", 0, &ret_counter));
	FAILS(ret_group, attar_group_open(target, &member, 0, 0, &ret_group));
	FAILS(programs, attar_counter_query_bpf(counter, programs.ids, 4, &programs.n));
	close(attar_counter_instance_at(counter, 0).fd);
	FAILS(value, attar_counter_read(counter, &value));
	FAILS(value, attar_counter_read_at(counter, 0, &value));
	FAILS(value, attar_counter_read_self(counter, &value));
	close(attar_counter_instance_at(attar_group_counter(group, 0), 0).fd);
	FAILS(value, attar_group_read(group, &value));
	FAILS(value, attar_group_read_at(group, 0, &value));
	FAILS(ret_u64, group_values(group, &ret_u64));
	attar_group_close(group);
	attar_counter_close(counter);
	attar_target_free(target);
}

/* A recorder whose counter writes forward would lose its records as soon as the ring is full. */
static void test_rings_and_streams_keep_outputs_on_failure(void **state)
{
	struct attar_stream_opts overwrite = {.size = sizeof(overwrite), .overwrite = true};
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.exclude_kernel = 1,
		.inherit = 1};
	struct attar_target *target = live_self();
	struct attar_counter *inherited, *forward;
	struct attar_symbols *symbols;
	struct attar_stream *ret_stream;
	struct attar_ring **rings;
	struct attar_aux *ret_aux;
	size_t n;
	struct {
		struct attar_ring **rings;
		size_t n;
	} ret;

	attar_stream_attr(&attr, false);
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	assert_int_equal(attar_counter_open(target, &attr, "inherited", 0, &inherited), 0);
	attr.inherit = 0;
	assert_int_equal(attar_counter_open(target, &attr, "forward", 0, &forward), 0);
	FAILS(ret, attar_rings_new(target, &inherited, 1, 4096, &ret.rings, &ret.n));
	FAILS(ret, rings_new_overwritten(target, &inherited, 1, 4096, &ret.rings, &ret.n));
	FAILS(ret_stream, attar_stream_live(target, &inherited, 1, symbols, NULL, &ret_stream));
	FAILS(ret_stream, attar_stream_live(target, &forward, 1, symbols, &overwrite, &ret_stream));
	assert_non_null(strstr(attar_error(), "'forward' cannot use overwritable rings: set "
					      "attr.write_backward"));
	assert_int_equal(attar_rings_new(target, &forward, 1, 4096, &rings, &n), 0);
	FAILS(ret_aux, attar_aux_new(rings[0], 4096, false, &ret_aux));
	attar_rings_free(rings, n);
	attar_counter_close(forward);
	attar_counter_close(inherited);
	attar_symbols_free(symbols);
	attar_target_free(target);
}

static void test_error_text_lasts_until_the_next_failure(void **state)
{
	struct attar_symbols *symbols;
	struct attar_run *run;

	attar_error_clear();
	assert_string_equal(attar_error(), "");
	assert_true(attar_run_new("no-such-profiler", &run) < 0);
	assert_non_null(strstr(attar_error(), "no-such-profiler"));
	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	assert_non_null(strstr(attar_error(), "no-such-profiler"));
	attar_symbols_free(symbols);
	assert_true(attar_run_new("other", &run) < 0);
	assert_null(strstr(attar_error(), "no-such-profiler"));
	attar_error_clear();
	assert_string_equal(attar_error(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parsers_keep_outputs_on_failure),
		cmocka_unit_test(test_constructors_keep_outputs_on_failure),
		cmocka_unit_test(test_counters_keep_outputs_on_failure),
		cmocka_unit_test(test_rings_and_streams_keep_outputs_on_failure),
		cmocka_unit_test(test_error_text_lasts_until_the_next_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
