/* SPDX-License-Identifier: MIT */
/* The report of several hosts: how columns, histograms, trees and notes are merged. */
#include "drawing.h"

#include <math.h>

#include "attar/private/merge.h"
#include "attar/private/report.h"

static struct attar_report *merged(
	const struct attar_report *a, const struct attar_report *b, bool by_host)
{
	const struct attar_merge_part parts[] = {{"a", a, 0}, {"b", b, 100}};
	struct attar_report *out = attar_report_new("p");

	assert_int_equal(merge_reports(parts, 2, by_host, out), 0);
	return out;
}

static double number(const struct attar_section *s, size_t row, const char *column)
{
	for (size_t i = 0; i < attar_section_get_columns(s); i++)
		if (!strcmp(attar_section_get_column(s, i, NULL), column))
			return attar_cell_get_double(attar_section_get_cell(s, row, i));
	fail_msg("there is no column %s", column);
	return NAN;
}

static bool has_column(const struct attar_section *s, const char *column)
{
	for (size_t i = 0; i < attar_section_get_columns(s); i++)
		if (!strcmp(attar_section_get_column(s, i, NULL), column))
			return true;
	return false;
}

static struct attar_report *calls(uint64_t n, uint64_t total, uint64_t min, uint64_t max)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *t = attar_report_table(report, "calls");

	attar_section_column(t, "syscall", ATTAR_UNIT_TEXT);
	attar_section_column(t, "pid", ATTAR_UNIT_ID);
	attar_section_column(t, "count", ATTAR_UNIT_COUNT);
	attar_section_column(t, "total", ATTAR_UNIT_NS);
	attar_section_column(t, "min", ATTAR_UNIT_NS);
	attar_section_column(t, "avg", ATTAR_UNIT_NS);
	attar_section_column(t, "IPC", ATTAR_UNIT_COUNT);
	attar_section_column(t, "p99", ATTAR_UNIT_NS);
	attar_section_column(t, "max", ATTAR_UNIT_NS);
	attar_section_row(t);
	attar_cell_text(t, "read");
	attar_cell_u64(t, n);
	attar_cell_u64(t, n);
	attar_cell_u64(t, total);
	attar_cell_u64(t, min);
	attar_cell_double(t, (double)total / (double)n);
	attar_cell_double(t, 1.5);
	attar_cell_u64(t, max);
	attar_cell_u64(t, max);
	return report;
}

static void test_numbers(void **state)
{
	struct attar_report *a = calls(3, 30, 5, 20), *b = calls(1, UINT64_C(1) << 60, 7, 8);
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "calls");

	assert_int_equal(attar_section_get_rows(t), 1);
	assert_int_equal(number(t, 0, "count"), 4);
	assert_true(attar_section_get_cell(t, 0, 2).u64 == (UINT64_C(1) << 60) + 30);
	assert_int_equal(number(t, 0, "min"), 5);
	assert_int_equal(number(t, 0, "max"), 20);
	assert_true(number(t, 0, "avg") == ((double)(UINT64_C(1) << 60) + 30) / 4);
	assert_false(has_column(t, "pid"));
	assert_false(has_column(t, "p99"));
	assert_non_null(strstr(attar_report_get_remark(out, 0), "pid, IPC, p99"));
	attar_report_free(out);
	out = merged(a, b, true);
	t = attar_report_find_section(out, "calls");
	assert_int_equal(attar_section_get_rows(t), 2);
	assert_string_equal(attar_section_get_cell(t, 1, 0).text, "b");
	assert_int_equal(number(t, 1, "pid"), 1);
	assert_int_equal(number(t, 0, "p99"), 20);
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
}

/* Samples in f and in g; a host that has none of either has no row. */
static struct attar_report *functions(uint64_t f, uint64_t g)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *t = attar_report_table(report, "functions");
	const uint64_t samples[] = {f, g};

	attar_section_column(t, "self", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(t, "hit ratio", ATTAR_UNIT_PERCENT);
	attar_section_column(t, "symbol", ATTAR_UNIT_TEXT);
	for (int i = 0; i < 2; i++) {
		if (!samples[i])
			continue;
		attar_section_row(t);
		attar_cell_double(t, 100.0 * (double)samples[i] / (double)(f + g));
		attar_cell_u64(t, samples[i]);
		attar_cell_double(t, 50);
		attar_cell_text(t, i ? "g" : "f");
	}
	return report;
}

