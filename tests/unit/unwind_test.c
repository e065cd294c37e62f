/* SPDX-License-Identifier: MIT */
/*
 * Stacks from registers and a copy of the stack, compared with those of the compiler's own
 * unwinder: both start from the state in which a signal interrupted a thread.
 */
#include "failing.h"
#include "unit.h"

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "attar/private/unwind.h"
#include "attar/unwind.h"
#include "base/base.h"
#include "unwind/registers.h"

enum { DEPTH = 200, COPIED = 65528 };

static struct attar_symbols *symbols;
static struct attar_address_space *space;
static uint8_t copied[COPIED];
static uint64_t values[64];
static size_t copied_bytes;
static void *theirs[DEPTH];
static int n_theirs;
static uint64_t interrupted;

#if defined(__x86_64__)
/* In the order of enum perf_event_x86_regs; sampled are 0 to 8 and 16 to 23. */
static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
	REG_RIP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static uint64_t take_registers(const ucontext_t *uc)
{
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		values[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	interrupted = values[8];
	return values[7];
}
#else
static uint64_t take_registers(const ucontext_t *uc)
{
	memcpy(values, uc->uc_mcontext.regs, 31 * sizeof(*values));
	values[31] = uc->uc_mcontext.sp;
	values[32] = interrupted = uc->uc_mcontext.pc;
	return values[31];
}
#endif

static uint64_t stack_end;

/* As the kernel copies a stack: with the gaps between variables, which sanitizers guard. */
__attribute__((no_sanitize("address", "undefined"))) static void copy_stack(uint64_t sp, size_t n)
{
	const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)sp;

	for (size_t i = 0; i < n; i++)
		copied[i] = from[i];
}

/* Takes what a sample would contain, and the stack as the compiler's unwinder sees it. */
static void on_signal(int number, siginfo_t *info, void *context)
{
	uint64_t sp = take_registers(context);

	(void)number, (void)info;
	copied_bytes = MIN((size_t)(stack_end - sp), (size_t)COPIED);
	copy_stack(sp, copied_bytes);
	n_theirs = backtrace(theirs, DEPTH);
}

static size_t unwind(size_t bytes, attar_location *locations, enum attar_unwind_end *ret_end)
{
	const struct attar_unwind_input input = {.regs = {.abi = PERF_SAMPLE_REGS_ABI_64,
							 .mask = unwind_machine_native()->sampled,
							 .nr = 1,
							 .values = values},
		.stack = copied,
		.stack_size = bytes};

	return attar_unwind(space, &input, locations, DEPTH, ret_end);
}

/* The last unwound stack is that of backtrace() from the interrupted frame on. */
static void compare(void)
{
	attar_location ours[DEPTH];
	enum attar_unwind_end end;
	size_t n = unwind(copied_bytes, ours, &end);
	int first = 0;

	while (first < n_theirs && (uint64_t)(uintptr_t)theirs[first] != interrupted)
		first++;
	assert_true(first < n_theirs);
	assert_int_equal(end, ATTAR_UNWIND_COMPLETE);
	assert_int_equal(n, n_theirs - first);
	for (size_t i = 0; i < n; i++) {
		uint64_t address = (uint64_t)(uintptr_t)theirs[first + (int)i];
		uint64_t back = attar_address_space_locate(space, address) - ours[i];

		/* in the call, or where a signal interrupted the function */
		assert_in_range(back, 0, i > 0);
	}
}

static void __attribute__((noinline)) interrupt(void)
{
	raise(SIGUSR1);
	__asm__ volatile("" ::: "memory");
}

static void __attribute__((noinline)) recurse(int depth)
{
	volatile char room[64];

	room[depth % 64] = (char)depth;
	if (depth)
		recurse(depth - 1);
	else
		interrupt();
	__asm__ volatile("" ::"r"(room) : "memory");
}

static int calls_until_signal;

static int order_of(const void *a, const void *b)
{
	if (!--calls_until_signal)
		interrupt();
	return *(const int *)a - *(const int *)b;
}

static void test_recursion(void **state)
{
	for (int depth = 0; depth < 100; depth += 7) {
		recurse(depth);
		compare();
	}
}

