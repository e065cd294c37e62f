/* SPDX-License-Identifier: MIT */
/*
 * Counters of the running kernel: targets, reading, reset. Software events only, so no PMU is
 * needed.
 */
#include "live.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/private/perf.h"
#include "perf/counter.h"

static struct attar_value read_all(struct attar_counter *counter)
{
	struct attar_value v;

	if (attar_counter_read(counter, &v) < 0)
		fail_msg("%s", attar_error());
	return v;
}

static void test_watches_the_calling_thread_with_one_fd(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_PAGE_FAULTS);
	struct attar_counter_instance place = attar_counter_instance_at(c, 0);
	size_t n;

	assert_int_equal(attar_counter_instances(c), 1);
	assert_int_equal(place.cpu, -1);
	assert_int_equal(place.tid, syscall(SYS_gettid));
	assert_int_not_equal(place.id, 0);
	assert_int_equal(target_cpus(target, &n)[0], -1);
	assert_int_equal(n, 1);
	assert_false(attar_target_ended(target));
	attar_counter_close(c);
	attar_target_free(target);
}

/* Each check is one call of epoll_wait(2): the files of a process in /proc are not read. */
static void test_checks_for_the_end_of_a_process_cheaply(void **state)
{
	struct attar_target *self = live_self(), *target = NULL;
	const struct perf_event_attr calls = live_sys_enter();
	pid_t pid = fork();
	char text[16];
	struct attar_target_opts opts = {.size = sizeof(opts), .pids = text};
	struct attar_counter *c = NULL;

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	snprintf(text, sizeof(text), "%d", pid);
	if (attar_target_new(&opts, &target) < 0 ||
		attar_counter_open(self, &calls, "sys_enter", 0, &c) < 0)
		fail_msg("%s", attar_error());
	assert_int_equal(attar_counter_enable(c), 0);
	for (int i = 0; i < 1000; i++)
		assert_false(attar_target_ended(target));
	assert_int_equal(attar_counter_disable(c), 0);
	assert_int_equal(read_all(c).value, 1000 + 1); /* the call that disables it */
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(attar_target_ended(target));
	assert_true(attar_target_ended(target));
	attar_counter_close(c);
	attar_target_free(target);
	attar_target_free(self);
}

static void test_counts_page_faults_exactly(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_PAGE_FAULTS);
	struct attar_value v = read_all(c);

	assert_int_equal(v.quality, ATTAR_QUALITY_IDLE);
	live_fault(1);
	assert_int_equal(attar_counter_enable(c), 0);
	live_fault(1000);
	assert_int_equal(attar_counter_disable(c), 0);
	live_fault(10);
	v = read_all(c);
	assert_int_equal(v.value, 1000);
	assert_int_equal(v.raw, 1000);
	assert_int_equal(v.quality, ATTAR_QUALITY_EXACT);
	assert_true(v.time_enabled > 0 && v.time_enabled == v.time_running);
	assert_int_equal(v.id, attar_counter_instance_at(c, 0).id);
	attar_counter_close(c);
	attar_target_free(target);
}