static void test_shares(void **state)
{
	struct attar_report *a = functions(30, 10), *b = functions(0, 160);
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "functions");

	assert_int_equal(attar_section_get_rows(t), 2);
	assert_string_equal(attar_section_get_cell(t, 0, 2).text, "g"); /* as before: most first */
	assert_int_equal(number(t, 0, "samples"), 170);
	assert_true(fabs(number(t, 0, "self") - 85) < 1e-9);
	assert_true(fabs(number(t, 1, "self") - 15) < 1e-9);
	assert_false(has_column(t, "hit ratio"));
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
}

/* Columns whose numbers cannot be added: two threads of one name with ratios of 0.5 and 2. */
static const char *const ratios[] = {
	"ratio", "IPC", "hit rate", "p99", "median latency", "avg", "cycles per miss", "stddev"};

static struct attar_report *threads_with_ratios(void)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *t = attar_report_table(report, "threads");

	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "tid", ATTAR_UNIT_ID);
	attar_section_column(t, "calls", ATTAR_UNIT_COUNT);
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++)
		attar_section_column(t, ratios[i], ATTAR_UNIT_COUNT);
	for (unsigned tid = 1; tid <= 2; tid++) {
		attar_section_row(t);
		attar_cell_text(t, "worker");
		attar_cell_u64(t, tid);
		attar_cell_u64(t, 100 * tid);
		for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++)
			attar_cell_double(t, tid == 1 ? 0.5 : 2);
	}
	return report;
}

static void test_ratios_are_not_added(void **state)
{
	struct attar_report *a = threads_with_ratios(), *b = threads_with_ratios();
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "threads");
	char *text, *value;

	assert_int_equal(attar_section_get_rows(t), 1);
	assert_int_equal(number(t, 0, "calls"), 600);
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++)
		assert_false(has_column(t, ratios[i]));
	text = draw_one("prometheus", (struct attar_render_opts){0}, a);
	assert_non_null(strstr(text, "attar_p_threads_calls{comm=\"worker\"} 300\n"));
	for (size_t i = 0; i < sizeof(ratios) / sizeof(*ratios); i++) {
		char sample[64] = "attar_p_threads_";

		strcat(sample, ratios[i]);
		for (value = sample; *value; value++)
			*value = *value == ' '                    ? '_'
				 : *value >= 'A' && *value <= 'Z' ? *value | 32
								  : *value;
		strcat(sample, "{comm=\"worker\"} 2\n");
		if (!strstr(text, sample))
			fail_msg("'%s' is not in:\n%s", sample, text);
	}
	free(text);
	attar_report_free(out);
	attar_report_free(b);
}

static struct attar_report *single(uint64_t time)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *t = attar_report_events(report, "lines");

	attar_section_column(t, "time", ATTAR_UNIT_TIME);
	attar_section_column(t, "count", ATTAR_UNIT_COUNT);
	attar_section_row(t);
	attar_cell_u64(t, time);
	attar_cell_u64(t, 1);
	attar_row_detail(t, "frame");
	return report;
}

static void test_lines_are_in_the_order_of_one_clock(void **state)
{
	struct attar_report *a = single(1000), *b = single(1050); /* its clock is 100 ns ahead */
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "lines");

	assert_int_equal(attar_section_get_kind(t), ATTAR_SECTION_EVENTS);
	assert_int_equal(attar_section_get_rows(t), 2);
	assert_string_equal(attar_section_get_cell(t, 0, 0).text, "b");
	assert_int_equal(number(t, 0, "time"), 950);
	assert_int_equal(number(t, 1, "time"), 1000);
	assert_string_equal(attar_section_get_detail(t, 1, 0), "frame");
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
}

