/* SPDX-License-Identifier: MIT */
/* Signals of overflows: one each, to the given thread, with the event's data. */
#include "live.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CALLS = 23, DATA = 0x5ca1ab1e };

#if defined(__aarch64__)
enum { CODE_LEN = 4 };
#else
enum { CODE_LEN = sizeof(long) };
#endif

/* What the handlers saw. */
static struct {
	int overflows, lasts, traps, others;
	int elsewhere; /* handled by another thread than `thread` */
	int fd;
	pid_t thread;
	struct attar_signal trap;
} seen;

static pid_t own_tid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void handle(int signo, siginfo_t *info, void *context)
{
	struct attar_signal s;

	if (!attar_signal_decode(info, &s)) {
		seen.others++;
		return;
	}
	seen.overflows += s.kind == ATTAR_SIGNAL_OVERFLOW;
	seen.lasts += s.kind == ATTAR_SIGNAL_LAST;
	seen.traps += s.kind == ATTAR_SIGNAL_TRAP;
	seen.elsewhere += own_tid() != seen.thread;
	if (s.kind == ATTAR_SIGNAL_TRAP)
		seen.trap = s;
	else
		seen.fd = s.fd;
}

static void listen_to(int signo)
{
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART};

	sigaction(signo, &action, NULL);
	if (signo != SIGTRAP)
		raise(signo); /* maps the handler's own memory in advance */
	memset(&seen, 0, sizeof(seen));
	seen.thread = own_tid();
}

static __attribute__((noinline)) void called(void)
{
	__asm__ volatile("" ::: "memory");
}

static volatile uint64_t watched __attribute__((aligned(8)));

static struct perf_event_attr breakpoint(uint32_t type, const volatile void *at)
{
	return (struct perf_event_attr){.type = PERF_TYPE_BREAKPOINT,
		.bp_type = type,
		.bp_addr = (uintptr_t)at,
		.bp_len = type == HW_BREAKPOINT_X ? CODE_LEN : sizeof(watched),
		.sample_period = 1,
		.exclude_kernel = 1,
		.disabled = 1};
}

static const struct perf_event_attr faults = {.type = PERF_TYPE_SOFTWARE,
	.config = PERF_COUNT_SW_PAGE_FAULTS,
	.sample_period = 1,
	.exclude_kernel = 1,
	.disabled = 1};

static struct attar_counter *open_it(struct attar_target *target, struct perf_event_attr attr)
{
	struct attar_counter *c;

	if (attar_counter_open(target, &attr, "event", 0, &c) < 0)
		live_skip(attar_error());
	return c;
}

/*
 * An arm64 kernel steps over a breakpoint with the CPU's single step. A signal for it cancels the
 * step: after the handler the CPU hits the breakpoint again, forever.
 */
static void need_signals_of_breakpoints(void)
{
#if defined(__aarch64__)
	live_skip("on arm64 a breakpoint cannot send a signal");
#endif
	live_need_breakpoints();
}

static void test_a_function_called_23_times_gives_23_signals(void **state)
{
	struct attar_target *self = live_self();
	struct attar_counter *c =
		open_it(self, breakpoint(HW_BREAKPOINT_X, (const void *)(uintptr_t)called));

	need_signals_of_breakpoints();
	listen_to(SIGRTMIN);
	assert_int_equal(attar_counter_signal(c, SIGRTMIN, 0), 0);
	attar_counter_enable(c);
	for (int i = 0; i < CALLS; i++)
		called();
	attar_counter_disable(c);
	assert_int_equal(seen.overflows, CALLS);
	assert_int_equal(seen.lasts + seen.traps + seen.others + seen.elsewhere, 0);
	assert_int_equal(seen.fd, attar_counter_instance_at(c, 0).fd);
	assert_int_equal(attar_counter_signal(c, 0, 0), 0);
	attar_counter_enable(c);
	called();
	assert_int_equal(seen.overflows, CALLS);
	attar_counter_close(c);
	attar_target_free(self);
}

static void test_signals_until_the_refresh_limit(void **state)
{
	struct attar_target *self = live_self();
	struct attar_counter *c = open_it(self, faults);

	listen_to(SIGRTMIN + 1);
	assert_int_equal(attar_counter_signal(c, SIGRTMIN + 1, own_tid()), 0);
	live_fault(1);
	attar_counter_enable(c);
	live_fault(CALLS);
	attar_counter_disable(c);
	assert_int_equal(seen.overflows, CALLS);
	assert_int_equal(attar_counter_refresh(c, 3), 0);
	live_fault(CALLS);
	assert_int_equal(seen.overflows, CALLS + 2);
	assert_int_equal(seen.lasts, 1);
	attar_counter_close(c);
	attar_target_free(self);
}

static struct {
	pthread_barrier_t barrier;
	pid_t tid;
} listener;

static void *listen_only(void *unused)
{
	listener.tid = own_tid();
	pthread_barrier_wait(&listener.barrier);
	pthread_barrier_wait(&listener.barrier);
	return NULL;
}