static void fault_in_a_child(size_t n)
{
	pid_t pid = fork();

	if (pid == 0) {
		live_fault(n);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* PERF_EVENT_IOC_RESET does not reset the times, nor the counts of exited children. */
static void test_resets_to_zero_with_children_and_times(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS, .inherit = 1};
	struct attar_counter *c;
	struct attar_value v;

	assert_int_equal(attar_counter_open(target, &attr, "page-faults", 0, &c), 0);
	fault_in_a_child(500);
	live_fault(10);
	attar_counter_disable(c);
	assert_true(read_all(c).value >= 510);
	assert_int_equal(attar_counter_reset(c), 0);
	v = read_all(c);
	assert_int_equal(v.value, 0);
	assert_int_equal(v.raw, 0);
	assert_int_equal(v.time_enabled, 0);
	assert_int_equal(v.quality, ATTAR_QUALITY_IDLE);
	attar_counter_enable(c);
	live_fault(100);
	attar_counter_disable(c);
	assert_int_equal(read_all(c).value, 100);
	attar_counter_close(c);
	attar_target_free(target);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

/*
 * A thread on two CPUs: each instance was enabled all the time and ran for a part of it. Nothing is
 * scaled.
 */
static void test_sums_a_thread_over_its_cpus(void **state)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	struct attar_target *target;
	struct attar_counter *c;
	struct attar_value v, first, last;
	cpu_set_t before;
	size_t n;

	attar_target_free(live_self());
	assert_int_equal(attar_target_new(&opts, &target), 0);
	c = live_software(target, PERF_COUNT_SW_PAGE_FAULTS);
	n = attar_counter_instances(c);
	sched_getaffinity(0, sizeof(before), &before);
	if (n < 2 || CPU_COUNT(&before) < 2)
		live_skip("there is only one CPU");
	target_cpus(target, &n);
	live_fault(1);
	stay_on(target_cpus(target, &n)[0]);
	attar_counter_enable(c);
	live_fault(100);
	stay_on(target_cpus(target, &n)[n - 1]);
	live_fault(200);
	attar_counter_disable(c);
	v = read_all(c);
	assert_int_equal(v.value, 300);
	assert_int_equal(v.quality, ATTAR_QUALITY_EXACT);
	assert_int_equal(attar_counter_read_at(c, 0, &first), 0);
	assert_int_equal(attar_counter_read_at(c, n - 1, &last), 0);
	assert_int_equal(first.value, 100);
	assert_int_equal(last.value, 200);
	assert_int_equal(first.quality, ATTAR_QUALITY_EXACT);
	sched_setaffinity(0, sizeof(before), &before);
	attar_counter_close(c);
	attar_target_free(target);
}

/*
 * The kernel returns end of file for a pinned event that lost its counter, and never less than a
 * whole block.
 */
static void test_short_read_is_not_taken_for_a_count(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_PAGE_FAULTS);
	struct attar_value v = {.value = 23, .raw = 23};
	int fd = c->fds.at[0].fd, ends[2];

	c->fds.at[0].fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(attar_counter_read(c, &v), 0);
	assert_int_equal(v.quality, ATTAR_QUALITY_ERROR);
	assert_int_equal(v.value, 0);
	assert_int_equal(v.raw, 0);
	close(c->fds.at[0].fd);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "12345678", 8), 8);
	v.value = 23;
	c->fds.at[0].fd = ends[0];
	assert_int_equal(attar_counter_read(c, &v), -EIO);
	assert_int_equal(v.value, 23);
	assert_non_null(strstr(attar_error(), "software event"));
	close(ends[0]);
	close(ends[1]);
	c->fds.at[0].fd = fd;
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_takes_attributes_of_any_size(void **state)
{
	struct attar_target *target = live_self();
	union {
		struct perf_event_attr attr;
		char bytes[256];
	} a = {.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = 64}};
	struct attar_counter *c;

	assert_int_equal(attar_counter_open(target, &a.attr, "dummy", 0, &c), 0);
	assert_int_equal(attar_counter_attr(c)->size, 64);
	attar_counter_close(c);
	a.attr.size = sizeof(a);
	assert_int_equal(attar_counter_open(target, &a.attr, "dummy", 0, &c), 0);
	attar_counter_close(c);
	a.bytes[200] = 1;
	assert_int_equal(attar_counter_open(target, &a.attr, "dummy", 0, &c), -E2BIG);
	assert_string_equal(attar_error(), "attr.size is 256 and byte 200 is not 0: this version "
					   "of libattar supports 144 bytes");
	a.attr.size = 32;
	assert_int_equal(attar_counter_open(target, &a.attr, "dummy", 0, &c), -EINVAL);
	attar_target_free(target);
}