static struct attar_report *graphs(double low, uint64_t count, const char *leaf)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *h = attar_report_histogram(report, "latency", ATTAR_UNIT_NS);
	struct attar_section *t = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	const struct attar_notes notes = {.seen = count, .lost = 1, .unresolved = 0.5};
	uint32_t root;

	attar_histogram_bucket(h, low, 2 * low, count);
	attar_histogram_bucket(h, 64, 128, UINT64_MAX / 2);
	attar_histogram_summary(h, count, (double)count, low, 100);
	attar_histogram_quantile(h, 0.5, 99);
	root = attar_tree_node(t, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "comm", NULL, 0);
	attar_tree_task(t, root, (uint32_t)count, 0);
	attar_tree_node(t, root, ATTAR_FRAME_USER, "main", "prog", 1);
	attar_tree_node(t, root, ATTAR_FRAME_USER, leaf, "prog", count);
	attar_report_notes(report, &notes);
	return report;
}

static void test_histograms_and_trees(void **state)
{
	struct attar_report *a = graphs(8, 3, "f"), *b = graphs(16, 5, "f");
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *h = attar_report_find_section(out, "latency");
	const struct attar_section *t = attar_report_find_section(out, "stacks");
	enum attar_unit unit = ATTAR_UNIT_TEXT;
	struct attar_summary summary;
	struct attar_notes notes;
	struct attar_node node;

	assert_int_equal(attar_section_get_rows(h), 3);
	for (size_t i = 0; i < 2; i++) {
		attar_section_get_column(h, i, &unit);
		assert_int_equal(unit, ATTAR_UNIT_NS);
	}
	assert_int_equal(number(h, 0, "low"), 8);
	assert_int_equal(number(h, 1, "count"), 5);
	assert_true(attar_section_get_cell(h, 2, 2).u64 == UINT64_MAX - 1);
	assert_int_equal(attar_histogram_get_summary(h, &summary), 0);
	assert_int_equal(summary.count, 8);
	assert_true(summary.min == 8 && summary.max == 100);
	assert_int_equal(tree_get_nodes(t), 3);
	assert_int_equal(attar_tree_get_node(t, 2, &node), 0);
	assert_string_equal(node.name, "f");
	assert_int_equal(node.self, 8);
	assert_int_equal(node.parent, 0);
	assert_int_equal(attar_report_get_notes(out, &notes), 0);
	assert_int_equal(notes.seen, 8);
	assert_int_equal(notes.lost, 2);
	assert_true(notes.unresolved == 0.5);
	attar_report_free(out);
	out = merged(a, b, true);
	assert_int_equal(tree_get_nodes(attar_report_find_section(out, "stacks")), 8);
	assert_non_null(attar_report_find_section(out, "a: latency"));
	assert_non_null(attar_report_find_section(out, "b: latency"));
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
}

/* A state of thread 7 that ends in the stack of `leaf`, and a track without a thread. */
static struct attar_report *time_line(const char *leaf)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *t = attar_report_tree(report, "stacks", ATTAR_UNIT_COUNT);
	struct attar_section *s = report_spans(report, "time line");
	uint32_t root = attar_tree_node(t, ATTAR_TREE_ROOT, ATTAR_FRAME_TASK, "comm", NULL, 0);
	uint32_t node = attar_tree_node(t, root, ATTAR_FRAME_USER, leaf, "prog", 1);

	attar_section_row(s);
	attar_cell_u64(s, 1000);
	attar_cell_u64(s, 50);
	attar_cell_u64(s, 7);
	attar_cell_u64(s, 7);
	attar_cell_text(s, "comm");
	attar_cell_none(s);
	attar_cell_text(s, "state");
	attar_cell_text(s, "sleeping");
	attar_cell_u64(s, node);
	attar_section_row(s);
	attar_cell_u64(s, 2000);
	attar_cell_u64(s, 0);
	attar_cell_none(s);
	attar_cell_none(s);
	attar_cell_text(s, "CPU 3");
	return report;
}

static struct attar_cell span_cell(
	const struct attar_section *s, size_t row, enum attar_span_column column)
{
	return attar_section_get_cell(s, row, column);
}

