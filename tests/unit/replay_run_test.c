/* SPDX-License-Identifier: MIT */
/* A run on a recording that the caller drives: its descriptor, requested reports, its times. */
#include "unit.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attar/builtin.h"
#include "attar/run.h"
#include "base/buf.h"
#include "base/file.h"

enum { ROUNDS = 40, REPORTS_MAX = 8 };

static unsigned events; /* that were delivered to the profiler */

/* What the run has reported. */
struct reports {
	unsigned n;
	uint64_t lengths[REPORTS_MAX]; /* ns */
	char markers[REPORTS_MAX][64];
};

static int count(struct attar_run *run, void *self, const struct attar_event *event)
{
	events++;
	return 0;
}

static int open_counting(struct attar_run *run, void *self)
{
	return attar_run_events(run, "a:b", false, count);
}

static int report_counting(
	struct attar_run *run, void *self, struct attar_report *out, enum attar_scope scope)
{
	return 0;
}

static const struct attar_profiler counting = {
	.name = "counting",
	.group = "Tests",
	.summary = "count events",
	.uses = ATTAR_USES_RINGS,
	.self_size = 1,
	.options = (const struct attar_option[]){{0}},
	.examples = (const struct attar_example[]){{0}},
	.open = open_counting,
	.report = report_counting,
};

static int take_report(void *ctx, const struct attar_report *report, enum attar_scope scope)
{
	struct reports *reports = ctx;
	const char *remark;

	assert_true(reports->n < REPORTS_MAX);
	attar_report_get_interval(report, NULL, &reports->lengths[reports->n]);
	for (size_t i = 0; (remark = attar_report_get_remark(report, i)); i++)
		if (!strncmp(remark, "marker", 6))
			snprintf(reports->markers[reports->n], sizeof(reports->markers[0]), "%s",
				remark);
	reports->n++;
	return 0;
}

/* A started run on a script. */
static struct attar_run *start(const char *script, struct reports *reports, int *ret_fd)
{
	struct attar_run_hooks hooks = {
		.size = sizeof(hooks), .ctx = reports, .report = take_report};
	struct attar_run *run;
	char path[64];

	*ret_fd = memfd_create("script", MFD_CLOEXEC);
	assert_true(*ret_fd >= 0);
	assert_int_equal(file_write_all(*ret_fd, script, strlen(script)), 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", *ret_fd);
	assert_int_equal(attar_run_from(&counting, &run), 0);
	assert_int_equal(attar_run_set(run, "input", path), 0);
	assert_int_equal(attar_run_start(run, &hooks), 0);
	events = 0;
	return run;
}

/* An event each second; a round each. */
static char *script_of(unsigned n)
{
	struct buf text = {0};

	buf_str(&text, "# attar script\nevent a:b n:u8\n");
	for (unsigned i = 0; i < n; i++)
		buf_printf(&text, "%u 0 1/1 x a:b n=1\nround\n", i + 100);
	return buf_take(&text);
}

static bool is_readable(struct attar_run *run)
{
	struct pollfd fd = {.fd = attar_run_fd(run), .events = POLLIN};

	return poll(&fd, 1, 0) == 1;
}

static void test_the_descriptor_of_a_file_is_always_readable(void **state)
{
	struct reports reports = {0};
	char *script = script_of(ROUNDS);
	int fd;
	struct attar_run *run = start(script, &reports, &fd);
	unsigned steps = 0;

	/* the timer of the descriptor needs a moment at first, but not 100 ms */
	while (!is_readable(run))
		;
	do {
		assert_true(is_readable(run));
		steps++;
	} while (attar_run_step(run, 0) > 0);
	assert_true(steps >= ROUNDS);
	assert_int_equal(events, ROUNDS);
	attar_run_free(run);
	close(fd);
	free(script);
}

/* Steps until this many events were delivered. */
static void step_to(struct attar_run *run, unsigned n)
{
	while (events < n)
		assert_int_equal(attar_run_step(run, 0), 1);
}

static void test_reports_are_made_on_request(void **state)
{
	struct reports reports = {0};
	char *script = script_of(ROUNDS);
	int fd;
	struct attar_run *run = start(script, &reports, &fd);
	unsigned first;

	attar_run_request_report(run);
	assert_int_equal(attar_run_step(run, 0), 1);
	assert_int_equal(reports.n, 1); /* before the first event */
	assert_int_equal(reports.lengths[0], 0);

	step_to(run, 10);
	attar_run_request_report(run);
	assert_int_equal(attar_run_step(run, 0), 1);
	assert_int_equal(reports.n, 2);
	first = events;
	assert_int_equal(reports.lengths[1], (first - 1) * UINT64_C(1000000000));

	step_to(run, 20);
	assert_int_equal(run_mark(run, "half"), 0);
	assert_int_equal(attar_run_step(run, 0), 1);
	assert_int_equal(reports.n, 3);
	assert_int_equal(reports.lengths[2], (events - first) * UINT64_C(1000000000));
	assert_string_equal(reports.markers[2], "marker: half");
	while (attar_run_step(run, 0) > 0)
		;
	assert_int_equal(events, ROUNDS);
	attar_run_free(run);
	close(fd);
	free(script);
}

/* Its report has no length: not the time since 1970 or since the boot. */
static void test_a_recording_without_samples(void **state)
{
	static const char *const scripts[] = {
		"# attar script\nevent a:b n:u8\n",
		"# attar script\nevent a:b n:u8\n5000 0 1/1 x exit\n",
	};

	for (size_t i = 0; i < 2; i++) {
		struct reports reports = {0};
		struct attar_report *report;
		uint64_t length = 1;
		int fd, r;
		struct attar_run *run = start(scripts[i], &reports, &fd);

		while ((r = attar_run_step(run, 0)) > 0)
			;
		assert_int_equal(r, 0);
		assert_true(attar_run_ended(run));
		assert_int_equal(run_elapsed(run), 0);
		assert_int_equal(attar_run_report(run, ATTAR_SCOPE_WHOLE, &report), 0);
		attar_report_get_interval(report, NULL, &length);
		assert_int_equal(length, 0);
		attar_report_free(report);
		attar_run_free(run);
		close(fd);
	}
}

static void test_invalid_arguments_are_refused(void **state)
{
	static const struct attar_profiler nameless = {
		.name = "", .open = open_counting, .report = report_counting};
	struct reports reports = {0};
	char *script = script_of(1);
	struct attar_report *report;
	int fd;
	struct attar_run *other, *run = start(script, &reports, &fd);

	assert_int_equal(attar_run_report(run, (enum attar_scope)99, &report), -EINVAL);
	assert_non_null(strstr(attar_error(), "scope is 99"));
	assert_int_equal(attar_run_from(&nameless, &other), -EINVAL);
	assert_non_null(strstr(attar_error(), "name is empty"));
	assert_int_equal(attar_run_from(&counting, &other), 0);
	assert_int_equal(attar_run_step(other, 0), -EINVAL);
	assert_string_equal(attar_error_fix(), "call attar_run_start() first");
	attar_run_free(other);
	attar_run_free(run);
	close(fd);
	free(script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_descriptor_of_a_file_is_always_readable),
		cmocka_unit_test(test_reports_are_made_on_request),
		cmocka_unit_test(test_a_recording_without_samples),
		cmocka_unit_test(test_invalid_arguments_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
