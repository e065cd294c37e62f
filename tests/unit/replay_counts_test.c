/* SPDX-License-Identifier: MIT */
/* Counts in the READ records of a pipe, also of ids that it tells late. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "attar/run.h"
#include "base/base.h"
#include "base/file.h"
#include "perfdata/writer.h"

enum {
	FIRST_ID = 11,
	LATE_ID = 12,
	TYPE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	VALUES = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID,
};

static int open_counting(struct attar_run *run, void *self)
{
	return attar_run_count(run, "page-faults");
}

static int report_nothing(
	struct attar_run *run, void *self, struct attar_report *out, enum attar_scope scope)
{
	return 0;
}

static const struct attar_profiler counting = {
	.name = "counting",
	.group = "Tests",
	.summary = "count events",
	.uses = ATTAR_USES_INPUT,
	.self_size = 1,
	.options = (const struct attar_option[]){{0}},
	.examples = (const struct attar_example[]){{0}},
	.open = open_counting,
	.report = report_nothing,
};

/* PERF_RECORD_READ with VALUES, and what TYPE adds to it. */
struct read_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t value, enabled, running, value_id;
	uint32_t also_pid, also_tid;
	uint64_t time, id;
};

static void write_part(struct recording_writer *w, uint64_t id, uint32_t tid, uint64_t value,
	uint64_t running, uint64_t time)
{
	const struct read_record record = {
		.header = {.type = PERF_RECORD_READ, .size = sizeof(record)},
		.pid = 7,
		.tid = tid,
		.value = value,
		.enabled = running,
		.running = running,
		.value_id = id,
		.also_pid = 7,
		.also_tid = tid,
		.time = time,
		.id = id};

	assert_int_equal(recording_writer_write(w, &record, sizeof(record)), 0);
	assert_int_equal(recording_writer_round(w), 0);
}

static void write_read(
	struct recording_writer *w, uint64_t id, uint32_t tid, uint64_t value, uint64_t time)
{
	write_part(w, id, tid, value, 1000, time);
}

static void to_file(void *ctx, const void *bytes, size_t n)
{
	assert_int_equal(file_write_all(*(int *)ctx, bytes, n), 0);
}

static void add_event(struct recording_writer *w, const char *name, uint64_t config,
	const uint64_t *ids, size_t n_ids)
{
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_type = TYPE,
		.read_format = VALUES,
		.disabled = 1,
		.enable_on_exec = 1,
		.inherit = 1,
		.inherit_stat = 1,
		.sample_id_all = 1};
	const struct recording_writer_event event = {
		.name = name, .attr = &attr, .ids = ids, .n_ids = n_ids};

	assert_int_equal(recording_writer_add_event(w, &event), 0);
}

static struct recording_writer *open_writer(int *fd)
{
	const struct recording_writer_opts opts = {
		.sink = to_file, .ctx = fd, .path = "test", .clockid = CLOCK_MONOTONIC};
	struct recording_writer *w;

	assert_int_equal(recording_writer_open(&opts, &w), 0);
	return w;
}

static struct recording_writer *begin(int *fd)
{
	static const uint64_t id = FIRST_ID;
	struct recording_writer *w = open_writer(fd);

	add_event(w, "page-faults", PERF_COUNT_SW_PAGE_FAULTS, &id, 1);
	assert_int_equal(recording_writer_begin(w), 0);
	return w;
}

static struct attar_run *run_on(const struct attar_profiler *profiler, int fd)
{
	struct attar_run_hooks hooks = {.size = sizeof(hooks)};
	struct attar_run *run;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(attar_run_from(profiler, &run), 0);
	assert_int_equal(attar_run_set(run, "input", path), 0);
	if (attar_run_start(run, &hooks) < 0)
		fail_msg("%s", attar_error());
	while ((r = attar_run_step(run, 0)) > 0)
		;
	if (r < 0)
		fail_msg("%s", attar_error());
	return run;
}

static uint64_t count_of(const struct attar_run_counter *counter, pid_t tid)
{
	for (size_t i = 0; i < counter->n_instances; i++)
		if (attar_counter_instance_at(counter->counter, i).tid == tid)
			return counter->values[i].raw;
	return 0;
}

/*
 * An event that was opened on each CPU has a part of a thread's count for each, and one of them
 * came online when the header had been written.
 */