/* The report as a host sends it. */
static struct attar_report *through_json(struct attar_report *report)
{
	char *text = draw_one("json", (struct attar_render_opts){.time_lines = true}, report);
	struct attar_report *again;

	assert_int_equal(attar_report_read_json(text, strlen(text), &again), 0);
	free(text);
	return again;
}

static void test_time_lines(void **state)
{
	struct attar_report *a = through_json(time_line("f")), *b = through_json(time_line("g"));

	for (int by_host = 0; by_host < 2; by_host++) {
		struct attar_report *out = merged(a, b, by_host);
		const struct attar_section *s = attar_report_find_section(out, "time line");
		const struct attar_section *t = attar_report_find_section(out, "stacks");

		assert_int_equal(attar_section_get_rows(s), 4);
		for (size_t host = 0; host < 2; host++) {
			size_t row = 2 * host;
			struct attar_node node;

			assert_int_equal(span_cell(s, row, ATTAR_SPAN_TIME).u64, 1000 - 100 * host);
			assert_int_equal(span_cell(s, row, ATTAR_SPAN_DURATION).u64, 50);
			assert_int_equal(
				span_cell(s, row, ATTAR_SPAN_TID).u64, 7 + 10000000 * host);
			assert_string_equal(span_cell(s, row, ATTAR_SPAN_THREAD).text,
				host ? "b: comm" : "a: comm");
			assert_string_equal(span_cell(s, row, ATTAR_SPAN_NAME).text, "sleeping");
			assert_int_equal(
				attar_tree_get_node(
					t, (uint32_t)span_cell(s, row, ATTAR_SPAN_NODE).u64, &node),
				0);
			assert_string_equal(node.name, host ? "g" : "f");
			assert_int_equal(
				span_cell(s, row + 1, ATTAR_SPAN_PID).kind, ATTAR_CELL_NONE);
			assert_int_equal(
				span_cell(s, row + 1, ATTAR_SPAN_NODE).kind, ATTAR_CELL_NONE);
			assert_string_equal(span_cell(s, row + 1, ATTAR_SPAN_THREAD).text,
				host ? "b: CPU 3" : "a: CPU 3");
		}
		attar_report_free(out);
	}
	attar_report_free(a);
	attar_report_free(b);
}

static struct attar_report *series(uint64_t first)
{
	struct attar_report *report = attar_report_new("p");
	struct attar_section *s = attar_report_time_series(report, "load");

	attar_section_column(s, "cpu 0", ATTAR_UNIT_COUNT);
	attar_section_column(s, "cpu 1", ATTAR_UNIT_PERCENT);
	for (uint64_t i = 0; i < 2; i++) {
		attar_time_series_point(s, first + 1000 * i);
		attar_cell_u64(s, i);
		attar_cell_double(s, 0.5);
	}
	return report;
}

/* Points of host b are 100 ns earlier in the clock of the merged report: 900, 1000, 1900, 2000. */
static void test_time_series(void **state)
{
	struct attar_report *a = through_json(series(1000)), *b = through_json(series(1000));
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *s = attar_report_find_section(out, "load");

	assert_int_equal(attar_section_get_kind(s), ATTAR_SECTION_TIME_SERIES);
	assert_int_equal(attar_section_get_columns(s), 5);
	assert_string_equal(attar_section_get_column(s, 4, NULL), "b: cpu 1");
	assert_int_equal(attar_section_get_rows(s), 4);
	for (size_t row = 0; row < 4; row++) {
		static const uint64_t times[] = {900, 1000, 1900, 2000};
		bool is_b = row % 2 == 0;

		assert_int_equal(attar_section_get_cell(s, row, 0).u64, times[row]);
		assert_int_equal(attar_section_get_cell(s, row, is_b ? 3 : 1).u64, row / 2);
		assert_true(attar_section_get_cell(s, row, is_b ? 4 : 2).real == 0.5);
		assert_int_equal(
			attar_section_get_cell(s, row, is_b ? 1 : 3).kind, ATTAR_CELL_NONE);
	}
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
}

