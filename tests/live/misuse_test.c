/* SPDX-License-Identifier: MIT */
/* Calls in the wrong state, out-of-range indexes and unknown flags are refused with a message. */
#include "live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/attar-run.h"
#include "attar/builtin.h"
#include "attar/private/event.h"
#include "attar/private/record.h"
#include "attar/private/sample.h"

static void refused(int r, int error, const char *said)
{
	assert_int_equal(r, error);
	if (!strstr(attar_error(), said))
		fail_msg("'%s' lacks '%s'", attar_error(), said);
	attar_error_clear();
}

static struct attar_counter *open_faults(struct attar_target *target, bool for_stream)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.disabled = 1};
	struct attar_counter *counter;

	if (for_stream)
		attar_stream_attr(&attr, false);
	if (attar_counter_open(target, &attr, "page-faults", 0, &counter) < 0)
		fail_msg("%s", attar_error());
	return counter;
}

static void test_counters(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *counter = open_faults(target, false), *none = NULL;
	const struct perf_event_attr *attr = attar_counter_attr(counter);
	struct attar_ring **rings;
	struct attar_value value;
	size_t n;

	refused(attar_counter_open(target, attr, "x", 0x8003, &none), -EINVAL,
		"attar_counter_open(): unknown flags 0x8000");
	refused(attar_counter_read_at(counter, 1, &value), -EINVAL,
		"attar_counter_read_at(): instance is 1, but must be below 1");
	assert_int_equal(attar_counter_instance_at(counter, 1).fd, -1);
	refused(attar_rings_new(target, &none, 1, 4096, &rings, &n), -EINVAL,
		"attar_rings_new(): counters[] is NULL");
	attar_counter_close(counter);
	attar_target_free(target);
}

static void test_groups(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .disabled = 1};
	struct attar_group_event event = {"cpu-clock", &attr};
	struct attar_value value;
	struct attar_group *group;

	refused(attar_group_open(target, &event, 1, 4, &group), -EINVAL,
		"attar_group_open(): unknown flags 0x4");
	event.name = NULL;
	refused(attar_group_open(target, &event, 1, 0, &group), -EINVAL,
		"attar_group_open(): events[].name is NULL");
	event = (struct attar_group_event){"cpu-clock", NULL};
	refused(attar_group_open(target, &event, 1, 0, &group), -EINVAL,
		"attar_group_open(): events[].attr is NULL");
	event.attr = &attr;
	assert_int_equal(attar_group_open(target, &event, 1, 0, &group), 0);
	refused(attar_group_read_at(group, 1, &value), -EINVAL,
		"attar_group_read_at(): instance is 1, but must be below 1");
	attar_group_close(group);
	attar_target_free(target);
}

static void test_streams(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *bare = open_faults(target, false), *none = NULL;
	struct attar_counter *counter = open_faults(target, true);
	struct attar_symbols *symbols;
	struct attar_stream *stream;

	assert_int_equal(attar_symbols_new(NULL, &symbols), 0);
	refused(attar_stream_live(target, &none, 1, symbols, NULL, &stream), -EINVAL,
		"attar_stream_live(): counter is NULL");
	refused(attar_stream_live(target, &bare, 1, symbols, NULL, &stream), -EINVAL,
		"attar_stream_live(): 'page-faults' lacks what a stream needs");
	assert_int_equal(attar_stream_live(target, &counter, 1, symbols, NULL, &stream), 0);
	refused(attar_stream_add(stream, bare, 1), -EINVAL,
		"attar_stream_add(): 'page-faults' lacks what a stream needs");
	assert_int_equal(attar_stream_start(stream), 0);
	refused(attar_stream_start(stream), -EINVAL, "the stream was already started");
	assert_int_equal(attar_stream_stop(stream), 0);
	refused(attar_stream_start(stream), -EINVAL, "the stream was already stopped");
	attar_counter_close(bare);
	bare = open_faults(target, true);
	refused(attar_stream_add(stream, bare, 1), -EINVAL, "the stream was already stopped");
	attar_stream_free(stream);
	attar_counter_close(bare);
	attar_counter_close(counter);
	attar_symbols_free(symbols);
	attar_target_free(target);
}

static int on_event(struct attar_run *run, void *self, const struct attar_event *event)
{
	return 0;
}

