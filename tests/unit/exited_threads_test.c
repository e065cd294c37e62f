/* SPDX-License-Identifier: MIT */
/*
 * The counts of threads that were created during a run, from the records of the kernel. Thread 100
 * is watched on two CPUs; threads 201 and up are created by it.
 */
#include "unit.h"

#include <string.h>

#include "perf/counter.h"
#include "perf/target.h"
#include "report/model/model.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/counts/tasks.h"
#include "run/counts/threads.h"
#include "run/parts.h"

enum { CREATOR = 100, EVENT_ID = 10, WATCH_ID = 20 };

struct fixture {
	struct attar_run run;
	struct attar_target target;
	struct attar_counter counter;
	struct counter_fd fds[2];
	struct counted counted;
	struct attar_report *report;
	uint64_t time;    /* of the newest record */
	const char *comm; /* of a thread that exits; NULL: unknown */
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_int_equal(parts_init(&f->run.parts, run_parts), 0);
	for (uint64_t cpu = 0; cpu < 2; cpu++) {
		f->fds[cpu] = (struct counter_fd){
			.fd = -1, .cpu = (int)cpu, .tid = CREATOR, .id = EVENT_ID + cpu};
		map_put(&threads_of(&f->run)->instances, EVENT_ID + cpu, cpu);
		map_put(&task_watch_of(&f->run)->creators, WATCH_ID + cpu, CREATOR);
	}
	map_put(&threads_of(&f->run)->watched, CREATOR, 1);
	f->counter.fds.at = f->fds;
	f->counter.fds.n = 2;
	f->counter.every_cpu = true;
	f->counted.counter = &f->counter;
	f->counted.pub.counter = &f->counter;
	f->counted.pub.n_instances = 2;
	counts_of(&f->run)->list.at = &f->counted;
	counts_of(&f->run)->list.n = 1;
	f->target.cpus.n = 2;
	f->run.target = &f->target;
	threads_of(&f->run)->has_rest = true;
	threads_of(&f->run)->reported = threads_of(&f->run)->each = true;
	f->report = attar_report_new("stat");
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	attar_report_free(f->report);
	threads_done(&f->run);
	map_done(&task_watch_of(&f->run)->creators);
	intern_done(&f->run.texts);
	parts_done(&f->run.parts);
	free(f);
	return 0;
}

static void note_task(struct fixture *f, uint32_t type, uint32_t tid)
{
	struct attar_record record = {.type = type,
		.id = WATCH_ID,
		.time = ++f->time,
		.task = {.pid = CREATOR, .tid = tid}};
	struct attar_process process = {.pid = CREATOR};
	struct attar_thread thread = {.tid = (pid_t)tid, .process = &process, .comm = f->comm};
	struct attar_event event = {.record = &record, .thread = f->comm ? &thread : NULL};

	assert_int_equal(threads_note_task(&f->run, &event), 0);
}

static void create_thread(struct fixture *f, uint32_t tid)
{
	note_task(f, PERF_RECORD_FORK, tid);
}

static void exit_thread(struct fixture *f, uint32_t tid)
{
	note_task(f, PERF_RECORD_EXIT, tid);
}

/* The kernel reports what the thread counted on the CPU. */
static void report_count(struct fixture *f, uint32_t tid, unsigned cpu, uint64_t count)
{
	const uint64_t words[] = {count, 1000, 1000, EVENT_ID + cpu};
	struct attar_record record = {
		.type = PERF_RECORD_READ, .id = EVENT_ID + cpu, .time = ++f->time};
	struct attar_event event = {.record = &record};

	record.read.tid = tid;
	record.read.values = (struct attar_read){.nr = 1,
		.format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			  PERF_FORMAT_ID,
		.words = words};
	assert_int_equal(threads_take_count(&f->run, &event), 0);
}

/* All records so far are known. */
static void know(struct fixture *f)
{
	assert_int_equal(threads_know(&f->run, f->time), 0);
}