static void test_a_late_cpu(void **state)
{
	const struct attar_run_counter *counter;
	struct recording_writer *w;
	struct attar_report *report;
	struct attar_run *run;
	int fd = memfd_create("pipe", MFD_CLOEXEC);

	assert_true(fd >= 0);
	w = begin(&fd);
	write_read(w, FIRST_ID, 8, 100, 1000);
	assert_int_equal(recording_writer_add_id(w, 0, LATE_ID), 0);
	write_read(w, LATE_ID, 8, 7, 2000);
	write_read(w, LATE_ID, 9, 30, 3000);
	assert_int_equal(recording_writer_close(w), 0);
	run = run_on(&counting, fd);
	assert_int_equal(attar_run_report(run, ATTAR_SCOPE_WHOLE, &report), 0);
	counter = attar_run_get_counter(run, 0);
	assert_int_equal(counter->n_instances, 2);
	assert_int_equal(count_of(counter, 8), 107);
	assert_int_equal(count_of(counter, 9), 30);
	attar_report_free(report);
	attar_run_free(run);
	close(fd);
}

static int open_recorded(struct attar_run *run, void *self)
{
	return attar_run_count(run, NULL);
}

/* NULL is all that a recording has counts of; a live system has too many events. */
static void test_all_events(void **state)
{
	struct attar_run_hooks hooks = {.size = sizeof(hooks)};
	struct attar_profiler profiler = counting;
	struct recording_writer *w;
	struct attar_run *run;
	int fd = memfd_create("pipe", MFD_CLOEXEC);

	assert_true(fd >= 0);
	w = begin(&fd);
	write_read(w, FIRST_ID, 8, 100, 1000);
	assert_int_equal(recording_writer_close(w), 0);
	profiler.open = open_recorded;
	run = run_on(&profiler, fd);
	assert_string_equal(attar_run_get_counter(run, 0)->name, "page-faults");
	assert_null(attar_run_get_counter(run, 1));
	attar_run_free(run);
	close(fd);

	assert_int_equal(attar_run_from(&profiler, &run), 0);
	assert_int_equal(attar_run_start(run, &hooks), -EINVAL);
	assert_non_null(strstr(attar_error(), "NULL, for all events, needs a recording"));
	attar_run_free(run);
}

/* Two events on two CPUs; the fork and the end of a thread are not recorded. */
static struct recording_writer *begin_two_events(int *fd)
{
	static const uint64_t faults[] = {21, 22}, switches[] = {31, 32};
	struct recording_writer *w = open_writer(fd);

	add_event(w, "page-faults", PERF_COUNT_SW_PAGE_FAULTS, faults, 2);
	add_event(w, "context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, switches, 2);
	assert_int_equal(recording_writer_begin(w), 0);
	return w;
}

static void assert_count(const struct attar_run *run, size_t event, pid_t tid, uint64_t raw,
	enum attar_quality quality)
{
	const struct attar_run_counter *counter = attar_run_get_counter(run, event);

	for (size_t i = 0; i < counter->n_instances; i++)
		if (attar_counter_instance_at(counter->counter, i).tid == tid) {
			assert_int_equal(counter->values[i].raw, raw);
			assert_int_equal(counter->values[i].quality, quality);
			return;
		}
	fail();
}

/* Thread 8 ran 600 ns on one CPU and 400 ns on the other; of thread 9, the events disagree. */
static void write_mixed_counts(struct recording_writer *w)
{
	write_part(w, 21, 8, 50, 600, 1000);
	write_part(w, 31, 8, 3, 600, 1001);
	write_part(w, 22, 8, 60, 400, 1002);
	write_part(w, 32, 8, 4, 400, 1003);
	write_part(w, 21, 9, 70, 700, 2000);
	write_part(w, 31, 9, 5, 100, 2001);
	write_part(w, 22, 9, 80, 0, 2002);
	write_part(w, 32, 9, 900000, 600, 2003);
}

/* With several events, the kernel exchanges counts of different events. */
static void test_mixed_counts(void **state)
{
	struct attar_profiler profiler = counting;
	struct recording_writer *w;
	struct attar_report *report;
	struct attar_run *run;
	int fd = memfd_create("pipe", MFD_CLOEXEC);

	assert_true(fd >= 0);
	w = begin_two_events(&fd);
	write_mixed_counts(w);
	assert_int_equal(recording_writer_close(w), 0);
	profiler.open = open_recorded;
	run = run_on(&profiler, fd);
	assert_int_equal(attar_run_report(run, ATTAR_SCOPE_WHOLE, &report), 0);
	assert_count(run, 0, 8, 110, ATTAR_QUALITY_EXACT);
	assert_count(run, 1, 8, 7, ATTAR_QUALITY_EXACT);
	assert_count(run, 0, 9, 0, ATTAR_QUALITY_ERROR);
	assert_count(run, 1, 9, 0, ATTAR_QUALITY_ERROR);
	attar_report_free(report);
	attar_run_free(run);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_late_cpu),
		cmocka_unit_test(test_all_events),
		cmocka_unit_test(test_mixed_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