static void draw_in_all_formats(const struct attar_report *report)
{
	static const char *const sinks[] = {"chrome", "html", "firefox", "json"};
	struct attar_render_opts opts = {.size = sizeof(opts), .time_lines = true};

	for (size_t i = 0; i < sizeof(sinks) / sizeof(sinks[0]); i++) {
		FILE *file = fopen("/dev/null", "w");
		struct attar_renderer *renderer;

		assert_int_equal(attar_renderer_new(sinks[i], file, &opts, &renderer), 0);
		assert_int_equal(attar_renderer_draw(renderer, report), 0);
		attar_renderer_free(renderer);
		fclose(file);
	}
}

/* What a host that is not trusted may send. */
static void test_time_lines_of_bad_hosts(void **state)
{
	enum { N_ROWS = 4 };
	static const char *const rows[N_ROWS] = {
		"[]",
		"[18446744073709551615,18446744073709551615,1,1,\"x\",0,\"state\",\"s\",99,1]",
		"[null,\"x\",-1,1.5,7,{},[1],true,-9]",
		"[0,9223372036854775807,1,1,\"y\",0,\"state\",\"s\",4294967296,1]",
	};

	for (size_t i = 0; i < N_ROWS; i++) {
		struct attar_report *report, *out;
		char text[2048];

		snprintf(text, sizeof(text),
			"{\"schema\":\"attar/1\",\"profiler\":\"p\",\"sections\":[{\"name\":"
			"\"stacks\",\"kind\":\"tree\",\"columns\":[],\"rows\":[]},{\"name\":\"t\","
			"\"kind\":\"spans\",\"columns\":[%s],\"rows\":[%s,%s]}]}",
			"{\"name\":\"time\"},{\"name\":\"duration\"},{\"name\":\"pid\"},{\"name\":"
			"\"tid\"},{\"name\":\"thread\"},{\"name\":\"cpu\"},{\"name\":\"category\"},"
			"{\"name\":\"name\"},{\"name\":\"node\"},{\"name\":\"weight\"}",
			rows[i], rows[(i + 1) % N_ROWS]);
		assert_int_equal(attar_report_read_json(text, strlen(text), &report), 0);
		out = merged(report, report, false);
		assert_int_equal(attar_section_get_rows(attar_report_find_section(out, "t")), 4);
		draw_in_all_formats(report);
		draw_in_all_formats(out);
		attar_report_free(out);
		attar_report_free(report);
	}
}

/* Requests of two sizes, as of blktrace. */
static struct attar_report *requests(uint64_t small, uint64_t large)
{
	struct attar_report *report = attar_report_new("blktrace");
	struct attar_section *t = attar_report_table(report, "requests");
	const uint64_t counts[] = {small, large};

	attar_section_column(t, "type", ATTAR_UNIT_TEXT);
	attar_section_column(t, "size", ATTAR_UNIT_BYTES);
	attar_section_column(t, "reqs", ATTAR_UNIT_COUNT);
	attar_section_column(t, "bytes", ATTAR_UNIT_BYTES);
	for (uint64_t i = 0; i < 2; i++) {
		attar_section_row(t);
		attar_cell_text(t, "W");
		attar_cell_u64(t, i ? 65536 : 4096);
		attar_cell_u64(t, counts[i]);
		attar_cell_u64(t, counts[i] * (i ? 65536 : 4096));
	}
	return report;
}

/* The size by which requests are counted is not one of their amounts. */
static void test_rows_of_different_sizes_are_not_added(void **state)
{
	struct attar_report *a = requests(3, 1), *b = requests(2, 5), *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "requests");
	char *text;

	assert_int_equal(attar_section_get_rows(t), 2);
	assert_int_equal(number(t, 0, "size"), 4096);
	assert_int_equal(number(t, 0, "reqs"), 5);
	assert_int_equal(number(t, 1, "size"), 65536);
	assert_int_equal(number(t, 1, "reqs"), 6);
	assert_int_equal(number(t, 1, "bytes"), 6 * 65536);
	text = draw_one("prometheus", (struct attar_render_opts){0}, out);
	assert_non_null(strstr(text, "requests_reqs{type=\"W\",size=\"4096\"} 5\n"));
	assert_non_null(strstr(text, "requests_reqs{type=\"W\",size=\"65536\"} 6\n"));
	assert_null(strstr(text, "requests_size"));
	free(text);
	attar_report_free(a);
	attar_report_free(b);
}

