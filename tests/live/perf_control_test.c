/* SPDX-License-Identifier: MIT */
/* Operations on open counters: period, refresh, filter, BPF, modify, pause, redirect. */
#include "attar/private/perf.h"
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { WRITES = 2 /* HW_BREAKPOINT_W */ };

static const struct perf_event_attr sampled_faults = {.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS,
	.sample_period = 1,
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ADDR,
	.disabled = 1};

static uint64_t count_of(struct attar_counter *c)
{
	struct attar_value v;

	if (attar_counter_read(c, &v) < 0)
		fail_msg("%s", attar_error());
	return v.value;
}

static struct attar_counter *open_it(
	struct attar_target *target, const struct perf_event_attr *attr, const char *name)
{
	struct attar_counter *c;

	if (attar_counter_open(target, attr, name, 0, &c) < 0)
		fail_msg("%s", attar_error());
	return c;
}

/* A disabled counter that samples each page fault of this thread into a ring. */
struct sampled {
	struct attar_target *target;
	struct attar_counter *c;
	struct attar_ring **rings;
	size_t n;
};

static void open_sampled(struct sampled *s)
{
	s->target = live_self();
	s->c = open_it(s->target, &sampled_faults, "faults");
	assert_int_equal(attar_rings_new(s->target, &s->c, 1, 65536, &s->rings, &s->n), 0);
	live_fault(1);
}

static void close_sampled(struct sampled *s)
{
	attar_rings_free(s->rings, s->n);
	attar_counter_close(s->c);
	attar_target_free(s->target);
}

/* Fails unless the call refuses `plain`, a counter that does not sample, with this message. */
#define REFUSES_PLAIN(target, call, message)                                                       \
	do {                                                                                       \
		struct attar_counter *plain = live_software(target, PERF_COUNT_SW_DUMMY);          \
                                                                                                   \
		assert_int_equal(call, -EINVAL);                                                   \
		assert_non_null(strstr(attar_error(), message));                                   \
		attar_counter_close(plain);                                                        \
	} while (0)

static void test_sets_the_period(void **state)
{
	struct sampled s;

	open_sampled(&s);
	assert_int_equal(attar_counter_set_period(s.c, 10), 0);
	assert_int_equal(attar_counter_attr(s.c)->sample_period, 10);
	attar_counter_enable(s.c);
	live_fault(100);
	attar_counter_disable(s.c);
	assert_int_equal(live_drain(s.rings[0], PERF_RECORD_SAMPLE), 10);
	assert_int_equal(attar_counter_set_period(s.c, 0), -EINVAL);
	assert_int_equal(attar_counter_set_period(s.c, 1ULL << 63), -EINVAL);
	assert_non_null(strstr(attar_error(), "the period must be between 1 and 2^63 - 1"));
	REFUSES_PLAIN(s.target, attar_counter_set_period(plain, 10), "it is not a sampled event");
	close_sampled(&s);
}

/* The kernel disables it at the last overflow: later events are not even counted. */
static void test_refresh_limits_the_number_of_overflows(void **state)
{
	struct sampled s;

	open_sampled(&s);
	assert_int_equal(attar_counter_refresh(s.c, 10), 0);
	live_fault(100);
	assert_int_equal(count_of(s.c), 10);
	assert_int_equal(live_drain(s.rings[0], PERF_RECORD_SAMPLE), 10);
	REFUSES_PLAIN(s.target, attar_counter_refresh(plain, 1), "it is not a sampled event");
	close_sampled(&s);
}

/* Linux 6.16 and 6.17 hang: the clock is refused there. */
static void test_refresh_of_a_clock(void **state)
{
	struct attar_target *target = live_self();
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1};
	struct attar_counter *clock = open_it(target, &attr, "clock");
	struct utsname name;
	bool hangs;

	uname(&name);
	hangs = !strncmp(name.release, "6.16.", 5) || !strncmp(name.release, "6.17.", 5);
	assert_int_equal(attar_counter_refresh(clock, 1000), hangs ? -EOPNOTSUPP : 0);
	if (hangs)
		assert_non_null(strstr(attar_error(), "can hang when a clock is disabled"));
	attar_counter_close(clock);
	attar_target_free(target);
}

