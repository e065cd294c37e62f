/* SPDX-License-Identifier: MIT */
#include "attar/private/report.h"
#include "drawing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static const struct attar_render_opts plain = {.size = sizeof(plain)};

static struct attar_report *rows(uint32_t n)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *t = attar_report_table(report, "t");

	attar_section_column(t, "n", ATTAR_UNIT_COUNT);
	for (uint32_t i = 0; i < n; i++) {
		attar_section_row(t);
		attar_cell_u64(t, i);
	}
	return report;
}

static const char *name_of(const char *path)
{
	const struct attar_sink *sink = sink_of_path(path);

	return sink ? sink->name : "none";
}

static void test_sink_of_a_file_name(void **state)
{
	assert_string_equal(name_of("out/x.html"), "html");
	assert_string_equal(name_of("x.htm"), "html");
	assert_string_equal(name_of("x.y.json"), "json");
	assert_string_equal(name_of("cpu.folded"), "folded");
	assert_string_equal(name_of("a.csv"), "csv");
	assert_string_equal(name_of("a.txt"), "text");
	assert_string_equal(name_of("a.text"), "none");
	assert_string_equal(name_of("a.json/b"), "none");
	assert_string_equal(name_of("json"), "none");
	assert_string_equal(name_of("a."), "none");
	assert_string_equal(name_of(""), "none");
}

/* A report with one section of a kind. */
static struct attar_report *section(enum attar_section_kind kind)
{
	struct attar_report *report = attar_report_new("profile");
	struct attar_section *s;

	switch (kind) {
	case ATTAR_SECTION_TREE:
		s = attar_report_tree(report, "s", ATTAR_UNIT_COUNT);
		attar_tree_node(s, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "known", NULL, 1);
		break;
	case ATTAR_SECTION_HISTOGRAM:
		s = attar_report_histogram(report, "s", ATTAR_UNIT_COUNT);
		attar_histogram_bucket(s, 3737, 4000, 1);
		break;
	case ATTAR_SECTION_TIME_SERIES:
		s = attar_report_time_series(report, "s");
		attar_section_column(s, "known", ATTAR_UNIT_COUNT);
		attar_time_series_point(s, 1700000000000000000);
		attar_cell_u64(s, 1);
		break;
	default:
		s = kind == ATTAR_SECTION_TABLE ? attar_report_table(report, "s")
						: attar_report_events(report, "s");
		attar_section_column(s, "known", ATTAR_UNIT_TEXT);
		attar_section_column(s, "times", ATTAR_UNIT_COUNT);
		attar_section_row(s);
		attar_cell_text(s, "known");
		attar_cell_u64(s, 1);
	}
	return report;
}

/*
 * What a sink says that it draws is in its output, and what it does not is refused. Binary formats
 * are checked by their own readers, in tests/e2e.
 */
static void test_sinks_draw_what_they_declare(void **state)
{
	for (const struct attar_sink *const *sink = attar_sinks(); *sink; sink++)
		for (unsigned kind = 0; !(*sink)->is_binary && kind <= ATTAR_SECTION_TIME_SERIES;
			kind++) {
			struct attar_report *report = section((enum attar_section_kind)kind);
			struct attar_renderer *renderer = NULL;
			char *text = NULL;
			size_t size = 0;
			FILE *f = open_memstream(&text, &size);
			int r;

			assert_ptr_equal(attar_sink_find((*sink)->name), *sink);
			assert_int_equal(attar_renderer_new((*sink)->name, f, NULL, &renderer), 0);
			assert_ptr_equal(renderer_get_sink(renderer), *sink);
			r = attar_renderer_draw(renderer, report);
			fclose(f);
			if ((*sink)->sections & 1u << kind) {
				assert_int_equal(r, 0);
				/* metrics have other buckets */
				assert_true(strstr(text, "known") || strstr(text, "3737") ||
					    strstr(text, "3,737") ||
					    ((*sink)->replaces && strstr(text, "_bucket{")));
			} else {
				/* A report without metrics does not end their file. */
				assert_int_equal(r, (*sink)->replaces ? 0 : -EINVAL);
			}
			attar_renderer_free(renderer);
			attar_report_free(report);
			free(text);
		}
}

#define FORMATS                                                                                    \
	"text, json, csv, folded, html, pprof, speedscope, firefox, chrome, sqlite, prometheus "   \
	"and openmetrics"

/* Exactly one is for terminals, and is the first; the complete one has the values of rows. */
static void test_capabilities(void **state)
{
	const struct attar_sink *const *all = attar_sinks();

	assert_true(all[0]->for_terminal && all[0]->has_notes);
	for (size_t i = 1; all[i]; i++)
		assert_false(all[i]->for_terminal);
	for (size_t i = 0; all[i]; i++)
		assert_true(all[i]->media_type && strchr(all[i]->media_type, '/'));
	assert_memory_equal(attar_sink_find("html")->media_type, "text/html;", 10);
	assert_true(attar_sink_find("json")->is_complete);
	assert_false(attar_sink_find("csv")->has_notes);
	assert_true(attar_sink_find("html")->whole_run);
	assert_true(attar_sink_find("folded")->wants_trees);
	assert_int_equal(attar_sink_find("folded")->sections, 1 << ATTAR_SECTION_TREE);
	assert_null(attar_sink_find("HTML"));
	assert_string_equal(attar_error(), "no format 'HTML': the formats are " FORMATS);
}

