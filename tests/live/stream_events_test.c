/* SPDX-License-Identifier: MIT */
/* Streams of events that are opened by name: attar_stream_events(). */
#include "live.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/stream.h"

enum { EVENTS_MAX = 8, CALLS = 23 };

struct counts {
	uint64_t samples[EVENTS_MAX], stacks[EVENTS_MAX], frames[EVENTS_MAX];
};

static struct attar_target *self(void)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	struct attar_target *target;

	attar_target_free(live_self());
	assert_int_equal(attar_target_new(&opts, &target), 0);
	return target;
}

static struct attar_stream *stream_of(
	struct attar_target *target, const char *events, unsigned flags)
{
	struct attar_stream *stream;

	if (attar_stream_events(target, events, flags, NULL, &stream) == 0)
		return stream;
	if (attar_stream_events(target, "raw_syscalls:sys_enter", 0, NULL, &stream) == 0)
		fail_msg("%s", attar_error());
	live_skip(attar_error());
	return NULL;
}

static void count_one(struct counts *counts, const struct attar_event *ev)
{
	if (ev->record->type != PERF_RECORD_SAMPLE)
		return;
	assert_in_range(ev->counter, 0, EVENTS_MAX - 1);
	counts->samples[ev->counter]++;
	counts->stacks[ev->counter] += ev->record->sample.callchain != NULL;
	if (ev->record->sample.callchain_nr > counts->frames[ev->counter])
		counts->frames[ev->counter] = ev->record->sample.callchain_nr;
}

/* Stops the stream and counts the rest. */
static struct counts drain(struct attar_stream *stream)
{
	struct counts counts = {0};
	struct attar_event ev;

	assert_int_equal(attar_stream_stop(stream), 0);
	while (attar_stream_next(stream, &ev) > 0)
		count_one(&counts, &ev);
	return counts;
}

/* Writes "FORMAT", in which %d is the number of getppid(2), to a static buffer. */
static const char *with_number(const char *format)
{
	static char text[512];

	snprintf(text, sizeof(text), format, (int)SYS_getppid, (int)SYS_getppid);
	return text;
}

static struct counts counts_of(const char *events, unsigned flags)
{
	struct attar_target *target = self();
	struct attar_stream *stream = stream_of(target, events, flags);
	struct counts counts;

	live_getppid(CALLS);
	counts = drain(stream);
	attar_stream_free(stream);
	attar_target_free(target);
	return counts;
}

static void test_filter_in_the_kernel_and_in_attar(void **state)
{
	struct counts counts = counts_of(with_number("raw_syscalls:sys_enter/id == %d/,"
						     "raw_syscalls:sys_enter/id * 2 == %d * 2/"),
		ATTAR_STREAM_KEEP_OWN);

	assert_int_equal(counts.samples[0], CALLS);
	assert_int_equal(counts.samples[1], CALLS);
}

static void test_filtered_samples_are_not_delivered(void **state)
{
	struct attar_target *target = self();
	struct attar_stream *stream = stream_of(target,
		with_number("raw_syscalls:sys_enter/id * 2 == %d * 2/"), ATTAR_STREAM_KEEP_OWN);
	struct attar_stream_stats stats;

	live_getppid(CALLS);
	drain(stream);
	attar_stream_get_stats(stream, &stats);
	assert_int_equal(stats.samples, CALLS);
	assert_int_equal(stats.missing, 0);
	attar_stream_free(stream);
	attar_target_free(target);
}

static void test_own_events_are_not_delivered_by_default(void **state)
{
	assert_int_equal(counts_of("raw_syscalls:sys_enter", 0).samples[0], 0);
}

static void test_stacks_of_some_and_of_all(void **state)
{
	const char *events = with_number("raw_syscalls:sys_enter/id == %d/max-stack=3/,"
					 "raw_syscalls:sys_enter/id == %d/");
	struct counts counts = counts_of(events, ATTAR_STREAM_KEEP_OWN);

	assert_int_equal(counts.stacks[0], CALLS);
	assert_in_range(counts.frames[0], 1, 5); /* with the markers of kernel and user */
	assert_int_equal(counts.stacks[1], 0);
	counts = counts_of(events, ATTAR_STREAM_KEEP_OWN | ATTAR_STREAM_STACKS);
	assert_int_equal(counts.stacks[1], CALLS);
}

/* Of each kind: the default, its own, and a frequency. */
static void test_periods(void **state)
{
	static const char *const events = "page-faults,minor-faults/period=10/,cpu-clock";
	struct attar_target *target = self();
	struct attar_stream *stream = stream_of(target, events, ATTAR_STREAM_KEEP_OWN);
	struct counts counts;
	char *area = live_map(1000);

	live_touch(area, 0, 1000);
	counts = drain(stream);
	assert_in_range(counts.samples[0], 1000, 1100);
	assert_in_range(counts.samples[1], 100, 110);
	attar_stream_free(stream);
	attar_target_free(target);
	live_unmap(area, 1000);
}