static void test_refuses_conflicting_target_options(void **state)
{
	static char *const no_command[] = {NULL};
	static const struct {
		struct attar_target_opts opts;
		const char *said;
	} cases[] = {
		{{.self = true, .any_cpu = true, .cpus = "0"}, "mutually exclusive"},
		{{.any_cpu = true}, "requires a process or thread"},
		{{.every_thread = true, .tids = "1"},
			"'every_thread' and 'tids' are mutually exclusive"},
		{{.self = true, .pids = "1"}, "'self' and 'pids' are mutually exclusive"},
		{{.self = true, .tids = "1"}, "'self' and 'tids' are mutually exclusive"},
		{{.self = true, .cgroups = "*"}, "'self' and 'cgroups' are mutually exclusive"},
		{{.system_wide = true, .pids = "1"},
			"'system_wide' and 'pids' are mutually exclusive"},
		{{.system_wide = true, .cgroups = "*"},
			"'system_wide' and 'cgroups' are mutually exclusive"},
		{{.self = true, .system_wide = true}, "are mutually exclusive"},
		{{.self = true, .every_thread = true}, "are mutually exclusive"},
		{{.command = no_command}, "is empty"},
	};
	struct attar_target_opts opts;
	struct attar_target *target;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		opts = cases[i].opts;
		opts.size = sizeof(opts);
		assert_int_equal(attar_target_new(&opts, &target), -EINVAL);
		assert_non_null(strstr(attar_error(), cases[i].said));
	}
	opts = (struct attar_target_opts){.size = 0, .self = true};
	assert_int_equal(attar_target_new(&opts, &target), -EINVAL);
}

/* A caller built with a newer header: options beyond our struct cannot be ignored. */
static void test_refuses_unknown_options(void **state)
{
	struct {
		struct attar_target_opts known;
		char more[16];
	} opts = {.known = {.size = sizeof(opts), .self = true}};
	struct attar_target *target;

	assert_int_equal(attar_target_new(&opts.known, &target), 0);
	attar_target_free(target);
	opts.more[3] = 1;
	assert_int_equal(attar_target_new(&opts.known, &target), -E2BIG);
}

static void test_has_a_ring_on_any_cpu(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR,
		.disabled = 1};
	struct attar_counter *c[2];
	struct attar_ring **rings;
	size_t n;

	for (int i = 0; i < 2; i++)
		assert_int_equal(attar_counter_open(target, &attr, "faults", 0, &c[i]), 0);
	assert_int_equal(attar_rings_new(target, c, 2, 65536, &rings, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(attar_ring_cpu(rings[0]), -1);
	live_fault(1);
	for (int i = 0; i < 2; i++)
		attar_counter_enable(c[i]);
	live_fault(23);
	for (int i = 0; i < 2; i++)
		attar_counter_disable(c[i]);
	assert_int_equal(live_drain(rings[0], PERF_RECORD_SAMPLE), 46);
	attar_rings_free(rings, n);
	for (int i = 0; i < 2; i++)
		attar_counter_close(c[i]);

	attr.inherit = 1;
	assert_int_equal(attar_counter_open(target, &attr, "faults", 0, &c[0]), 0);
	assert_int_equal(attar_rings_new(target, c, 1, 65536, &rings, &n), -EINVAL);
	assert_string_equal(attar_error(),
		"'faults' cannot have a ring: it is inherited and opened on "
		"any CPU; use only one of attr.inherit and any_cpu");
	attar_counter_close(c[0]);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watches_the_calling_thread_with_one_fd),
		cmocka_unit_test(test_checks_for_the_end_of_a_process_cheaply),
		cmocka_unit_test(test_counts_page_faults_exactly),
		cmocka_unit_test(test_resets_to_zero_with_children_and_times),
		cmocka_unit_test(test_sums_a_thread_over_its_cpus),
		cmocka_unit_test(test_short_read_is_not_taken_for_a_count),
		cmocka_unit_test(test_takes_attributes_of_any_size),
		cmocka_unit_test(test_refuses_conflicting_target_options),
		cmocka_unit_test(test_refuses_unknown_options),
		cmocka_unit_test(test_has_a_ring_on_any_cpu),
	};

	return cmocka_run_group_tests_name("perf_counter", tests, NULL, NULL);
}