static void test_unknown_format(void **state)
{
	struct attar_renderer *renderer = NULL;

	assert_int_equal(attar_renderer_new("jsom", stdout, &plain, &renderer), -EINVAL);
	assert_string_equal(attar_error(), "no format 'jsom': did you mean 'json'?");
	assert_int_equal(attar_renderer_new("pdf", stdout, &plain, &renderer), -EINVAL);
	assert_string_equal(attar_error(), "no format 'pdf': the formats are " FORMATS);
	assert_null(renderer);
}

static void span(struct attar_report *report)
{
	struct attar_section *s = report_spans(report, "time line");

	attar_section_row(s);
	attar_cell_u64(s, 1700000000000000000);
	attar_cell_u64(s, 2500);
	attar_cell_u64(s, 7);
	attar_cell_u64(s, 8);
	attar_cell_text(s, "worker");
	attar_cell_none(s);
	attar_cell_text(s, "state");
	attar_cell_text(s, "asleep");
}

/* The text that a sink makes of a report with a time line and a table. To be freed. */
static char *drawn_with_span(const char *sink)
{
	struct attar_report *report = section(ATTAR_SECTION_TABLE);
	struct attar_renderer *renderer = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	span(report);
	assert_int_equal(attar_renderer_new(sink, f, NULL, &renderer), 0);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	attar_renderer_free(renderer);
	fclose(f);
	attar_report_free(report);
	return text;
}

/* It is in a report for one output: others show the rest of the report only. */
static void test_time_line(void **state)
{
	for (const struct attar_sink *const *sink = attar_sinks(); *sink; sink++) {
		bool draws_spans = (*sink)->sections & 1 << ATTAR_SECTION_SPANS;
		char *text;

		if ((*sink)->is_binary ||
			!((*sink)->sections & 1 << ATTAR_SECTION_TABLE || draws_spans))
			continue;
		text = drawn_with_span((*sink)->name);
		assert_int_equal(strstr(text, "asleep") != NULL, draws_spans);
		free(text);
	}
}

/* One small report and one of several buffers: the error is that of the write, not of the close. */
static void assert_refused(FILE *f, int error, const char *sentence)
{
	for (uint32_t n = 1; n < 200000; n += 100000) {
		for (const struct attar_sink *const *sink = attar_sinks(); *sink; sink++) {
			struct attar_renderer *renderer = NULL;
			struct attar_report *report = rows(n);

			if ((*sink)->is_binary) {
				attar_report_free(report);
				continue;
			}
			if ((*sink)->wants_spans)
				span(report);
			else if (!((*sink)->sections & 1 << ATTAR_SECTION_TABLE))
				attar_tree_node(attar_report_tree(report, "s", ATTAR_UNIT_COUNT),
					ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "f", NULL, 1);
			assert_int_equal(
				attar_renderer_new((*sink)->name, f, &plain, &renderer), 0);
			assert_int_equal(attar_renderer_draw(renderer, report), error);
			assert_string_equal(attar_error(), sentence);
			assert_true(attar_renderer_draw(renderer, report) < 0);
			attar_renderer_free(renderer);
			attar_report_free(report);
		}
	}
}

static void test_disk_full(void **state)
{
	FILE *f = fopen("/dev/full", "w");

	if (!f)
		skip();
	assert_refused(f, -ENOSPC, "cannot write the report: No space left on device");
	fclose(f);
}

static void test_closed_pipe(void **state)
{
	int fds[2];
	FILE *f;

	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(fds), 0);
	f = fdopen(fds[1], "w");
	close(fds[0]);
	assert_refused(f, -EPIPE, "the reader of the report closed the pipe");
	fclose(f);
}

static void test_closed_descriptor(void **state)
{
	FILE *f = fdopen(dup(1), "w");

	close(fileno(f));
	assert_refused(f, -EBADF, "cannot write the report: it is closed");
	fclose(f);
}

/* Reads to the end in small steps. Returns the bytes. */
static void *slow_reader(void *arg)
{
	static _Thread_local char buf[1000];
	size_t sum = 0;
	ssize_t n;

	while ((n = read(*(int *)arg, buf, sizeof(buf))) > 0)
		sum += (size_t)n;
	return (void *)sum;
}

