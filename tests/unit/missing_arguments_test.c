/* SPDX-License-Identifier: MIT */
/*
 * Every public function refuses NULL where it needs a pointer: with its failure value, and a
 * message that names the function and the argument. The other arguments of each call are valid as
 * far as they are checked before the missing one.
 */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/attar-run.h"
#include "attar/builtin.h"
#include "attar/private/diff.h"
#include "attar/private/doctor.h"
#include "attar/private/event.h"
#include "attar/private/eventheader.h"
#include "attar/private/hist.h"
#include "attar/private/keytable.h"
#include "attar/private/merge.h"
#include "attar/private/pairs.h"
#include "attar/private/perf.h"
#include "attar/private/report.h"
#include "attar/private/sample.h"
#include "attar/private/states.h"
#include "attar/private/stream.h"
#include "attar/private/symbol.h"
#include "attar/private/thread.h"
#include "attar/private/unwind.h"

/* Stands for any object: one that this process has created, see base/check_arg.h. */
static _Alignas(16) char object[1 << 16];
static void *const any = object;

static int on_event(struct attar_run *run, void *self, const struct attar_event *event)
{
	return 0;
}

static bool on_address(void *ctx, uint64_t address, struct attar_kernel_name *ret_name)
{
	return false;
}

static int on_tracepoint(void *ctx, const char *system, const char *name)
{
	return 0;
}

static int on_pmu_event(void *ctx, const struct attar_pmu_event *event)
{
	return 0;
}

static void on_columns(struct attar_section *section)
{
}

/* call: as written, "attar_function(...)". */
static void expect_sentence(const char *call, const char *argument)
{
	char sentence[200];

	snprintf(sentence, sizeof(sentence), "%.*s(): %s is NULL", (int)strcspn(call, "("), call,
		argument);
	if (strcmp(attar_error(), sentence) != 0)
		fail_msg("%s says '%s'", call, attar_error());
	attar_error_clear();
}

