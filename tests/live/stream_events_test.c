/* SPDX-License-Identifier: MIT */
/* Streams of events that are opened by name: attar_stream_events(). */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attar/stream.h"
#include "base/base.h"
#include "stream/stream.h"

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

/* The kernel writes each call once, and each source filters it. */
static void test_one_counter_for_the_same_tracepoint(void **state)
{
	struct attar_target *target = self();
	struct attar_stream *stream = stream_of(target,
		with_number("raw_syscalls:sys_enter/id * 2 == %d * 2/,raw_syscalls:sys_enter/"
			    "id * 2 == 1/,raw_syscalls:sys_enter/id * 2 != %d * 2 + 1/,"
			    "raw_syscalls:sys_exit"),
		ATTAR_STREAM_KEEP_OWN);
	struct counts counts;

	assert_int_equal(stream->n_counters, 3); /* with the counter of side-band records */
	live_getppid(CALLS);
	counts = drain(stream);
	assert_int_equal(counts.samples[0], CALLS);
	assert_int_equal(counts.samples[1], 0);
	assert_true(counts.samples[2] >= CALLS);
	assert_true(counts.samples[3] >= CALLS); /* it has the second counter */
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

enum { PAGES_USER = 300, PAGES_KERNEL = 200, PAGE_BYTES = 4096 };

/* Faults on the pages of an area, of the event with each number, in user code and in the kernel. */
struct faults {
	const char *area;
	uint64_t user[EVENTS_MAX], kernel[EVENTS_MAX];
};

static void count_fault(struct faults *faults, const struct attar_event *ev)
{
	const size_t size = (PAGES_USER + PAGES_KERNEL) * PAGE_BYTES;
	unsigned mode;

	if (ev->record->type != PERF_RECORD_SAMPLE ||
		ev->record->sample.addr - (uintptr_t)faults->area >= size)
		return;
	assert_in_range(ev->counter, 0, EVENTS_MAX - 1);
	mode = ev->record->misc & PERF_RECORD_MISC_CPUMODE_MASK;
	(mode == PERF_RECORD_MISC_USER ? faults->user : faults->kernel)[ev->counter]++;
}

/* The first pages are written by this program, the others by the kernel, in read(2). */
static struct faults faults_of(const char *events)
{
	const size_t first = PAGES_USER * (size_t)PAGE_BYTES;
	const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *area = live_map(PAGES_USER + PAGES_KERNEL);
	struct attar_target *target = self();
	struct attar_stream *stream = stream_of(target, events, ATTAR_STREAM_KEEP_OWN);
	struct faults faults = {.area = area};
	struct attar_stream_stats stats;
	struct attar_event ev;

	if (sysconf(_SC_PAGESIZE) != PAGE_BYTES)
		live_skip("needs pages of 4 KiB");
	live_touch(area, 0, PAGES_USER);
	assert_int_equal(read(zeros, area + first, PAGES_KERNEL * (size_t)PAGE_BYTES),
		PAGES_KERNEL * PAGE_BYTES);
	assert_int_equal(attar_stream_stop(stream), 0);
	while (attar_stream_next(stream, &ev) > 0)
		count_fault(&faults, &ev);
	attar_stream_get_stats(stream, &stats);
	assert_int_equal(stats.missing, 0);
	assert_int_equal(stats.malformed, 0);
	attar_stream_free(stream);
	attar_target_free(target);
	live_unmap(area, PAGES_USER + PAGES_KERNEL);
	close(zeros);
	return faults;
}

/* Each event has the faults in its modes; the kernel gives samples of some the id of others. */
static void test_a_software_event_in_several_modes(void **state)
{
	static const char *const texts[] = {"page-faults:u,page-faults:k",
		"page-faults,page-faults:u,page-faults:k", "page-faults:k,page-faults",
		"page-faults,page-faults:u,page-faults", "page-faults:u,cpu-clock,page-faults:u",
		"minor-faults,page-faults,page-faults:u"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct faults faults = faults_of(texts[i]);
		char text[128], *at = text, *event;

		snprintf(text, sizeof(text), "%s", texts[i]);
		for (size_t n = 0; (event = strsep(&at, ",")); n++) {
			const bool is_clock = !strcmp(event, "cpu-clock");
			const char *modes = strchr(event, ':') ?: "uk";
			uint64_t user = strchr(modes, 'u') && !is_clock ? PAGES_USER : 0;
			uint64_t kernel = strchr(modes, 'k') && !is_clock ? PAGES_KERNEL : 0;

			if (faults.user[n] != user || faults.kernel[n] != kernel)
				fail_msg("%s, event %zu: %u in user code, %u in the kernel",
					texts[i], n, (unsigned)faults.user[n],
					(unsigned)faults.kernel[n]);
		}
	}
}

static void count_warning(void *ctx, enum attar_level level, const char *message)
{
	*(unsigned *)ctx += strstr(message, "sample the same software event") != NULL;
}

/* Events with different periods or contents have separate counters. */
static void test_software_events_that_cannot_be_opened_once(void **state)
{
	static const struct {
		const char *events;
		unsigned warnings;
	} rows[] = {{"page-faults,page-faults/period=10/", 1},
		{"page-faults,page-faults//stack/", 1},
		{"page-faults,page-faults:u,page-faults:u/period=10/", 2},
		{"page-faults,page-faults:u", 0}, {"page-faults:u,page-faults:k/period=10/", 0},
		{"page-faults,minor-faults/period=10/", 0}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct attar_target *target = self();
		unsigned warnings = 0;

		attar_log_set(count_warning, &warnings);
		attar_stream_free(stream_of(target, rows[i].events, 0));
		attar_log_set(NULL, NULL);
		attar_target_free(target);
		if (warnings != rows[i].warnings)
			fail_msg("%s: %u warnings", rows[i].events, warnings);
	}
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
		cmocka_unit_test(test_one_counter_for_the_same_tracepoint),
		cmocka_unit_test(test_own_events_are_not_delivered_by_default),
		cmocka_unit_test(test_stacks_of_some_and_of_all),
		cmocka_unit_test(test_periods),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_specs),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_callers_catalog_and_symbols),
		cmocka_unit_test(test_a_software_event_in_several_modes),
		cmocka_unit_test(test_software_events_that_cannot_be_opened_once),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_unknown_flags_and_options),
	};

	return cmocka_run_group_tests_name("stream_events", tests, NULL, NULL);
}