static void test_filters_a_tracepoint(void **state)
{
	struct attar_target *target = live_self();
	const struct perf_event_attr calls = live_sys_enter();
	struct attar_counter *c;

	live_need_root("open tracepoints");
	c = open_it(target, &calls, "sys_enter");
	assert_int_equal(attar_counter_filter(c, live_getppid_filter), 0);
	attar_counter_enable(c);
	live_getppid(23);
	attar_counter_disable(c);
	assert_int_equal(count_of(c), 23);
	assert_int_equal(attar_counter_filter(c, live_getppid_filter), -EEXIST);
	assert_non_null(strstr(attar_error(), "it already has a filter, which cannot be changed"));
	attar_counter_close(c);
	c = open_it(target, &calls, "sys_enter");
	assert_int_equal(attar_counter_filter(c, "nonsense == 1"), -EINVAL);
	assert_non_null(strstr(attar_error(), "the filter 'nonsense == 1'"));
	assert_non_null(strstr(attar_error(), "unknown field"));
	attar_counter_close(c);
	attar_target_free(target);
}

/*
 * "return verdict;": 0 drops the event, 1 accepts it. Returns -1 if this process may not load it.
 */
static int load_program(int verdict)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = verdict},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_TRACEPOINT,
		.insn_cnt = 2,
		.insns = (uintptr_t)code,
		.license = (uintptr_t) "GPL"};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static void make_rare_calls(size_t n)
{
	gid_t real, effective, saved;

	for (size_t i = 0; i < n; i++)
		syscall(SYS_getresgid, &real, &effective, &saved);
}

/*
 * The program also drops the events of other processes: no other test watches this tracepoint,
 * which has an event for each call and no others.
 */
static void test_attaches_and_queries_bpf(void **state)
{
	struct attar_target_opts opts = {.size = sizeof(opts), .self = true};
	const struct perf_event_attr calls = live_tracepoint("syscalls/sys_enter_getresgid");
	int drops = load_program(0);
	struct attar_target *target;
	struct attar_counter *c;
	uint32_t id = 0;
	size_t n = 23;

	if (drops < 0)
		live_skip("this process may not load a BPF program");
	/* on each CPU: the tracepoint takes the program once for all */
	assert_int_equal(attar_target_new(&opts, &target), 0);
	c = open_it(target, &calls, "sys_enter_getresgid");
	assert_int_equal(attar_counter_query_bpf(c, &id, 1, &n), 0);
	assert_int_equal(n, 0);
	attar_counter_enable(c);
	make_rare_calls(23);
	assert_int_equal(count_of(c), 23);
	attar_counter_reset(c);
	if (attar_counter_attach_bpf(c, drops) < 0)
		fail_msg("%s", attar_error());
	make_rare_calls(23);
	assert_int_equal(attar_counter_query_bpf(c, &id, 1, &n), 0);
	attar_counter_disable(c);
	assert_int_equal(n, 1);
	assert_int_not_equal(id, 0);
	assert_int_equal(count_of(c), 0);
	assert_int_equal(attar_counter_attach_bpf(c, drops), -EEXIST);
	assert_non_null(strstr(attar_error(), "the program is already attached"));
	attar_counter_close(c);
	attar_target_free(target);

	target = live_self();
	c = live_software(target, PERF_COUNT_SW_DUMMY);
	assert_int_equal(attar_counter_attach_bpf(c, drops), -EINVAL);
	assert_non_null(strstr(attar_error(), "the program's type is for other events"));
	assert_int_equal(attar_counter_query_bpf(c, &id, 1, &n), -EINVAL);
	assert_non_null(strstr(attar_error(), "only tracepoints and probes"));
	attar_counter_close(c);
	attar_target_free(target);
	close(drops);
}

static struct attar_counter *open_breakpoint(
	struct attar_target *target, const struct perf_event_attr *attr)
{
	struct attar_counter *c;
	int r;

