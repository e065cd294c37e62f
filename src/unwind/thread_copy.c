/* SPDX-License-Identifier: MIT */
/* Copies registers and stacks of threads, which are stopped by ptrace(2) meanwhile. */
#include <elf.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "attar/private/thread.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "unwind/registers.h"
#include "unwind/unwind.h"

enum { PAGE = 4096, STATUS_MAX = 1 << 16, SPINS = 200, GUARD_PAGES = 64 };

static const uint64_t stop_within = 1000000000; /* ns */

/* ---- stop and continue ---- */

/* The process that traces a thread; 0: none; -1: there is no such thread, or it has exited. */
static long tracer_of(pid_t tid)
{
	static const char word[] = "TracerPid:\t";
	struct buf text _cleanup_(buf_done) = {0};
	const char *found;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (file_read(path, STATUS_MAX, &text) < 0) {
		attar_error_clear();
		return -1;
	}
	if (strstr(buf_text(&text), "\nState:\tZ") || strstr(buf_text(&text), "\nState:\tX"))
		return -1;
	found = strstr(buf_text(&text), word);
	return found ? atol(found + strlen(word)) : -1;
}

static int explain_refusal(pid_t tid, int error)
{
	long tracer = error == ESRCH ? -1 : tracer_of(tid);

	if (tracer < 0)
		return attar_fail(-ESRCH, "there is no thread %d, or it has exited", tid);
	if (tracer > 0)
		return attar_fail(-EPERM,
			"cannot stop thread %d: process %ld, such as a debugger, traces it", tid,
			tracer);
	if (proc_is_kernel_thread(tid))
		return attar_fail(-EOPNOTSUPP,
			"thread %d is a kernel thread, which has no user stack" ATTAR_FIX
			"root can read its kernel stack in /proc/%d/stack",
			tid, tid);
	if (error == EPERM)
		return attar_fail(-EPERM,
			"no permission to stop thread %d" ATTAR_FIX
			"%s; your own processes also with sysctl kernel.yama.ptrace_scope=0",
			tid, proc_access_fix());
	return attar_fail(-error, "cannot stop thread %d: %s", tid, strerror(error));
}

static void wait_a_little(unsigned tries)
{
	if (tries < SPINS)
		sched_yield();
	else
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

/* The number of its system call; -1: none, or unknown. */
static long thread_copy_call(int tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[64];
	long call;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	return proc_read_line(path, &text) < 0 || sscanf(buf_text(&text), "%ld", &call) != 1 ? -1
											     : call;
}

/* Whether the thread executes a program now. */
static int thread_copy_executes(void *ctx, int tid)
{
	const long call = thread_copy_call(tid);

	(void)ctx;
	return call == SYS_execve || call == SYS_execveat;
}

/*
 * ptrace(2) waits for the end of an execve(2) of the process, which may itself wait for a file
 * system, or for a thread that waits for one.
 */
static bool thread_copy_would_wait(pid_t tid)
{
	if (thread_copy_executes(NULL, tid))
		return true;
	return proc_thread_state(tid) == 'D' &&
	       proc_each_thread(tid, thread_copy_executes, NULL) > 0;
}

/*
 * Stops the thread. *ret_signal is a signal that arrived at that moment, to be delivered when the
 * thread continues; 0: none.
 */
static int thread_copy_stop(pid_t tid, int *ret_signal)
{
	uint64_t end = base_now() + stop_within;
	int status;

	if (thread_copy_would_wait(tid))
		return attar_fail(
			-EBUSY, "thread %d cannot be stopped: its process executes a program", tid);
	/* of a connection with SO_LINGER, which would then not wait any more */
	if (thread_copy_call(tid) == SYS_close && proc_thread_state(tid) == 'S')
		return attar_fail(
			-EBUSY, "thread %d is not stopped: its close() waits, and would end", tid);
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return explain_refusal(tid, errno);
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
		return explain_refusal(tid, errno);
	for (unsigned tries = 0; base_now() < end; tries++) {
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);

		if (got < 0 && errno != EINTR)
			return explain_refusal(tid, ESRCH);
		if (got == tid && WIFSTOPPED(status)) {
			*ret_signal = status >> 16 ? 0 : WSTOPSIG(status);
			return 0;
		}
		if (got == tid)
			return explain_refusal(tid, ESRCH);
		wait_a_little(tries);
	}
	return attar_fail(-EBUSY,
		"thread %d did not stop: it waits in the kernel without accepting signals", tid);
}

static void resume(pid_t tid, int signal)
{
	ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal);
}

/* ---- copy ---- */

#if defined(__x86_64__)
/* In the order of enum perf_event_x86_regs. */
static void order(const struct user_regs_struct *from, uint64_t *to)
{
	const uint64_t values[] = {from->rax, from->rbx, from->rcx, from->rdx, from->rsi, from->rdi,
		from->rbp, from->rsp, from->rip, from->r8, from->r9, from->r10, from->r11,
		from->r12, from->r13, from->r14, from->r15};

	_Static_assert(ARRAY_SIZE(values) <= ATTAR_THREAD_REGISTERS, "room for all");
	memcpy(to, values, sizeof(values));
}