/* Whose code is known. */
static void test_a_stack_takes_no_memory(void **state)
{
	attar_location ours[DEPTH];
	size_t before, n;

	(void)state;
	recurse(30);
	n = unwind(copied_bytes, ours, NULL);
	assert_true(n > 30);
	before = failing_calls;
	assert_true(before > 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(unwind(copied_bytes, ours, NULL), n);
	assert_int_equal(failing_calls, before);
}

/* Through a function of the C library, which keeps no frame pointers. */
static void test_callback(void **state)
{
	for (int calls = 1; calls < 100; calls += 9) {
		int numbers[64];

		for (int i = 0; i < 64; i++)
			numbers[i] = i * 37 % 64;
		calls_until_signal = calls;
		qsort(numbers, 64, sizeof(int), order_of);
		compare();
	}
}

static void on_other_signal(int number)
{
	(void)number;
	recurse(3);
}

/* A signal handler that is interrupted: its caller is the kernel, not a call. */
static void test_signal_frame(void **state)
{
	signal(SIGUSR2, on_other_signal);
	raise(SIGUSR2);
	compare();
}

/* The stack of the interrupted code is not copied: its innermost function is the last frame. */
static void test_signal_stack(void **state)
{
	enum { SIZE = 64 << 10 };
	static uint8_t room[SIZE + COPIED];
	const stack_t other = {.ss_sp = room, .ss_size = SIZE};
	const struct sigaction action = {.sa_handler = on_other_signal, .sa_flags = SA_ONSTACK};
	attar_location ours[DEPTH];
	enum attar_unwind_end end;
	size_t n;

	assert_int_equal(sigaltstack(&other, NULL), 0);
	sigaction(SIGUSR2, &action, NULL);
	raise(SIGUSR2);
	n = unwind(copied_bytes, ours, &end);
	assert_int_equal(end, ATTAR_UNWIND_OTHER_STACK);
	assert_in_range(n, 8, n_theirs - 2); /* without this function and main() */
	assert_int_equal(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL), 0);
}

/* Arbitrary instructions, prologues and epilogues among them. */
static volatile int timers;

static void on_timer(int number, siginfo_t *info, void *context)
{
	on_signal(number, info, context);
	timers++;
}

static void test_any_instruction(void **state)
{
	const struct itimerval often = {
		.it_interval = {.tv_usec = 1000}, .it_value = {.tv_usec = 1}};
	struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigset_t set;
	int rounds = (int)unit_rounds(300);

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int done = 0; done < rounds;) {
		char text[64];
		int before = timers;

		while (timers == before) {
			for (int i = 0; i < 100; i++)
				snprintf(text, sizeof(text), "%d %s %f", i, "text", (double)i);
			recurse(5);
		}
		sigprocmask(SIG_BLOCK, &set, NULL);
		if (timers > before) {
			compare();
			done++;
		}
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	signal(SIGPROF, SIG_IGN);
}

/* Without the upper part of the stack, the stack is cut and says so. */
static void test_truncated(void **state)
{
	attar_location whole[DEPTH], part[DEPTH];
	enum attar_unwind_end end;
	size_t n, all;

	recurse(50);
	all = unwind(copied_bytes, whole, &end);
	for (size_t bytes = 0; bytes < 4000; bytes += 104) {
		n = unwind(bytes, part, &end);
		assert_true(n >= 1 && n < all);
		assert_int_equal(end, ATTAR_UNWIND_TRUNCATED);
		assert_memory_equal(part, whole, n * sizeof(*part));
	}
}

/* Stacks of random bytes: any result, but within bounds. */
static void test_garbage(void **state)
{
	attar_location locations[DEPTH];
	enum attar_unwind_end end;

	recurse(20);
	for (size_t round = 0; round < unit_rounds(2000); round++) {
		for (int i = 0; i < 16; i++)
			copied[(size_t)rand() % copied_bytes] = (uint8_t)rand();
		assert_true(unwind(copied_bytes, locations, &end) <= DEPTH);
	}
}

static void test_limits(void **state)
{
	const struct attar_unwind_input none = {0};
	struct perf_event_attr attr = {.size = sizeof(attr)};
	attar_location locations[DEPTH];
	enum attar_unwind_end end;

	assert_int_equal(attar_unwind(space, &none, locations, DEPTH, &end), 0);
	assert_int_equal(attar_unwind_attr(&attr, 12), -EINVAL);
	assert_int_equal(attar_unwind_attr(&attr, 65536), -EINVAL);
	assert_int_equal(attar_unwind_attr(&attr, 4096), 0);
	assert_int_equal(attr.sample_stack_user, 4096);
	assert_true(attr.exclude_callchain_user);
	recurse(3);
	assert_true(unwind(copied_bytes, locations, &end) > 1);
}

static int start(void **state)
{
	struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
	void *warm[4];
	char line[256];
	FILE *maps = fopen("/proc/self/maps", "r");

	backtrace(warm, 4); /* loads libgcc_s */
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[stack]"))
			stack_end = strtoull(strchr(line, '-') + 1, NULL, 16);
	fclose(maps);
	sigaddset(&action.sa_mask, SIGPROF);
	sigaction(SIGUSR1, &action, NULL);
	if (!stack_end || attar_symbols_new(NULL, &symbols) < 0)
		return -1;
	space = attar_address_space_new(symbols, getpid());
	return attar_address_space_scan(space);
}

static int stop(void **state)
{
	struct attar_unwind_stats stats;

	unwind_get_stats(symbols, &stats);
	if (!stats.stacks || !stats.cfi_frames || !stats.cfi_binaries || !stats.cfi_bytes)
		return -1;
	attar_address_space_free(space);
	attar_symbols_free(symbols);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_a_stack_takes_no_memory),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_signal_stack),
		cmocka_unit_test(test_any_instruction),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("unwind", tests, start, stop);
}