static void test_cpus(void **state)
{
	cpu_set_t before, first;
	struct counts counts;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	if (!CPU_ISSET(0, &before) || !CPU_ISSET(1, &before))
		live_skip("needs CPUs 0 and 1");
	assert_int_equal(sched_setaffinity(0, sizeof(first), &first), 0);
	counts = counts_of(with_number("raw_syscalls:sys_enter/id == %d/cpus=0/,"
				       "raw_syscalls:sys_enter/id == %d/cpus=1/"),
		ATTAR_STREAM_KEEP_OWN);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(counts.samples[0], CALLS);
	assert_int_equal(counts.samples[1], 0);
}

static void test_specs(void **state)
{
	struct attar_target *target = self();
	struct attar_stream *stream =
		stream_of(target, "page-faults/alias=faults/,sched:sched_wakeup*", 0);
	uint32_t n = 0;

	assert_string_equal(attar_stream_spec(stream, 0)->name, "faults");
	assert_non_null(attar_format_field(attar_stream_spec(stream, 1)->format, "target_cpu"));
	while (attar_stream_spec(stream, n))
		n++;
	assert_int_equal(n, 3); /* sched_wakeup and sched_wakeup_new */
	assert_null(attar_stream_spec(stream, ATTAR_NO_COUNTER));
	assert_non_null(attar_stream_symbols(stream));
	attar_stream_free(stream);
	attar_target_free(target);
}

/* The shell executes one other program, in the same process. */
static void test_command(void **state)
{
	static const char *const command[] = {"sh", "-c", "exec ls / > /dev/null", NULL};
	struct attar_target_opts opts = {
		.size = sizeof(opts), .command = (char *const *)(uintptr_t)command};
	struct counts counts = {0};
	struct attar_target *target;
	struct attar_stream *stream;
	struct attar_event ev;
	int r;

	attar_target_free(live_self());
	assert_int_equal(attar_target_new(&opts, &target), 0);
	stream = stream_of(target, "sched:sched_process_exec", 0);
	assert_int_equal(attar_target_start(target), 0);
	while ((r = attar_stream_read(stream, -1, &ev)) > 0)
		count_one(&counts, &ev);
	assert_int_equal(r, -ENOTCONN);
	assert_int_equal(counts.samples[0], 2);
	assert_int_equal(attar_target_command_status(target), 0);
	attar_stream_free(stream);
	attar_target_free(target);
}

static void test_callers_catalog_and_symbols(void **state)
{
	struct attar_stream_events_opts opts = {.size = sizeof(opts)};
	struct attar_target *target = self();
	struct attar_stream *stream;

	assert_int_equal(attar_catalog_new(NULL, &opts.catalog), 0);
	assert_int_equal(attar_symbols_new(NULL, &opts.symbols), 0);
	assert_int_equal(attar_stream_events(target, "page-faults", 0, &opts, &stream), 0);
	assert_ptr_equal(attar_stream_symbols(stream), opts.symbols);
	attar_stream_free(stream);
	attar_target_free(target);
	attar_symbols_free(opts.symbols);
	attar_catalog_free(opts.catalog);
}

static void expect_refusal(const char *events, int error, const char *words)
{
	struct attar_target *target = self();
	struct attar_stream *stream = NULL;
	int r = attar_stream_events(target, events, 0, NULL, &stream);

	if (r != error || !strstr(attar_error(), words))
		fail_msg("'%s' gives %d: %s", events, r, attar_error());
	assert_null(stream);
	attar_target_free(target);
}

static void test_refusals(void **state)
{
	expect_refusal("", -EINVAL, "");
	expect_refusal("page-fault", -ENOENT, "page-faults");
	expect_refusal("sched:sched_wakeupp", -ENOENT, "did you mean 'sched:sched_wakeup'?");
	expect_refusal("sched:sched_wakeup/prio ==/", -EINVAL, "^");
	expect_refusal("sched:sched_wakeup/prioo == 1/", -EINVAL, "did you mean 'prio'?");
	expect_refusal("sched:sched_wakeup//colour=1/", -EINVAL, "colour");
	expect_refusal("page-faults/cpus=4095/", -EINVAL, "CPUs that are not watched");
}

static void test_unknown_flags_and_options(void **state)
{
	struct {
		struct attar_stream_events_opts known;
		uint64_t newer;
	} opts = {.known.size = sizeof(opts), .newer = 1};
	struct attar_target *target = self();
	struct attar_stream *stream;

	assert_int_equal(attar_stream_events(target, "page-faults", 64, NULL, &stream), -EINVAL);
	assert_int_equal(
		attar_stream_events(target, "page-faults", 0, &opts.known, &stream), -E2BIG);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_in_the_kernel_and_in_attar),
		cmocka_unit_test(test_filtered_samples_are_not_delivered),
		cmocka_unit_test(test_own_events_are_not_delivered_by_default),
		cmocka_unit_test(test_stacks_of_some_and_of_all),
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_specs),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_callers_catalog_and_symbols),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_unknown_flags_and_options),
	};

	return cmocka_run_group_tests_name("stream_events", tests, NULL, NULL);
}