static uint64_t stack_pointer(const struct user_regs_struct *regs)
{
	return regs->rsp;
}
#elif defined(__aarch64__)
static void order(const struct user_regs_struct *from, uint64_t *to)
{
	memcpy(to, from->regs, sizeof(from->regs));
	to[31] = from->sp;
	to[32] = from->pc;
}

static uint64_t stack_pointer(const struct user_regs_struct *regs)
{
	return regs->sp;
}
#else
static void order(const struct user_regs_struct *from, uint64_t *to)
{
	(void)from;
	(void)to;
}

static uint64_t stack_pointer(const struct user_regs_struct *regs)
{
	(void)regs;
	return 0;
}
#endif

/* Reads up to n bytes, fewer if a page is not mapped. */
static size_t read_memory(pid_t tid, uint64_t address, uint8_t *bytes, size_t n)
{
	ssize_t got = proc_memory_read(tid, address, bytes, n);

	return got < 0 ? 0 : (size_t)got;
}

/* The stack of interrupted code, which a signal handler with a stack of its own does not have. */
struct other_copy {
	struct unwind_other stack; /* sp 0: nothing is to be copied */
	uint8_t *bytes;            /* room for the stack */
};

/* After an overflow of the stack, the stack pointer is in the guard pages below it. */
static void copy_other(pid_t tid, size_t stack_max, struct other_copy *other)
{
	struct unwind_other *stack = &other->stack;

	stack->start = stack->sp;
	stack->bytes = other->bytes;
	for (unsigned tries = 0; tries <= GUARD_PAGES; tries++) {
		stack->size = read_memory(tid, stack->start, other->bytes, stack_max);
		if (stack->size)
			return;
		stack->start = (stack->start / PAGE + 1) * PAGE;
	}
}

static int copy_stopped(pid_t tid, const struct unwind_machine *machine, size_t stack_max,
	struct attar_thread_copy *copy, struct other_copy *other)
{
	struct user_regs_struct regs;
	struct iovec io = {.iov_base = &regs, .iov_len = sizeof(regs)};

	if (ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)NT_PRSTATUS, &io) < 0)
		return attar_fail(
			-errno, "cannot read the registers of thread %d: %s", tid, strerror(errno));
	if (io.iov_len != sizeof(regs))
		return attar_fail(-EOPNOTSUPP,
			"thread %d runs a 32-bit program, which is not supported", tid);
	order(&regs, copy->registers);
	copy->input = (struct attar_unwind_input){
		.regs = {.abi = PERF_SAMPLE_REGS_ABI_64,
			.nr = (uint32_t)__builtin_popcountll(machine->sampled),
			.mask = machine->sampled,
			.values = copy->registers},
		.stack = copy->stack,
		.stack_size = read_memory(tid, stack_pointer(&regs), copy->stack, stack_max)};
	if (other->stack.sp)
		copy_other(tid, stack_max, other);
	return 0;
}

static int make_room(struct attar_thread_copy *copy, size_t n)
{
	if (copy->stack_room >= n)
		return 0;
	free(copy->stack);
	copy->stack = malloc(n);
	copy->stack_room = copy->stack ? n : 0;
	if (!copy->stack)
		return base_oom();
	return 0;
}

/* ---- without a stop ---- */

enum { X86_SP = 7, X86_IP = 8, ARM64_SP = 31, ARM64_PC = 32 }; /* as perf numbers registers */

/*
 * What the kernel shows of a thread that sleeps: its system call, whose last two numbers are the
 * stack pointer and the pc, and how often it was on a CPU.
 */
struct asleep {
	char call[256];
	long long switches[2];
	uint64_t sp, pc;
};

static bool thread_copy_look(pid_t tid, struct asleep *ret_asleep)
{
	static const char *const names[] = {
		"\nvoluntary_ctxt_switches:\t", "\nnonvoluntary_ctxt_switches:\t"};
	struct buf text _cleanup_(buf_done) = {0}, status _cleanup_(buf_done) = {0};
	const char *words[2] = {NULL, NULL};
	struct asleep asleep = {0};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	if (proc_read_line(path, &text) < 0 || text.len >= sizeof(asleep.call))
		return false;
	memcpy(asleep.call, buf_text(&text), text.len);
	for (const char *at = asleep.call; (at = strchr(at, ' ')); at++) {
		words[0] = words[1];
		words[1] = at;
	}
	if (!words[0]) /* "running" */
		return false;
	asleep.sp = strtoull(words[0], NULL, 16);
	asleep.pc = strtoull(words[1], NULL, 16);
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	if (proc_read_line(path, &status) < 0 || !(strstr(buf_text(&status), "\nState:\tS") ||
							 strstr(buf_text(&status), "\nState:\tD")))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *at = strstr(buf_text(&status), names[i]);

		if (!at)
			return false;
		asleep.switches[i] = atoll(at + strlen(names[i]));
	}
	*ret_asleep = asleep;
	return asleep.pc > UINT32_MAX; /* of a 64-bit program, as a rule */
}