/* A non-blocking pipe, much smaller than the report, loses nothing. */
static void test_nonblocking_pipe(void **state)
{
	struct attar_renderer *renderer = NULL;
	struct attar_report *report = rows(100000);
	pthread_t reader;
	void *sum;
	int fds[2];
	FILE *f;

	assert_int_equal(pipe(fds), 0);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	f = fdopen(fds[1], "w");
	pthread_create(&reader, NULL, slow_reader, &fds[0]);
	assert_int_equal(attar_renderer_new("csv", f, &plain, &renderer), 0);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	attar_renderer_free(renderer);
	fclose(f);
	pthread_join(reader, &sum);
	close(fds[0]);
	/* "time,n\n", then ",0\n" to ",99999\n" */
	assert_int_equal((size_t)sum, 7 + 10 * 3 + 90 * 4 + 900 * 5 + 9000 * 6 + 90000 * 7);
	attar_report_free(report);
}

/* Output that the caller printed before stays before. */
static void test_output_follows_earlier_stdio(void **state)
{
	struct attar_renderer *renderer = NULL;
	struct attar_report *report = rows(1);
	char text[64] = "";
	FILE *f = tmpfile();

	fputs("before\n", f);
	assert_int_equal(attar_renderer_new("csv", f, &plain, &renderer), 0);
	assert_int_equal(attar_renderer_draw(renderer, report), 0);
	fputs("behind\n", f);
	rewind(f);
	assert_int_equal(fread(text, 1, sizeof(text), f), 24);
	assert_string_equal(text, "before\ntime,n\n,0\nbehind\n");
	attar_renderer_free(renderer);
	attar_report_free(report);
	fclose(f);
}

static void column_after_row(struct attar_section *t)
{
	attar_section_row(t);
	attar_section_column(t, "late", ATTAR_UNIT_COUNT);
}

static void cell_too_many(struct attar_section *t)
{
	attar_section_row(t);
	attar_cell_u64(t, 1);
	attar_cell_u64(t, 2);
}

static void cell_without_row(struct attar_section *t)
{
	attar_cell_u64(t, 1);
}

static void value_without_row(struct attar_section *t)
{
	attar_row_value(t, "v", false);
}

static void value_without_name(struct attar_section *t)
{
	attar_section_row(t);
	attar_row_value_u64(t, 1);
}

static void two_values_of_one_name(struct attar_section *t)
{
	attar_section_row(t);
	attar_row_value(t, "v", false);
	attar_row_value_u64(t, 1);
	attar_row_value_u64(t, 2);
}

static void detail_without_row(struct attar_section *t)
{
	attar_row_detail(t, "line");
}

static void node_of_a_table(struct attar_section *t)
{
	attar_tree_node(t, ATTAR_TREE_ROOT, ATTAR_FRAME_USER, "main", NULL, 1);
}

static void task_without_node(struct attar_section *t)
{
	attar_tree_task(t, 0, 1, 1);
}

static const struct {
	void (*misuse)(struct attar_section *t);
	const char *sentence;
} misuses[] = {
	{column_after_row, "a column was added after the first row"},
	{cell_too_many, "a cell was added after the last column"},
	{cell_without_row, "a cell was added after the last column"},
	{value_without_row, "a value was added before the first row"},
	{value_without_name, "a value was given without a name"},
	{two_values_of_one_name, "a value was given without a name"},
	{detail_without_row, "a detail line was added before the first row"},
	{node_of_a_table, "a tree node was added before its parent"},
	{task_without_node, "a task was set for a tree node that does not exist"},
};

/* Calls in the wrong order are reported, and the report is not drawn partially. */
static void test_misuse_is_reported(void **state)
{
	for (size_t i = 0; i < sizeof(misuses) / sizeof(*misuses); i++) {
		struct attar_renderer *renderer = NULL;
		struct attar_report *report = rows(1);
		struct attar_section *t = attar_report_table(report, "t");
		char sentence[200];

		attar_section_column(t, "n", ATTAR_UNIT_COUNT);
		misuses[i].misuse(t);
		attar_cell_text(attar_report_table(report, "later"), "ignored");
		assert_int_equal(attar_renderer_new("text", stdout, &plain, &renderer), 0);
		assert_int_equal(attar_renderer_draw(renderer, report), -EINVAL);
		snprintf(sentence, sizeof(sentence), "the report is incomplete: %s",
			misuses[i].sentence);
		assert_string_equal(attar_error(), sentence);
		attar_renderer_free(renderer);
		attar_report_free(report);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sink_of_a_file_name),
		cmocka_unit_test(test_sinks_draw_what_they_declare),
		cmocka_unit_test(test_capabilities),
		cmocka_unit_test(test_unknown_format),
		cmocka_unit_test(test_time_line),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_closed_pipe),
		cmocka_unit_test(test_closed_descriptor),
		cmocka_unit_test(test_nonblocking_pipe),
		cmocka_unit_test(test_output_follows_earlier_stdio),
		cmocka_unit_test(test_misuse_is_reported),
	};

	return cmocka_run_group_tests_name("render", tests, NULL, NULL);
}