/* The remarks of the report, one per line; valid until the next call. */
static const char *remarks(struct fixture *f)
{
	static char text[4096];

	text[0] = '\0';
	know(f);
	assert_int_equal(threads_settle(&f->run), 0);
	threads_remark(&f->run, f->report);
	vec_each (&f->report->remarks, id)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n",
			report_text(f->report, *id));
	return text;
}

struct row {
	uint32_t tid;
	const char *comm;
	uint64_t value;
	enum attar_quality quality;
};

static void assert_rows(struct fixture *f, const struct row *rows, size_t n)
{
	struct count_table table = {.n_events = 1};

	know(f);
	assert_int_equal(thread_counts_fill(&f->run, &table), 0);
	assert_int_equal(table.keys.n, n);
	for (size_t i = 0; i < n; i++) {
		const struct attar_value *v = &table.keys.at[i].counts[0].sum;
		const char *comm;

		assert_int_equal(
			thread_counts_name(&f->run, table.keys.at[i].number, &comm), rows[i].tid);
		assert_string_equal(comm, rows[i].comm);
		assert_int_equal(v->value, rows[i].value);
		assert_int_equal(v->quality, rows[i].quality);
	}
	count_table_done(&table);
}

static void assert_row(struct fixture *f, uint64_t value, enum attar_quality quality)
{
	assert_rows(f, &(struct row){201, "", value, quality}, 1);
}

static void test_complete_counts_have_no_remark(void **state)
{
	struct fixture *f = *state;

	create_thread(f, 201);
	exit_thread(f, 201);
	report_count(f, 201, 0, 3);
	report_count(f, 201, 1, 4);
	assert_string_equal(remarks(f), "");
	assert_false(run_is_mixed(&f->run, CREATOR));
	assert_row(f, 7, ATTAR_QUALITY_EXACT);
}

/* The clock may have the same time for the exit of the thread and its count. */
static void test_count_at_the_time_of_the_exit(void **state)
{
	struct fixture *f = *state;

	f->comm = "worker";
	create_thread(f, 201);
	exit_thread(f, 201);
	f->time--;
	report_count(f, 201, 0, 3);
	report_count(f, 201, 1, 4);
	assert_rows(f, &(struct row){201, "worker", 7, ATTAR_QUALITY_EXACT}, 1);
}

static void test_a_missing_part_is_remarked(void **state)
{
	struct fixture *f = *state;

	create_thread(f, 201);
	exit_thread(f, 201);
	report_count(f, 201, 0, 3);
	assert_string_equal(remarks(f),
		"1 exited thread has only part of its own counts: the kernel did not report the "
		"rest, as can happen when threads exit on several CPUs at the same time; it is in "
		"the row '[unassigned]'\n");
	assert_true(run_is_mixed(&f->run, CREATOR));
	assert_row(f, 3, ATTAR_QUALITY_PARTIAL);
}

static void test_missing_parts_of_threads_are_counted_together(void **state)
{
	struct fixture *f = *state;

	for (uint32_t tid = 201; tid < 204; tid++) {
		create_thread(f, tid);
		exit_thread(f, tid);
		report_count(f, tid, tid % 2, 3);
	}
	assert_memory_equal(remarks(f), "3 exited threads have only part of their own counts: ",
		strlen("3 exited threads have only part of their own counts: "));
}

static void test_missing_counts_are_remarked(void **state)
{
	struct fixture *f = *state;

	create_thread(f, 201);
	exit_thread(f, 201);
	assert_string_equal(remarks(f),
		"1 exited thread has no counts of its own: this kernel does not report them (a bug "
		"of many kernels from 5.13 to 6.19); they are in the row '[unassigned]'\n");
	assert_true(run_is_mixed(&f->run, CREATOR));
}

static void test_running_threads_are_remarked(void **state)
{
	struct fixture *f = *state;

	create_thread(f, 201);
	create_thread(f, 202);
	assert_string_equal(remarks(f),
		"2 threads that were created during the run are still running: their counts are in "
		"the row '[unassigned]'\n");
	assert_true(run_is_mixed(&f->run, CREATOR));
}