#define REFUSES_VALUE(call, value, argument)                                                       \
	do {                                                                                       \
		assert_int_equal((call), (value));                                                 \
		expect_sentence(#call, argument);                                                  \
	} while (0)
#define REFUSES(call, argument) REFUSES_VALUE(call, -EINVAL, argument)
#define REFUSES_NULL(call, argument)                                                               \
	do {                                                                                       \
		assert_null(call);                                                                 \
		expect_sentence(#call, argument);                                                  \
	} while (0)
#define REFUSES_TEXT(call, text, argument)                                                         \
	do {                                                                                       \
		assert_string_equal(call, text);                                                   \
		expect_sentence(#call, argument);                                                  \
	} while (0)
#define REFUSES_VOID(call, argument)                                                               \
	do {                                                                                       \
		call;                                                                              \
		expect_sentence(#call, argument);                                                  \
	} while (0)

static void test_catalogs(void **state)
{
	REFUSES(attar_catalog_new(NULL, NULL), "ret_catalog");
	REFUSES(attar_catalog_format(NULL, any, any, any), "catalog");
	REFUSES(attar_catalog_format(any, NULL, any, any), "system");
	REFUSES(attar_catalog_format(any, any, NULL, any), "name");
	REFUSES(attar_catalog_format(any, any, any, NULL), "ret_format");
	REFUSES(attar_catalog_tracepoints(NULL, on_tracepoint, any), "catalog");
	REFUSES(attar_catalog_tracepoints(any, NULL, any), "fn");
	REFUSES_VOID(catalog_resolver(NULL, on_address, any), "catalog");
	REFUSES_NULL(attar_catalog_pmu(NULL, 1), "catalog");
	REFUSES(attar_catalog_tracefs(NULL, any), "catalog");
	REFUSES(attar_catalog_tracefs(any, NULL), "ret_path");
}

static void test_formats(void **state)
{
	REFUSES(attar_format_parse(NULL, any, 1, any), "system");
	REFUSES(attar_format_parse(any, NULL, 1, any), "text");
	REFUSES(attar_format_parse(any, any, 1, NULL), "ret_format");
	REFUSES_NULL(attar_format_field(NULL, any), "format");
	REFUSES_NULL(attar_format_field(any, NULL), "name");
	REFUSES(attar_format_need(NULL, any, any), "format");
	REFUSES(attar_format_need(any, NULL, any), "name");
	REFUSES(attar_format_need(any, any, NULL), "ret_field");
	REFUSES_VALUE(attar_field_count(NULL, any, 1), 0, "field");
	REFUSES_VALUE(attar_field_count(any, NULL, 1), 0, "raw");
	REFUSES_VALUE(attar_field_u64_at(NULL, any, 1, 0), 0, "field");
	REFUSES_VALUE(attar_field_u64_at(any, NULL, 1, 0), 0, "raw");
	REFUSES_VALUE(attar_field_double_at(NULL, any, 1, 0), 0, "field");
	REFUSES_VALUE(attar_field_double_at(any, NULL, 1, 0), 0, "raw");
	REFUSES_VALUE(attar_field_number_type(NULL, any), false, "field");
	REFUSES_VALUE(attar_field_number_type(any, NULL), false, "ret_type");
	REFUSES_VALUE(attar_format_print(NULL, any, 1, any, 1), 0, "format");
	REFUSES_VALUE(attar_format_print(any, NULL, 1, any, 1), 0, "raw");
	REFUSES_VALUE(attar_format_print(any, any, 1, NULL, 1), 0, "ret_text");
}

static void test_events(void **state)
{
	REFUSES(attar_pmu_cap(NULL, any, any), "pmu");
	REFUSES(attar_pmu_cap(any, NULL, any), "name");
	REFUSES(attar_pmu_cap(any, any, NULL), "ret_value");
	REFUSES(attar_pmu_events(NULL, on_pmu_event, any), "pmu");
	REFUSES(attar_pmu_events(any, NULL, any), "fn");
	REFUSES(attar_named_events(NULL, any), "fn");
	REFUSES(attar_event_list_parse(NULL, any, any), "catalog");
	REFUSES(attar_event_list_parse(any, NULL, any), "text");
	REFUSES(attar_event_list_parse(any, any, NULL), "ret_list");
	REFUSES(attar_event_spec_attr(NULL, any, 1), "spec");
	REFUSES(attar_event_spec_attr(any, NULL, 1), "attr");
}

static void test_eventheaders(void **state)
{
	REFUSES_VALUE(eventheader_format(NULL), false, "format");
	REFUSES(attar_eventheader_keyword(NULL, any), "name");
	REFUSES(attar_eventheader_keyword(any, NULL), "ret_keyword");
	REFUSES(attar_eventheader_parse(NULL, 1, any), "payload");
	REFUSES(attar_eventheader_parse(any, 1, NULL), "ret_header");
	REFUSES_VALUE(attar_eventheader_print(NULL, 1, any, 1), 0, "payload");
	REFUSES_VALUE(attar_eventheader_print(any, 1, NULL, 1), 0, "ret_text");
}

static void test_targets(void **state)
{
	REFUSES(attar_target_new(NULL, NULL), "ret_target");
	REFUSES_VALUE(target_kind_of(NULL), ATTAR_TARGET_SYSTEM, "target");
	REFUSES(attar_target_start(NULL), "target");
	REFUSES_VALUE(target_command_pid(NULL), 0, "target");
	REFUSES_VALUE(attar_target_ended(NULL), true, "target");
	REFUSES(attar_target_fd(NULL), "target");
	REFUSES_VALUE(attar_target_command_status(NULL), -1, "target");
	REFUSES(target_command_times(NULL, any, any), "target");
	REFUSES(target_command_times(any, NULL, any), "ret_user");
	REFUSES(target_command_times(any, any, NULL), "ret_system");
	REFUSES_NULL(attar_target_cgroup(NULL, 1), "target");
	REFUSES_NULL(target_cpus(NULL, any), "target");
	REFUSES_NULL(target_cpus(any, NULL), "ret_n");
	REFUSES(attar_target_follow_cpus(NULL, any, 1), "target");
	REFUSES(attar_target_follow_cpus(any, NULL, 1), "counters");
}

static void test_counters(void **state)
{
	REFUSES(attar_counter_open(NULL, any, any, 1, any), "target");
	REFUSES(attar_counter_open(any, NULL, any, 1, any), "attr");
	REFUSES(attar_counter_open(any, any, NULL, 1, any), "name");
	REFUSES(attar_counter_open(any, any, any, 1, NULL), "ret_counter");
	REFUSES_NULL(attar_counter_name(NULL), "counter");
	REFUSES_NULL(attar_counter_attr(NULL), "counter");
	REFUSES_VALUE(attar_attr_is_clock(NULL), false, "attr");
	REFUSES(attar_counter_enable(NULL), "counter");
	REFUSES(attar_counter_disable(NULL), "counter");
	REFUSES_VALUE(attar_counter_instances(NULL), 0, "counter");
	REFUSES_VALUE(attar_counter_instance_at(NULL, 1).fd, -1, "counter");
	REFUSES_VALUE(counter_lost(NULL), 0, "counter");
	REFUSES(attar_counter_set_period(NULL, 1), "counter");
	REFUSES(attar_counter_refresh(NULL, 1), "counter");
	REFUSES(attar_counter_attach_bpf(NULL, 1), "counter");
	REFUSES(attar_counter_query_bpf(NULL, any, 1, any), "counter");
	REFUSES(attar_counter_query_bpf(any, NULL, 1, any), "ret_ids");
	REFUSES(attar_counter_query_bpf(any, any, 1, NULL), "ret_n");
	REFUSES(attar_counter_filter(NULL, any), "counter");
	REFUSES(attar_counter_filter(any, NULL), "filter");
	REFUSES(attar_counter_modify(NULL, any), "counter");
	REFUSES(attar_counter_modify(any, NULL), "attr");
	REFUSES(attar_counter_pause(NULL, 1), "counter");
	REFUSES(attar_counter_redirect(NULL, any), "counter");
	REFUSES(attar_counter_signal(NULL, 1, 1), "counter");
	REFUSES(attar_counter_read(NULL, any), "counter");
	REFUSES(attar_counter_read(any, NULL), "ret_value");
	REFUSES(attar_counter_read_at(NULL, 1, any), "counter");
	REFUSES(attar_counter_read_at(any, 1, NULL), "ret_value");
	REFUSES(attar_counter_read_self(NULL, any), "counter");
	REFUSES(attar_counter_read_self(any, NULL), "ret_value");
	REFUSES(attar_counter_reset(NULL), "counter");
}

static void test_values(void **state)
{
	REFUSES_VALUE(attar_value_since(NULL, any).value, 0, "now");
	REFUSES_VALUE(attar_value_since(any, NULL).value, 0, "before");
	REFUSES_VOID(attar_value_add(NULL, any), "sum");
	REFUSES_VOID(attar_value_add(any, NULL), "value");
	REFUSES_VOID(value_join(NULL, any), "whole");
	REFUSES_VOID(value_join(any, NULL), "part");
	REFUSES_VOID(attar_values_settle(NULL, any), "counter");
	REFUSES_VOID(attar_values_settle(any, NULL), "values");
}

static void test_groups(void **state)
{
	REFUSES(attar_group_open(NULL, any, 1, 1, any), "target");
	REFUSES(attar_group_open(any, NULL, 1, 1, any), "events");
	REFUSES(attar_group_open(any, any, 1, 1, NULL), "ret_group");
	REFUSES_NULL(attar_group_counter(NULL, 1), "group");
	REFUSES(attar_group_enable(NULL), "group");
	REFUSES(attar_group_disable(NULL), "group");
	REFUSES(attar_group_reset(NULL), "group");
	REFUSES(attar_group_read(NULL, any), "group");
	REFUSES(attar_group_read(any, NULL), "ret_values");
	REFUSES(attar_group_read_at(NULL, 1, any), "group");
	REFUSES(attar_group_read_at(any, 1, NULL), "ret_values");
	REFUSES(group_values(NULL, any), "group");
	REFUSES(group_values(any, NULL), "ret_values");
}

static void test_rings(void **state)
{
	REFUSES(attar_rings_new(NULL, any, 1, 1, any, any), "target");
	REFUSES(attar_rings_new(any, NULL, 1, 1, any, any), "counters");
	REFUSES(attar_rings_new(any, any, 1, 1, NULL, any), "ret_rings");
	REFUSES(attar_rings_new(any, any, 1, 1, any, NULL), "ret_n");
	REFUSES(rings_new_overwritten(NULL, any, 1, 1, any, any), "target");
	REFUSES(rings_new_overwritten(any, NULL, 1, 1, any, any), "counters");
	REFUSES(rings_new_overwritten(any, any, 1, 1, NULL, any), "ret_rings");
	REFUSES(rings_new_overwritten(any, any, 1, 1, any, NULL), "ret_n");
	REFUSES(attar_ring_fd(NULL), "ring");
	REFUSES(attar_ring_cpu(NULL), "ring");
	REFUSES_VALUE(ring_data_size(NULL), 0, "ring");
	REFUSES(rings_freeze(NULL, 1), "rings");
	REFUSES(rings_thaw(NULL, 1), "rings");
	REFUSES_VALUE(ring_forgotten(NULL), 0, "ring");
}

static void test_aux_areas(void **state)
{
	REFUSES(attar_aux_new(NULL, 1, 1, any), "ring");
	REFUSES(attar_aux_new(any, 1, 1, NULL), "ret_aux");
	REFUSES_VALUE(attar_aux_size(NULL), 0, "aux");
	REFUSES(attar_aux_read(NULL, any, any), "aux");
	REFUSES(attar_aux_read(any, NULL, any), "record");
	REFUSES(attar_aux_read(any, any, NULL), "ret_data");
	REFUSES_VOID(attar_aux_release(NULL, any), "aux");
	REFUSES_VOID(attar_aux_release(any, NULL), "data");
	REFUSES(attar_aux_snapshot(NULL, any), "aux");
	REFUSES(attar_aux_snapshot(any, NULL), "ret_data");
}

static void test_records(void **state)
{
	REFUSES_VOID(attar_layout_init(NULL, any), "layout");
	REFUSES_VOID(attar_layout_init(any, NULL), "attr");
	REFUSES(attar_read_parse(1, NULL, 1, any), "bytes");
	REFUSES(attar_read_parse(1, any, 1, NULL), "ret_read");
	REFUSES_VALUE(attar_data_src_text(1, NULL, 1), 0, "text");
	REFUSES_VALUE(transaction_text(1, NULL, 1), 0, "text");
}

static void test_reports(void **state)
{
	REFUSES_VOID(attar_report_interval(NULL, 1, 1), "report");
	REFUSES_VOID(attar_report_notes(NULL, any), "report");
	REFUSES_VOID(attar_report_notes(any, NULL), "notes");
	REFUSES_VOID(attar_report_remark(NULL, "x"), "report");
	REFUSES_VOID(attar_report_remark(any, NULL), "fmt");
	REFUSES_NULL(attar_report_table(NULL, any), "report");
	REFUSES_NULL(attar_report_events(NULL, any), "report");
	REFUSES_NULL(attar_report_tree(NULL, any, 1), "report");
	REFUSES_NULL(attar_report_histogram(NULL, any, 1), "report");
}

static void test_sections(void **state)
{
	REFUSES_VOID(attar_section_column(NULL, any, 1), "section");
	REFUSES_VOID(attar_section_row(NULL), "section");
	REFUSES_VOID(attar_cell_u64(NULL, 1), "section");
	REFUSES_VOID(attar_cell_i64(NULL, 1), "section");
	REFUSES_VOID(attar_cell_double(NULL, 1), "section");
	REFUSES_VOID(attar_cell_text(NULL, any), "section");
	REFUSES_VOID(attar_cell_none(NULL), "section");
	REFUSES_VOID(cell_fields(NULL, NULL, NULL, 0, false), "section");
	REFUSES_VOID(cell_fields(any, NULL, NULL, 0, false), "format");
	REFUSES_VOID(attar_row_detail(NULL, any), "section");
	REFUSES_VOID(attar_row_value(NULL, any, 1), "section");
	REFUSES_VOID(attar_row_value_u64(NULL, 1), "section");
	REFUSES_VOID(attar_row_value_i64(NULL, 1), "section");
	REFUSES_VOID(attar_row_value_double(NULL, 1), "section");
	REFUSES_VOID(attar_row_value_text(NULL, any, 1), "section");
	REFUSES_VOID(attar_row_value_text(any, NULL, 1), "text");
	REFUSES_VALUE(attar_tree_node(NULL, 1, 1, any, any, 1), 0, "tree");
	REFUSES_VOID(attar_tree_task(NULL, 1, 1, 1), "tree");
	REFUSES_VOID(tree_cutoff(NULL, 1), "tree");
	REFUSES_VOID(attar_tree_code(NULL, 1, 1, NULL, 1), "tree");
	REFUSES_VOID(section_sort(NULL, 1, true), "section");
	REFUSES_VOID(attar_histogram_bucket(NULL, 1, 1, 1), "histogram");
	REFUSES_VOID(attar_histogram_summary(NULL, 1, 1, 1, 1), "histogram");
	REFUSES_VOID(attar_histogram_quantile(NULL, 1, 1), "histogram");
	REFUSES_NULL(attar_report_time_series(NULL, any), "report");
	REFUSES_VOID(attar_time_series_point(NULL, 1), "series");
}

static void test_reading_reports(void **state)
{
	REFUSES_NULL(attar_report_get_profiler(NULL), "report");
	REFUSES_VOID(attar_report_get_interval(NULL, any, any), "report");
	REFUSES(attar_report_get_notes(NULL, any), "report");
	REFUSES(attar_report_get_notes(any, NULL), "ret_notes");
	REFUSES_NULL(attar_report_get_remark(NULL, 0), "report");
	REFUSES_NULL(attar_report_get_section(NULL, 0), "report");
	REFUSES_NULL(attar_report_find_section(NULL, any), "report");
	REFUSES_NULL(attar_report_find_section(any, NULL), "name");
	REFUSES_NULL(attar_section_get_name(NULL), "section");
	REFUSES_VALUE(attar_section_get_kind(NULL), ATTAR_SECTION_TABLE, "section");
	REFUSES_VALUE(attar_section_get_unit(NULL), ATTAR_UNIT_TEXT, "section");
	REFUSES_VALUE(attar_section_get_columns(NULL), 0, "section");
	REFUSES_NULL(attar_section_get_column(NULL, 0, any), "section");
	REFUSES_VALUE(attar_section_get_rows(NULL), 0, "section");
	REFUSES_VALUE(attar_section_get_cell(NULL, 0, 0).kind, ATTAR_CELL_NONE, "section");
	REFUSES_NULL(attar_section_get_detail(NULL, 0, 0), "section");
	REFUSES_NULL(attar_section_get_value(NULL, 0, 0, any, any), "section");
	REFUSES_VALUE(attar_section_get_value_cell(NULL, 0, 0, 0).kind, ATTAR_CELL_NONE, "section");
	REFUSES(attar_histogram_get_summary(NULL, any), "histogram");
	REFUSES(attar_histogram_get_summary(any, NULL), "ret_summary");
	REFUSES(attar_histogram_get_quantile(NULL, 0, any, any), "histogram");
	REFUSES(attar_histogram_get_quantile(any, 0, NULL, any), "ret_share");
	REFUSES(attar_histogram_get_quantile(any, 0, any, NULL), "ret_value");
	REFUSES_VALUE(tree_get_nodes(NULL), 0, "tree");
	REFUSES(attar_tree_get_node(NULL, 0, any), "tree");
	REFUSES(attar_tree_get_node(any, 0, NULL), "ret_node");
}

static void test_histograms(void **state)
{
	REFUSES(attar_hist_merge(NULL, any), "to");
	REFUSES(attar_hist_merge(any, NULL), "from");
	REFUSES_VOID(hist_reset(NULL), "hist");
	REFUSES_VOID(attar_hist_done(NULL), "hist");
	REFUSES_VALUE(attar_hist_sum(NULL), 0, "hist");
	REFUSES_VALUE(attar_hist_mean(NULL), 0, "hist");
	REFUSES_VALUE(attar_hist_quantile(NULL, 1), 0, "hist");
	REFUSES_VOID(hist_quantiles(NULL, any, 1, any), "hist");
	REFUSES_VOID(hist_quantiles(any, NULL, 1, any), "shares");
	REFUSES_VOID(hist_quantiles(any, any, 1, NULL), "ret_values");
	REFUSES_VALUE(attar_hist_next(NULL, any), false, "hist");
	REFUSES_VALUE(attar_hist_next(any, NULL), false, "bucket");
	REFUSES_VALUE(hist_next_power(NULL, any), false, "hist");
	REFUSES_VALUE(hist_next_power(any, NULL), false, "bucket");
	REFUSES_VALUE(hist_memory(NULL), 0, "hist");
}

static void test_key_tables(void **state)
{
	REFUSES(attar_keytable_new(any, NULL), "ret_table");
	REFUSES_NULL(attar_keytable_find(NULL, any, 1), "table");
	REFUSES_NULL(attar_keytable_find(any, NULL, 1), "key");
	REFUSES_NULL(attar_keytable_others(NULL), "table");
	REFUSES_NULL(attar_keytable_next(NULL, any), "table");
	REFUSES_VALUE(attar_keytable_keys(NULL), 0, "table");
	REFUSES(attar_keytable_end_interval(NULL), "table");
	REFUSES_VALUE(attar_keytable_top(NULL, 0, 0, any, 1), 0, "table");
	REFUSES_VALUE(attar_keytable_top(any, 0, 0, NULL, 1), 0, "rows");
	REFUSES(attar_keytable_rows(NULL, 0, 0, any, any), "table");
	REFUSES(attar_keytable_rows(any, 0, 0, NULL, any), "ret_rows");
	REFUSES(attar_keytable_rows(any, 0, 0, any, NULL), "ret_n");
	REFUSES(keytable_merge(NULL, any), "to");
	REFUSES(keytable_merge(any, NULL), "from");
	REFUSES_VOID(keytable_reset(NULL), "table");
	REFUSES_VOID(keytable_get_stats(NULL, any), "table");
	REFUSES_VOID(keytable_get_stats(any, NULL), "ret_stats");
}

static void test_pairs(void **state)
{
	REFUSES(attar_pairs_new(any, NULL), "ret_pairs");
	REFUSES_VOID(attar_pairs_lost(NULL, 0, 0, 0), "pairs");
	REFUSES_VOID(attar_pairs_exit(NULL, 0), "pairs");
	REFUSES_VALUE(attar_pairs_drop(NULL, any, 1), 0, "pairs");
	REFUSES_VALUE(attar_pairs_drop(any, NULL, 1), 0, "key");
	REFUSES_VOID(attar_pairs_close(NULL), "pairs");
	REFUSES_NULL(attar_pairs_next_open(NULL, any), "pairs");
	REFUSES_VOID(attar_pairs_get_stats(NULL, any), "pairs");
	REFUSES_VOID(attar_pairs_get_stats(any, NULL), "ret_stats");
	REFUSES_VOID(pairs_stats_add(NULL, any), "to");
	REFUSES_VOID(pairs_stats_add(any, NULL), "from");
	REFUSES_VOID(attar_pairs_get_interval(NULL, any), "pairs");
	REFUSES_VOID(attar_pairs_get_interval(any, NULL), "ret_stats");
}

static void test_aggregates_in_reports(void **state)
{
	REFUSES_VOID(attar_section_hist_columns(NULL, 0), "section");
	REFUSES_VOID(attar_cell_hist(NULL, any), "section");
	REFUSES_VOID(attar_cell_hist(any, NULL), "hist");
	REFUSES_NULL(attar_report_hist(NULL, "name", 0, any), "report");
	REFUSES_NULL(attar_report_hist(any, "name", 0, NULL), "hist");
	REFUSES_VOID(attar_report_unpaired(NULL, any, "name"), "report");
	REFUSES_VOID(attar_report_unpaired(any, NULL, "name"), "stats");
	REFUSES_VOID(attar_report_unpaired(any, any, NULL), "name");
	REFUSES_VOID(attar_report_evicted(NULL, any, "name"), "report");
	REFUSES_VOID(attar_report_evicted(any, NULL, "name"), "table");
	REFUSES_VOID(attar_report_evicted(any, any, NULL), "name");
}

static void test_states(void **state)
{
	REFUSES(attar_states_new(NULL, any), "opts");
	REFUSES(attar_states_new(any, NULL), "ret_states");
	REFUSES_NULL(attar_states_get(NULL, any, 1), "states");
	REFUSES_NULL(attar_states_get(any, NULL, 1), "key");
	REFUSES_NULL(attar_states_next(NULL, any), "states");
	REFUSES(attar_states_exit(NULL, any, 1, any), "states");
	REFUSES(attar_states_exit(any, NULL, 1, any), "key");
	REFUSES(attar_states_exit(any, any, 1, NULL), "at");
	REFUSES_VOID(attar_states_lost(NULL, 0, 0, 0), "states");
	REFUSES_VOID(state_drop(NULL, any), "states");
	REFUSES_VOID(state_drop(any, NULL), "state");
	REFUSES(attar_states_close(NULL, 0), "states");
	REFUSES_NULL(attar_states_table(NULL), "states");
	REFUSES_VOID(attar_states_get_stats(NULL, any), "states");
	REFUSES_VOID(attar_states_get_stats(any, NULL), "ret_stats");
	REFUSES_VOID(attar_report_dropped(any, NULL, "segments"), "states");
	REFUSES_VOID(attar_report_dropped(NULL, any, "segments"), "report");
	REFUSES_VOID(attar_report_dropped(any, any, NULL), "name");
}

static void test_stacks_and_series(void **state)
{
	REFUSES(attar_stacks_new(NULL, any), "symbols");
	REFUSES(attar_stacks_new(any, NULL), "ret_stacks");
	REFUSES(attar_stacks_add_span(NULL, any, any, 1, 1, any), "stacks");
	REFUSES(attar_stacks_add_span(any, NULL, any, 1, 1, any), "thread");
	REFUSES(attar_stacks_add_span(any, any, NULL, 1, 1, any), "locations");
	REFUSES(attar_stacks_add_span(any, any, any, 1, 1, NULL), "ret_stack");
	REFUSES(attar_stacks_report(NULL, any, ATTAR_SCOPE_WHOLE, NULL, any), "stacks");
	REFUSES(attar_stacks_report(any, NULL, ATTAR_SCOPE_WHOLE, NULL, any), "report");
	REFUSES(attar_stacks_report(any, any, ATTAR_SCOPE_WHOLE, NULL, NULL), "ret_unresolved");
	REFUSES_VOID(attar_row_stack(NULL, any, any, 1), "section");
	REFUSES_VOID(attar_row_stack(any, NULL, any, 1), "symbols");
	REFUSES_VOID(attar_row_stack(any, any, NULL, 1), "locations");
	REFUSES_VOID(attar_series_add(NULL, 1), "series");
	assert_true(attar_series_deviation(NULL) == 0);
	expect_sentence("attar_series_deviation(NULL)", "series");
}

static void test_renderers(void **state)
{
	const struct attar_diff_side no_reports = {0}, null_reports = {.n = 1};
	const struct attar_merge_part no_report = {.host = "a"};

	REFUSES(attar_renderer_new(NULL, any, NULL, any), "sink");
	REFUSES(attar_renderer_new("text", NULL, NULL, any), "out");
	REFUSES(attar_renderer_new("text", any, NULL, NULL), "ret_renderer");
	REFUSES_NULL(renderer_get_sink(NULL), "renderer");
	REFUSES_VOID(renderer_resize(NULL, 80, 24), "renderer");
	REFUSES(attar_renderer_draw(NULL, any), "renderer");
	REFUSES(attar_renderer_draw(any, NULL), "report");
	REFUSES(renderer_draw_noted(NULL, any, any), "renderer");
	REFUSES(renderer_draw_noted(any, NULL, any), "report");
	REFUSES(renderer_draw_noted(any, any, NULL), "notes");
	REFUSES_VOID(renderer_sort(NULL, 1, false), "renderer");
	REFUSES_NULL(sink_of_path(NULL), "path");
	REFUSES(attar_report_read_json(NULL, 1, any), "text");
	REFUSES(attar_report_read_json(any, 1, NULL), "ret_report");
	REFUSES(diff_reports(NULL, any, any, any, any), "before");
	REFUSES(diff_reports(&no_reports, NULL, any, any, any), "after");
	REFUSES(diff_reports(&no_reports, &no_reports, NULL, any, any), "opts");
	REFUSES(diff_reports(&no_reports, &no_reports, any, NULL, any), "out");
	REFUSES(diff_reports(&no_reports, &no_reports, any, any, NULL), "ret_result");
	REFUSES(diff_reports(&null_reports, &no_reports, any, any, any), "before->reports");
	REFUSES(doctor_check_system(NULL, any), "fn");
	REFUSES(doctor_check_rights(NULL, any, any), "needs");
	REFUSES(doctor_check_rights("tracefs", NULL, any), "fn");
	REFUSES(usdt_each_location(NULL, any, any), "text");
	REFUSES(usdt_each_location("x", NULL, any), "fn");
	REFUSES(merge_reports(NULL, 1, false, any), "parts");
	REFUSES(merge_reports(&no_report, 1, false, any), "parts");
	REFUSES(merge_reports(&no_report, 0, false, NULL), "out");
	REFUSES(diff_folded_reports(NULL, any, any), "before");
	REFUSES(diff_folded_reports(&no_reports, &no_reports, NULL), "out");
	REFUSES_NULL(attar_sink_find(NULL), "name");
}

static void test_run_queries(void **state)
{
	REFUSES_NULL(profiler_find(NULL), "name");
	REFUSES_NULL(attar_run_source_spec(NULL, 1), "run");
	REFUSES_NULL(attar_run_get_counter(NULL, 1), "run");
	REFUSES_VALUE(run_elapsed(NULL), 0, "run");
	REFUSES_VALUE(run_recent(NULL), 0, "run");
	REFUSES_TEXT(attar_run_cgroup(NULL, 1), "", "run");
	REFUSES_NULL(attar_run_catalog(NULL), "run");
	REFUSES_NULL(attar_run_symbols(NULL), "run");
	REFUSES_TEXT(attar_run_source_name(NULL, 1), "?", "run");
	REFUSES_NULL(attar_run_source_attr(NULL, 1), "run");
	REFUSES_VALUE(attar_run_target_kind(NULL), ATTAR_TARGET_SYSTEM, "run");
	REFUSES_VALUE(attar_run_interval(NULL), 0, "run");
	REFUSES_NULL(attar_run_profiler(NULL), "run");
	REFUSES_VALUE(attar_run_ended(NULL), false, "run");
	REFUSES_VALUE(run_freq(NULL), 0, "run");
	REFUSES_NULL(attar_run_lines(NULL, any, on_columns), "run");
	REFUSES_NULL(attar_run_lines(any, NULL, on_columns), "name");
	REFUSES_NULL(attar_run_lines(any, any, NULL), "columns");
	REFUSES_VOID(attar_run_event_columns(NULL), "lines");
	REFUSES_VOID(attar_run_event_row(NULL, any, any, 0), "run");
	REFUSES_VALUE(attar_run_wants(NULL, ATTAR_WANT_TREE), false, "run");
	REFUSES_VALUE(attar_run_wants(NULL, ATTAR_WANT_VALUES), false, "run");
	REFUSES_VALUE(attar_run_wants(NULL, ATTAR_WANT_LINES), false, "run");
	REFUSES_VALUE(attar_run_wants(NULL, ATTAR_WANT_SPANS), false, "run");
	REFUSES_VALUE(attar_run_realtime(NULL, 1), 0, "run");
	REFUSES_NULL(attar_run_option_groups(NULL), "run");
}

static void test_runs(void **state)
{
	REFUSES(attar_run_source(NULL, any, any, on_event), "run");
	REFUSES(attar_run_source(any, NULL, any, on_event), "name");
	REFUSES(attar_run_source(any, any, NULL, on_event), "attr");
	REFUSES(attar_run_source(any, any, any, NULL), "fn");
	REFUSES(run_source_repeats(NULL, 0, NULL), "run");
	REFUSES(run_source_turns(NULL, 0, 0, NULL), "run");
	REFUSES(attar_run_events(NULL, any, 1, on_event), "run");
	REFUSES(attar_run_events(any, NULL, 1, on_event), "text");
	REFUSES(attar_run_events(any, any, 1, NULL), "fn");
	REFUSES(attar_run_sampler(NULL, 1, on_event), "run");
	REFUSES(attar_run_sampler(any, 1, NULL), "fn");
	REFUSES(attar_run_count(NULL, any), "run");
	REFUSES(attar_run_count_by(NULL, ATTAR_COUNT_TOTAL), "run");
	REFUSES(attar_run_count_rows(NULL, ATTAR_SCOPE_WHOLE, any, any), "run");
	REFUSES(run_repeat(NULL, 1), "run");
	REFUSES(run_command_times(NULL, any, any), "run");
	REFUSES(run_command_times(any, NULL, any), "ret_user");
	REFUSES(run_command_times(any, any, NULL), "ret_system");
	REFUSES_VOID(run_unresolved(NULL, 1), "run");
	REFUSES(run_emit_fields(NULL, any), "run");
	REFUSES(run_emit_fields(any, NULL), "format");
	REFUSES(run_emit(NULL, any), "run");
	REFUSES(run_emit(any, NULL), "raw");
	REFUSES(attar_run_add_span(NULL, any), "run");
	REFUSES(attar_run_add_span(any, NULL), "span");
	REFUSES(attar_run_stacks(NULL, any, any, 0, NULL), "run");
	REFUSES(attar_run_stacks(any, NULL, any, 0, NULL), "report");
	REFUSES(attar_run_new(NULL, any), "profiler");
	REFUSES(attar_run_new(any, NULL), "ret_run");
	REFUSES(attar_run_add_options(NULL, any, any, any), "run");
	REFUSES(attar_run_add_options(any, NULL, any, any), "title");
	REFUSES(attar_run_add_options(any, any, NULL, any), "options");
	REFUSES(attar_run_add_options(any, any, any, NULL), "state");
	REFUSES(attar_run_set(NULL, any, any), "run");
	REFUSES(attar_run_set(any, NULL, any), "name");
	REFUSES_VOID(attar_run_command(NULL, any), "run");
	REFUSES(attar_run_go(NULL, NULL), "run");
	REFUSES_VALUE(attar_run_command_status(NULL), -1, "run");
}

static void test_streams(void **state)
{
	REFUSES(attar_shm_source_new(NULL, NULL), "ret_shm_source");
	REFUSES_NULL(attar_shm_source_variable(NULL), "shm_source");
	REFUSES(attar_stream_events(NULL, any, 0, NULL, any), "target");
	REFUSES(attar_stream_events(any, NULL, 0, NULL, any), "events");
	REFUSES(attar_stream_events(any, any, 0, NULL, NULL), "ret_stream");
	REFUSES_NULL(attar_stream_spec(NULL, 0), "stream");
	REFUSES_NULL(attar_stream_symbols(NULL), "stream");
	REFUSES(attar_stream_live(NULL, any, 1, any, NULL, any), "target");
	REFUSES(attar_stream_live(any, NULL, 1, any, NULL, any), "counters");
	REFUSES(attar_stream_live(any, any, 1, NULL, NULL, any), "symbols");
	REFUSES(attar_stream_live(any, any, 1, any, NULL, NULL), "ret_stream");
	REFUSES_VOID(attar_stream_attr(NULL, 1), "attr");
	REFUSES_VALUE(attar_stream_defer(NULL), false, "attr");
	REFUSES(attar_stream_start(NULL), "stream");
	REFUSES(attar_stream_add(NULL, any, 1), "stream");
	REFUSES(attar_stream_add(any, NULL, 1), "counter");
	REFUSES(attar_stream_stop(NULL), "stream");
	REFUSES(attar_stream_wait(NULL, 1, 1), "stream");
	REFUSES(attar_stream_read(NULL, 1, any), "stream");
	REFUSES(attar_stream_read(any, 1, NULL), "ret_event");
	REFUSES(attar_stream_fd(NULL), "stream");
	REFUSES(attar_stream_snapshot(NULL), "stream");
	REFUSES_VALUE(stream_rings(NULL), 0, "stream");
	REFUSES_NULL(stream_ring(NULL, 1), "stream");
	REFUSES_VOID(attar_stream_get_stats(NULL, any), "stream");
	REFUSES_VOID(attar_stream_get_stats(any, NULL), "ret_stats");
	REFUSES(attar_stream_next(NULL, any), "stream");
	REFUSES(attar_stream_next(any, NULL), "ret_event");
}

static void test_symbols(void **state)
{
	REFUSES(attar_symbols_new(NULL, NULL), "ret_symbols");
	REFUSES(attar_symbols_resolve(NULL, 1, any), "symbols");
	REFUSES(attar_symbols_resolve(any, 1, NULL), "ret_symbol");
	REFUSES(attar_symbols_frames(NULL, 1, any, 1), "symbols");
	REFUSES(attar_symbols_frames(any, 1, NULL, 1), "ret_frames");
	REFUSES(symbols_frames_batch(NULL, any, 1, any, NULL), "symbols");
	REFUSES(symbols_frames_batch(any, NULL, 1, any, NULL), "locations");
	REFUSES(symbols_frames_batch(any, any, 1, NULL, NULL), "fn");
	REFUSES(symbols_find_file(NULL, any, any), "symbols");
	REFUSES(symbols_find_file(any, NULL, any), "path");
	REFUSES(symbols_find_file(any, any, NULL), "ret_file");
	REFUSES(symbols_vaddr(NULL, 1, 1, any), "symbols");
	REFUSES(symbols_vaddr(any, 1, 1, NULL), "ret_location");
	REFUSES(symbols_data(NULL, 1, 1, any), "symbols");
	REFUSES(symbols_data(any, 1, 1, NULL), "ret_symbol");
	REFUSES(symbol_demangle(NULL, any, 1), "mangled");
	REFUSES(symbol_demangle(any, NULL, 1), "name");
	REFUSES(symbols_open_source(NULL, 1, any), "symbols");
	REFUSES(symbols_open_source(any, 1, NULL), "path");
	REFUSES(symbols_code(NULL, 1, any, 1, NULL), "symbols");
	REFUSES(symbols_code(any, 1, NULL, 1, NULL), "bytes");
	REFUSES_NULL(attar_symbols_dso(NULL, 1, any), "symbols");
	REFUSES_NULL(attar_symbols_dso(any, 1, NULL), "ret_kind");
	REFUSES(symbols_ksymbol(NULL, 1, 1, any, 1), "symbols");
	REFUSES(symbols_ksymbol(any, 1, 1, NULL, 1), "name");
	REFUSES_VOID(symbols_get_stats(NULL, any), "symbols");
	REFUSES_VOID(symbols_get_stats(any, NULL), "ret_stats");
	REFUSES_VALUE(attar_unwind(NULL, any, any, 1, NULL), 0, "space");
	REFUSES_VALUE(attar_unwind(any, NULL, any, 1, NULL), 0, "input");
	REFUSES_VALUE(attar_unwind(any, any, NULL, 1, NULL), 0, "locations");
	REFUSES(thread_take_copy(1, 0, NULL), "copy");
	REFUSES(thread_stack(1, 0, NULL, any, any, 1, NULL), "space");
	REFUSES(thread_stack(1, 0, any, NULL, any, 1, NULL), "copy");
	REFUSES(thread_stack(1, 0, any, any, NULL, 1, NULL), "locations");
	REFUSES_VOID(thread_copy_done(NULL), "copy");
	REFUSES(attar_unwind_attr(NULL, 0), "attr");
	REFUSES_VOID(unwind_get_stats(NULL, any), "symbols");
	REFUSES_VOID(unwind_get_stats(any, NULL), "ret_stats");
}

static void test_spaces(void **state)
{
	REFUSES_NULL(attar_address_space_new(NULL, 1), "symbols");
	REFUSES_NULL(address_space_fork(NULL, 1), "space");
	REFUSES(attar_address_space_scan(NULL), "space");
	REFUSES(attar_address_space_map(NULL, any), "space");
	REFUSES(attar_address_space_map(any, NULL), "mapping");
	REFUSES_VOID(address_space_reset(NULL), "space");
}

/* Functions that are safe in signal handlers set no message. */
static void test_signal_safe_functions_set_no_message(void **state)
{
	attar_run_stop(NULL);
	assert_false(attar_signal_decode(NULL, any));
	assert_false(attar_signal_decode(any, NULL));
	assert_string_equal(attar_error(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_catalogs),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_eventheaders),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_rings),
		cmocka_unit_test(test_aux_areas),
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_reports),
		cmocka_unit_test(test_sections),
		cmocka_unit_test(test_reading_reports),
		cmocka_unit_test(test_histograms),
		cmocka_unit_test(test_key_tables),
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_aggregates_in_reports),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_stacks_and_series),
		cmocka_unit_test(test_renderers),
		cmocka_unit_test(test_run_queries),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_symbols),
		cmocka_unit_test(test_spaces),
		cmocka_unit_test(test_signal_safe_functions_set_no_message),
	};

	return cmocka_run_group_tests_name("missing_arguments", tests, NULL, NULL);
}