	live_need_breakpoints();
	r = attar_counter_open(target, attr, "breakpoint", 0, &c);
	if (r == -ENOSPC) {
		attar_target_free(target);
		live_skip("all hardware breakpoints of this CPU are taken");
	}
	if (r < 0)
		fail_msg("%s", attar_error());
	return c;
}

static void test_moves_a_breakpoint(void **state)
{
	static volatile long first, second;
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {.type = PERF_TYPE_BREAKPOINT,
		.bp_type = WRITES,
		.bp_addr = (uintptr_t)&first,
		.bp_len = sizeof(first),
		.exclude_kernel = 1};
	struct attar_counter *c = open_breakpoint(target, &attr);

	for (int i = 0; i < 5; i++)
		first = second = i;
	attr.bp_addr = (uintptr_t)&second;
	if (attar_counter_modify(c, &attr) < 0)
		fail_msg("%s", attar_error());
	for (int i = 0; i < 7; i++)
		second = i;
	first = 23;
	assert_int_equal(count_of(c), 5 + 7);
	assert_int_equal(attar_counter_attr(c)->bp_addr, (uintptr_t)&second);
	REFUSES_PLAIN(
		target, attar_counter_modify(plain, &attr), "only breakpoints can be modified");
	attar_counter_close(c);
	attar_target_free(target);
}

__attribute__((noinline)) static void executed(void)
{
	__asm__ volatile("");
}

/* Each time that the CPU reaches the function's first instruction. */
static void test_counts_executions(void **state)
{
	struct attar_target *target = live_self();
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = 4, /* HW_BREAKPOINT_X */
		.bp_addr = (uintptr_t)executed,
#if defined(__x86_64__)
		.bp_len = sizeof(long),
#else
		.bp_len = 4,
#endif
		.exclude_kernel = 1,
		.disabled = 1
	};
	struct attar_counter *c = open_breakpoint(target, &attr);

	executed();
	attar_counter_enable(c);
	for (int i = 0; i < 23; i++)
		executed();
	attar_counter_disable(c);
	executed();
	assert_int_equal(count_of(c), 23);
	attar_counter_close(c);
	attar_target_free(target);
}

static void test_pauses_and_counts_the_loss(void **state)
{
	struct sampled s;

	open_sampled(&s);
	attar_counter_enable(s.c);
	live_fault(10);
	assert_int_equal(attar_counter_pause(s.c, true), 0);
	live_fault(20);
	assert_int_equal(attar_counter_pause(s.c, false), 0);
	live_fault(5);
	attar_counter_disable(s.c);
	assert_int_equal(count_of(s.c), 35);
	assert_int_equal(live_drain(s.rings[0], PERF_RECORD_SAMPLE), 15);
	if (attar_counter_attr(s.c)->read_format & (1 << 4)) /* PERF_FORMAT_LOST, 6.0 */
		assert_int_equal(counter_lost(s.c), 20);
	REFUSES_PLAIN(s.target, attar_counter_pause(plain, true), "it has no ring");
	close_sampled(&s);
}

static void test_redirects_to_rings_of_another_counter(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *to = open_it(target, &sampled_faults, "first"),
			     *from = open_it(target, &sampled_faults, "second"), *clocked;
	struct perf_event_attr attr = sampled_faults;
	struct attar_ring **rings;
	size_t n;

	assert_int_equal(attar_rings_new(target, &to, 1, 65536, &rings, &n), 0);
	live_fault(1);
	assert_int_equal(attar_counter_redirect(from, to), 0);
	attar_counter_enable(from);
	live_fault(10);
	attar_counter_disable(from); /* reading the ring faults too */
	assert_int_equal(live_drain(rings[0], PERF_RECORD_SAMPLE), 10);
	assert_int_equal(attar_counter_redirect(from, NULL), 0);
	attar_counter_enable(from);
	live_fault(10);
	attar_counter_disable(from);
	assert_int_equal(live_drain(rings[0], PERF_RECORD_SAMPLE), 0);
	attr.use_clockid = 1;
	attr.clockid = 1; /* CLOCK_MONOTONIC */
	clocked = open_it(target, &attr, "clocked");
	assert_int_equal(attar_counter_redirect(clocked, to), -EINVAL);
	assert_non_null(strstr(attar_error(), "another clock"));
	attar_counter_close(clocked);
	attar_rings_free(rings, n);
	attar_counter_close(from);
	attar_counter_close(to);
	attar_target_free(target);
}