static void live(struct fixture *f, uint32_t tid, const char *comm)
{
	create_thread(f, tid);
	f->comm = comm;
	exit_thread(f, tid);
	f->comm = NULL;
}

static void test_threads_with_the_same_tid_are_two_rows(void **state)
{
	struct fixture *f = *state;

	live(f, 201, "first");
	report_count(f, 201, 0, 3);
	report_count(f, 201, 1, 4);
	live(f, 201, "second");
	report_count(f, 201, 0, 50);
	report_count(f, 201, 1, 60);
	assert_string_equal(remarks(f), "");
	assert_rows(f,
		(struct row[]){{201, "first", 7, ATTAR_QUALITY_EXACT},
			{201, "second", 110, ATTAR_QUALITY_EXACT}},
		2);
}

/* Rings are read one after the other: here, all READ records come last, in any order. */
static void test_counts_belong_to_the_thread_of_their_time(void **state)
{
	struct fixture *f = *state;

	live(f, 201, "first");
	f->time = 10;
	live(f, 201, "second");
	f->time = 20;
	report_count(f, 201, 0, 50);
	f->time = 3;
	report_count(f, 201, 0, 3);
	report_count(f, 201, 1, 4);
	f->time = 21;
	report_count(f, 201, 1, 60);
	assert_string_equal(remarks(f), "");
	assert_rows(f,
		(struct row[]){{201, "first", 7, ATTAR_QUALITY_EXACT},
			{201, "second", 110, ATTAR_QUALITY_EXACT}},
		2);
}

/* Likewise, if they are read first. */
static void test_counts_wait_for_earlier_exits(void **state)
{
	struct fixture *f = *state;

	f->time = 5;
	report_count(f, 201, 0, 3);
	report_count(f, 201, 1, 4);
	f->time = 15;
	report_count(f, 201, 0, 50);
	report_count(f, 201, 1, 60);
	f->time = 1;
	live(f, 201, "first");
	assert_int_equal(threads_know(&f->run, 9), 0);
	f->time = 10;
	live(f, 201, "second");
	f->time = 20;
	assert_rows(f,
		(struct row[]){{201, "first", 7, ATTAR_QUALITY_EXACT},
			{201, "second", 110, ATTAR_QUALITY_EXACT}},
		2);
}

/* A thread that was watched from the start, and one with its tid that another thread created. */
static void test_a_watched_tid_that_is_used_again(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(map_put(&threads_of(&f->run)->watched, 201, 1), 0);
	exit_thread(f, 201);
	live(f, 201, "second");
	report_count(f, 201, 0, 50);
	report_count(f, 201, 1, 60);
	create_thread(f, 201);
	assert_rows(f, &(struct row){201, "second", 110, ATTAR_QUALITY_EXACT}, 1);
	assert_memory_equal(remarks(f), "1 thread that was created", 25);
}

static void test_remarks_name_no_row_that_does_not_exist(void **state)
{
	struct fixture *f = *state;

	threads_of(&f->run)->has_rest = false;
	create_thread(f, 201);
	exit_thread(f, 201);
	create_thread(f, 202);
	assert_string_equal(remarks(f),
		"1 exited thread has no counts of its own: this kernel does not report them (a bug "
		"of many kernels from 5.13 to 6.19); they are 0\n"
		"1 thread that was created during the run is still running: its counts are 0\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_complete_counts_have_no_remark, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_count_at_the_time_of_the_exit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_missing_part_is_remarked, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_missing_parts_of_threads_are_counted_together, setup, teardown),
		cmocka_unit_test_setup_teardown(test_missing_counts_are_remarked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_running_threads_are_remarked, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_threads_with_the_same_tid_are_two_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_counts_belong_to_the_thread_of_their_time, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_counts_wait_for_earlier_exits, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_a_watched_tid_that_is_used_again, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_remarks_name_no_row_that_does_not_exist, setup, teardown),
	};

	return cmocka_run_group_tests_name("exited_threads", tests, NULL, NULL);
}