/* Another thread than the one that overflows receives the signals. */
static void test_signals_go_to_the_given_thread(void **state)
{
	struct attar_target *self = live_self();
	struct attar_counter *c = open_it(self, faults);
	pthread_t thread;

	listen_to(SIGRTMIN + 2);
	pthread_barrier_init(&listener.barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, listen_only, NULL), 0);
	pthread_barrier_wait(&listener.barrier);
	seen.thread = listener.tid;
	assert_int_equal(attar_counter_signal(c, SIGRTMIN + 2, listener.tid), 0);
	live_fault(1);
	attar_counter_enable(c);
	live_fault(CALLS);
	attar_counter_disable(c);
	pthread_barrier_wait(&listener.barrier);
	pthread_join(thread, NULL); /* its signals were pending before it ended: all are handled */
	assert_int_equal(seen.overflows, CALLS);
	assert_int_equal(seen.elsewhere, 0);
	attar_counter_close(c);
	attar_target_free(self);
}

/* SIGTRAP is synchronous: at each write the handler has run before the next line. */
static void test_sigtrap_identifies_the_event(void **state)
{
	struct perf_event_attr attr = breakpoint(HW_BREAKPOINT_W, &watched);
	struct attar_target *self = live_self();
	struct attar_counter *c;

	need_signals_of_breakpoints();
	attr.sigtrap = attr.remove_on_exec = 1;
	attr.sig_data = DATA;
	c = open_it(self, attr);
	listen_to(SIGTRAP);
	attar_counter_enable(c);
	for (int i = 0; i < CALLS; i++) {
		watched++;
		__asm__ volatile("" ::: "memory"); /* the handler has changed `seen` */
		if (seen.traps != i + 1)
			break;
	}
	attar_counter_disable(c);
	assert_int_equal(seen.traps, CALLS);
	assert_int_equal(seen.overflows + seen.lasts + seen.others + seen.elsewhere, 0);
	assert_int_equal(seen.trap.data, DATA);
	assert_int_equal(seen.trap.type, PERF_TYPE_BREAKPOINT);
	assert_int_equal(seen.trap.addr, (uintptr_t)&watched);
	assert_false(seen.trap.late);
	assert_int_equal(seen.trap.fd, -1);
	attar_counter_close(c);
	attar_target_free(self);
}

/* While blocked it is delayed, and then marked as asynchronous (5.18). */
static void test_blocked_sigtrap_is_marked_asynchronous(void **state)
{
	struct perf_event_attr attr = breakpoint(HW_BREAKPOINT_W, &watched);
	struct attar_target *self = live_self();
	struct attar_counter *c;
	sigset_t trap;

	need_signals_of_breakpoints();
	attr.sigtrap = attr.remove_on_exec = 1;
	attr.sig_data = DATA;
	c = open_it(self, attr);
	listen_to(SIGTRAP);
	sigemptyset(&trap);
	sigaddset(&trap, SIGTRAP);
	sigprocmask(SIG_BLOCK, &trap, NULL);
	attar_counter_enable(c);
	watched++;
	attar_counter_disable(c);
	assert_int_equal(seen.traps, 0);
	sigprocmask(SIG_UNBLOCK, &trap, NULL);
	assert_int_equal(seen.traps, 1);
	assert_true(seen.trap.late);
	assert_int_equal(seen.trap.data, DATA);
	attar_counter_close(c);
	attar_target_free(self);
}

static void test_refusals_name_the_reason(void **state)
{
	struct attar_target *self = live_self();
	struct attar_counter *plain = live_software(self, PERF_COUNT_SW_DUMMY);
	struct attar_counter *c = open_it(self, faults);
	siginfo_t strange = {.si_signo = SIGUSR1, .si_code = SI_USER};
	struct attar_signal s;

	assert_int_equal(attar_counter_signal(plain, SIGRTMIN, 0), -EINVAL);
	assert_non_null(strstr(attar_error(), "never overflows"));
	assert_int_equal(attar_counter_signal(c, SIGTRAP, 0), -EINVAL);
	assert_non_null(strstr(attar_error(), "attr.sigtrap"));
	assert_int_equal(attar_counter_signal(c, 1000, 0), -EINVAL);
	assert_int_equal(attar_counter_signal(c, SIGRTMIN, 4194304), -ESRCH);
	assert_false(attar_signal_decode(&strange, &s));
	attar_counter_close(plain);
	attar_counter_close(c);
	attar_target_free(self);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_function_called_23_times_gives_23_signals),
		cmocka_unit_test(test_signals_until_the_refresh_limit),
		cmocka_unit_test(test_signals_go_to_the_given_thread),
		cmocka_unit_test(test_sigtrap_identifies_the_event),
		cmocka_unit_test(test_blocked_sigtrap_is_marked_asynchronous),
		cmocka_unit_test(test_refusals_name_the_reason),
	};

	return cmocka_run_group_tests_name("perf_signal", tests, NULL, NULL);
}