/* "+/-" and "kernel's" */
static void test_names_of_metrics(void **state)
{
	struct attar_report *report = attar_report_new("wall");
	struct attar_section *t = attar_report_table(report, "the kernel's counts");
	char *text;

	attar_section_column(t, "+/-", ATTAR_UNIT_NS);
	attar_section_row(t);
	attar_cell_u64(t, 1000000000);
	text = draw_one("prometheus", (struct attar_render_opts){0}, report);
	assert_non_null(strstr(text, "attar_wall_the_kernels_counts_uncertainty_seconds 1\n"));
	free(text);
}

/* How long a thread was observed, and what it did then. */
static struct attar_report *states(uint64_t ms, double running)
{
	struct attar_report *report = attar_report_new("wall");
	struct attar_section *t = attar_report_table(report, "threads");

	attar_section_column(t, "tid", ATTAR_UNIT_ID);
	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "time", ATTAR_UNIT_NS);
	attar_section_column(t, "running", ATTAR_UNIT_PERCENT);
	attar_section_row(t);
	attar_cell_u64(t, ms);
	attar_cell_text(t, "worker");
	attar_cell_u64(t, ms * 1000000);
	attar_cell_double(t, running);
	return report;
}

/* 75 of 300 ms and 75 of 100 ms are 150 of 400 ms. */
static void test_percentages_of_a_time(void **state)
{
	struct attar_report *a = states(300, 25), *b = states(100, 75), *none = states(0, 0);
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "threads");

	assert_int_equal(attar_section_get_rows(t), 1);
	assert_int_equal(number(t, 0, "time"), 400000000);
	assert_true(number(t, 0, "running") == 37.5);
	attar_report_free(out);
	out = merged(none, none, false);
	t = attar_report_find_section(out, "threads");
	assert_true(number(t, 0, "running") == 0);
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
	attar_report_free(none);
}

static struct attar_report *result(const char *name, uint64_t most)
{
	struct attar_report *report = attar_report_new("sql");
	struct attar_section *t = attar_report_table(report, name);

	attar_section_column(t, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(t, "m", ATTAR_UNIT_COUNT);
	attar_section_row(t);
	attar_cell_text(t, "dd");
	attar_cell_u64(t, most);
	return report;
}

/* SELECT comm, max(bytes) AS m */
static void test_results_of_queries_are_listed(void **state)
{
	struct attar_report *a = result("query 1", 7), *b = result("query 1", 5);
	struct attar_report *out = merged(a, b, false);
	const struct attar_section *t = attar_report_find_section(out, "query 1");

	assert_int_equal(attar_section_get_rows(t), 2);
	assert_string_equal(attar_section_get_cell(t, 0, 0).text, "a");
	assert_int_equal(number(t, 0, "m"), 7);
	assert_string_equal(attar_section_get_cell(t, 1, 0).text, "b");
	assert_int_equal(number(t, 1, "m"), 5);
	attar_report_free(out);
	attar_report_free(a);
	attar_report_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_ratios_are_not_added),
		cmocka_unit_test(test_lines_are_in_the_order_of_one_clock),
		cmocka_unit_test(test_histograms_and_trees),
		cmocka_unit_test(test_time_lines),
		cmocka_unit_test(test_time_series),
		cmocka_unit_test(test_time_lines_of_bad_hosts),
		cmocka_unit_test(test_rows_of_different_sizes_are_not_added),
		cmocka_unit_test(test_percentages_of_a_time),
		cmocka_unit_test(test_names_of_metrics),
		cmocka_unit_test(test_results_of_queries_are_listed),
	};

	return cmocka_run_group_tests_name("fleet", tests, NULL, NULL);
}