/*
 * The stack of a thread that sleeps from its beginning to the end. The other registers are unknown:
 * this is enough for code that does not find its callers by the frame pointer.
 */
static bool thread_copy_asleep(pid_t tid, size_t stack_max, struct attar_thread_copy *copy)
{
	const struct unwind_machine *machine = unwind_machine_native();
	struct asleep before, after;

	if (!machine || stack_max > ATTAR_THREAD_STACK_MAX || !thread_copy_look(tid, &before))
		return false;
	if (make_room(copy, stack_max) < 0) {
		attar_error_clear();
		return false;
	}
	copy->registers[0] = before.sp;
	copy->registers[1] = before.pc;
	copy->input = (struct attar_unwind_input){
		.regs = {.abi = PERF_SAMPLE_REGS_ABI_64,
			.nr = 2,
			.mask = machine->pc ? 1ULL << X86_SP | 1ULL << X86_IP
					    : 1ULL << ARM64_SP | 1ULL << ARM64_PC,
			.values = copy->registers},
		.stack = copy->stack,
		.stack_size = read_memory(tid, before.sp, copy->stack, stack_max)};
	if (copy->while_still)
		copy->while_still(copy->ctx, tid);
	return thread_copy_look(tid, &after) && !memcmp(&before, &after, sizeof(after));
}

/* Adds to copy->stopped. */
static int thread_copy_take(
	pid_t tid, size_t stack_max, struct attar_thread_copy *copy, struct other_copy *other)
{
	const struct unwind_machine *machine = unwind_machine_native();
	uint64_t began;
	int signal = 0, r;

	if (!machine)
		return attar_fail(
			-EOPNOTSUPP, "stacks of threads are supported on x86-64 and arm64 only");
	if (stack_max > ATTAR_THREAD_STACK_MAX)
		return attar_fail(-EINVAL, "cannot copy %zu bytes of a stack: at most %d",
			stack_max, ATTAR_THREAD_STACK_MAX);
	r = make_room(copy, stack_max);
	if (r < 0)
		return r;
	proc_memory_hold();
	began = base_now();
	r = thread_copy_stop(tid, &signal);
	if (r == 0) {
		r = copy_stopped(tid, machine, stack_max, copy, other);
		if (r == 0 && copy->while_still)
			copy->while_still(copy->ctx, tid);
		resume(tid, signal);
		copy->stopped += base_now() - began;
	}
	proc_memory_release();
	return r;
}

ssize_t thread_memory(pid_t tid, uint64_t address, void *bytes, size_t n)
{
	CHECK_ARG(bytes, "bytes");
	return proc_memory_read(tid, address, bytes, n);
}

int thread_take_copy(pid_t tid, size_t stack_max, struct attar_thread_copy *copy)
{
	CHECK_ARG(copy, "copy");

	copy->stopped = 0;
	return thread_copy_take(
		tid, stack_max ?: ATTAR_THREAD_STACK_DEFAULT, copy, &(struct other_copy){0});
}

/* ---- copy and unwind ---- */

ssize_t thread_stack(pid_t tid, size_t stack_max, struct attar_address_space *space,
	struct attar_thread_copy *copy, attar_location *locations, size_t max,
	enum attar_unwind_end *ret_end)
{
	CHECK_ARG(space, "space");
	CHECK_ARG(copy, "copy");
	CHECK_ARG(locations, "locations");

	struct other_copy other = {0};
	enum attar_unwind_end end;
	ssize_t n = 0;
	int r;

	stack_max = stack_max ?: ATTAR_THREAD_STACK_DEFAULT;
	ret_end = ret_end ?: &end;
	copy->stopped = 0;
	if (thread_copy_asleep(tid, stack_max, copy)) {
		n = (ssize_t)unwind_stacks(
			space, &copy->input, NULL, locations, max, ret_end, &other.stack.sp);
		if (*ret_end == ATTAR_UNWIND_COMPLETE)
			return n;
		other.stack.sp = 0;
	}
	r = thread_copy_take(tid, stack_max, copy, &other);
	if (r == 0)
		n = (ssize_t)unwind_stacks(
			space, &copy->input, NULL, locations, max, ret_end, &other.stack.sp);
	if (r < 0 || *ret_end != ATTAR_UNWIND_OTHER_STACK)
		return r < 0 ? r : n;
	/* where the interrupted code is on its stack is known now: both are copied at one moment */
	other.bytes = malloc(stack_max);
	r = other.bytes ? thread_copy_take(tid, stack_max, copy, &other) : base_oom();
	if (r == 0)
		n = (ssize_t)unwind_stacks(space, &copy->input, &other.stack, locations, max,
			ret_end, &other.stack.sp);
	free(other.bytes);
	return r < 0 ? r : n;
}

void thread_copy_done(struct attar_thread_copy *copy)
{
	CHECK_ARG_OR(copy, "copy", );

	free(copy->stack);
	*copy = (struct attar_thread_copy){0};
}