static void test_run_that_fails_to_open(void **state)
{
	static const char only_open[] = "may only be called from a profiler's open()";
	struct perf_event_attr attr = {0};
	struct attar_run *run;
	uint64_t user, system;

	assert_int_equal(attar_run_new("stat", &run), 0);
	refused(attar_run_source(run, "x", &attr, on_event), -EINVAL, only_open);
	refused(attar_run_events(run, "page-faults", false, on_event), -EINVAL, only_open);
	refused(attar_run_sampler(run, false, on_event), -EINVAL, only_open);
	refused(attar_run_count(run, "page-faults"), -EINVAL, only_open);
	refused(run_repeat(run, 2), -EINVAL, only_open);
	refused(attar_run_count_by(run, ATTAR_COUNT_BY_CPU), -EINVAL, only_open);
	refused(run_command_times(run, &user, &system), -ENOENT, "no command");
	assert_string_equal(attar_run_cgroup(run, 0), "");
	attar_run_free(run);
}

static void test_run_goes_only_once(void **state)
{
	static const char *const command[] = {"true", NULL};
	struct attar_run *run;

	attar_target_free(live_self());
	assert_int_equal(attar_run_new("stat", &run), 0);
	assert_int_equal(attar_run_set(run, "event", "page-faults"), 0);
	attar_run_command(run, (char *const *)(uintptr_t)command);
	assert_int_equal(attar_run_go(run, NULL), 0);
	refused(attar_run_go(run, NULL), -EINVAL,
		"attar_run_go(): the run has already been started");
	refused(attar_run_start(run, NULL), -EINVAL,
		"attar_run_start(): the run has already been started");
	refused(attar_run_set(run, "event", "cpu-clock"), -EINVAL, "has already been started");
	attar_run_command(run, NULL);
	refused(0, 0, "has already been started");
	attar_run_free(run);
}

static int broken(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	return -EPIPE;
}

/* The reason comes from the hook, not from an earlier failure that was handled. */
static void test_failing_hook(void **state)
{
	struct attar_run_hooks hooks = {.size = sizeof(hooks), .report = broken};
	struct attar_run *run;

	attar_target_free(live_self());
	assert_int_equal(attar_run_new("stat", &run), 0);
	assert_int_equal(attar_run_set(run, "event", "page-faults"), 0);
	assert_int_equal(attar_run_set(run, "duration", "10ms"), 0);
	attar_error_clear();
	refused(attar_run_go(run, &hooks), -EPIPE, "Broken pipe");
	attar_run_free(run);
}

static void drawn(struct attar_report *report, const char *said)
{
	struct attar_renderer *renderer;

	assert_int_equal(attar_renderer_new("json", stdout, NULL, &renderer), 0);
	refused(attar_renderer_draw(renderer, report), -EINVAL, said);
	attar_renderer_free(renderer);
	attar_report_free(report);
}

static void test_reports(void **state)
{
	struct attar_report *report = attar_report_new("x");

	attar_section_column(attar_report_table(report, "t"), "c", (enum attar_unit)99);
	drawn(report, "a column has an unknown unit");
	report = attar_report_new("x");
	attar_report_tree(report, "t", (enum attar_unit)99);
	drawn(report, "a tree has an unknown unit");
	report = attar_report_new("x");
	attar_tree_node(attar_report_tree(report, "t", ATTAR_UNIT_COUNT), ATTAR_TREE_ROOT,
		(enum attar_frame_kind)99, "n", NULL, 1);
	drawn(report, "a tree node has an unknown kind");
}

static void test_sources(void **state)
{
	struct attar_run *run;

	assert_int_equal(attar_run_new("trace", &run), 0);
	refused(run_source_repeats(run, 0, NULL), -EINVAL,
		"run_source_repeats(): i is 0, but must be below 0");
	refused(run_source_turns(run, 0, 0, NULL), -EINVAL,
		"run_source_turns(): i is 0, but must be below 0");
	attar_run_free(run);
}

static void test_shm_sources(void **state)
{
	struct attar_shm_source_opts opts = {.size = sizeof(opts), .patterns = "*", .n_pids = 1};
	struct attar_shm_source *shm_source;

	refused(attar_shm_source_new(&opts, &shm_source), -EINVAL, "and on_new_event");
}

/* Names of enums to which later versions may add values. */
static void test_names_of_unknown_values(void **state)
{
	assert_string_equal(attar_quality_name((enum attar_quality)99), "?");
	assert_string_equal(transport_name((enum attar_transport)99), "?");
	assert_string_equal(event_kind_name((enum attar_event_kind)99), "?");
	assert_string_equal(record_name(9999), "?");
	assert_string_equal(namespace_name(9999), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_run_that_fails_to_open),
		cmocka_unit_test(test_run_goes_only_once),
		cmocka_unit_test(test_failing_hook),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_sources),
		cmocka_unit_test(test_shm_sources),
		cmocka_unit_test(test_names_of_unknown_values),
	};

	return cmocka_run_group_tests_name("misuse", tests, NULL, NULL);
}