static void *fault_and_enable_all(void *unused)
{
	assert_int_equal(counters_enable_all(), 0);
	return NULL;
}

/*
 * All counters that this thread has opened, whatever they watch; another thread does not affect
 * them.
 */
static void test_enables_all_counters_of_this_thread(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c[2];
	pthread_t other;

	for (int i = 0; i < 2; i++)
		c[i] = live_software(target, PERF_COUNT_SW_PAGE_FAULTS);
	live_fault(1);
	pthread_create(&other, NULL, fault_and_enable_all, NULL);
	pthread_join(other, NULL);
	live_fault(10);
	assert_int_equal(counters_enable_all(), 0);
	live_fault(23);
	assert_int_equal(counters_disable_all(), 0);
	live_fault(10);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(count_of(c[i]), 23);
		attar_counter_close(c[i]);
	}
	attar_target_free(target);
}

static void test_closes_on_exec(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *c = live_software(target, PERF_COUNT_SW_DUMMY);
	int flags = fcntl(attar_counter_instance_at(c, 0).fd, F_GETFD);

	assert_true(flags >= 0 && flags & FD_CLOEXEC);
	attar_counter_close(c);
	attar_target_free(target);
}

/*
 * PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT opens an event that writes to another's ring and is
 * not in its group: the same as opening it alone and redirecting it.
 */
static void test_output_flags_equal_a_redirection(void **state)
{
	struct attar_target *target = live_self();
	struct attar_counter *to = open_it(target, &sampled_faults, "first"),
			     *from = open_it(target, &sampled_faults, "second");
	struct perf_event_attr attr = sampled_faults;
	struct attar_ring **rings;
	size_t n;
	int fd;

	attr.size = PERF_ATTR_SIZE_VER0;
	assert_int_equal(attar_rings_new(target, &to, 1, 65536, &rings, &n), 0);
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, attar_counter_instance_at(to, 0).fd,
		PERF_FLAG_FD_NO_GROUP | PERF_FLAG_FD_OUTPUT);
	assert_true(fd >= 0);
	assert_int_equal(attar_counter_redirect(from, to), 0);
	live_fault(1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	live_fault(10);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	assert_int_equal(live_drain(rings[0], PERF_RECORD_SAMPLE), 10);
	attar_counter_enable(from);
	live_fault(10);
	attar_counter_disable(from);
	assert_int_equal(live_drain(rings[0], PERF_RECORD_SAMPLE), 10);
	/*
	 * neither is in the group: the leader has not counted, and closing it does not affect them
	 */
	assert_int_equal(count_of(to), 0);
	close(fd);
	attar_rings_free(rings, n);
	attar_counter_close(from);
	attar_counter_close(to);
	attar_target_free(target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets_the_period),
		cmocka_unit_test(test_refresh_limits_the_number_of_overflows),
		cmocka_unit_test(test_refresh_of_a_clock),
		cmocka_unit_test(test_filters_a_tracepoint),
		cmocka_unit_test(test_attaches_and_queries_bpf),
		cmocka_unit_test(test_moves_a_breakpoint),
		cmocka_unit_test(test_counts_executions),
		cmocka_unit_test(test_pauses_and_counts_the_loss),
		cmocka_unit_test(test_redirects_to_rings_of_another_counter),
		cmocka_unit_test(test_enables_all_counters_of_this_thread),
		cmocka_unit_test(test_closes_on_exec),
		cmocka_unit_test(test_output_flags_equal_a_redirection),
	};

	return cmocka_run_group_tests_name("perf_control", tests, NULL, NULL);
}
