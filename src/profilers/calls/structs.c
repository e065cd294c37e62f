/* SPDX-License-Identifier: MIT */
/*
 * Structures of files, time, memory and signals, as the kernel has them on 64-bit machines; from
 * include/uapi and, of signals, arch/x86/include/uapi/asm/signal.h.
 */
#include "calls/structs.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "calls/line.h"

/* Defines calls_struct_NAME for a type, and the beginning of its function, with the value. */
#define SHOWN(name_, type_, ...)                                                                   \
	static void show_##name_(struct calls_line *line, const struct calls_call *call,           \
		unsigned i, const char *bytes, size_t n);                                          \
	const struct calls_struct calls_struct_##name_ = {                                         \
		.show = show_##name_, .size = sizeof(type_), .is_whole = true, __VA_ARGS__};       \
	static void show_##name_(struct calls_line *line, const struct calls_call *call,           \
		unsigned i, const char *bytes, size_t n)

#define UNUSED ((void)call, (void)i, (void)n)

/* The same for the exit. */
#define SHOWN_OUT(name_, of_, type_)                                                               \
	const struct calls_struct calls_struct_##name_ = {                                         \
		.show = show_##of_, .size = sizeof(type_), .is_whole = true, .at_exit = true}

/* ---- files ---- */

static void show_mode(struct calls_line *line, const char *field, unsigned mode)
{
	calls_line_add(line, "%s=", field);
	calls_line_mode(line, mode);
}

SHOWN(stat, struct stat, .at_exit = true)
{
	struct stat st;

	UNUSED;
	memcpy(&st, bytes, sizeof(st));
	show_mode(line, "{st_mode", st.st_mode);
	if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
		calls_line_add(line, ", st_rdev=makedev(%#x, %#x), ...}", major(st.st_rdev),
			minor(st.st_rdev));
	else
		calls_line_add(line, ", st_size=%jd, ...}", (intmax_t)st.st_size);
}

SHOWN(statx, struct statx, .at_exit = true)
{
	struct statx st;

	UNUSED;
	memcpy(&st, bytes, sizeof(st));
	calls_line_add(line, "{stx_mask=");
	calls_line_names(line, &calls_names_statx_mask, st.stx_mask);
	calls_line_add(line, ", stx_attributes=%s%" PRIx64, st.stx_attributes ? "0x" : "",
		(uint64_t)st.stx_attributes);
	show_mode(line, ", stx_mode", st.stx_mode);
	calls_line_add(line, ", stx_size=%" PRIu64 ", ...}", (uint64_t)st.stx_size);
}

SHOWN(pair, int[2], .at_exit = true)
{
	int pair[2];

	UNUSED;
	memcpy(pair, bytes, sizeof(pair));
	calls_line_add(line, "[");
	calls_line_fd(line, call->pid, pair[0]);
	calls_line_add(line, ", ");
	calls_line_fd(line, call->pid, pair[1]);
	calls_line_add(line, "]");
}

/* ---- time ---- */

SHOWN(timespec, struct timespec)
{
	struct timespec t;

	UNUSED;
	memcpy(&t, bytes, sizeof(t));
	calls_line_add(line, "{tv_sec=%jd, tv_nsec=%ld}", (intmax_t)t.tv_sec, t.tv_nsec);
}
SHOWN_OUT(timespec_out, timespec, struct timespec);

SHOWN(timeval_out, struct timeval, .at_exit = true)
{
	struct timeval t;

	UNUSED;
	memcpy(&t, bytes, sizeof(t));
	calls_line_add(line, "{tv_sec=%jd, tv_usec=%ld}", (intmax_t)t.tv_sec, (long)t.tv_usec);
}

/* ---- processes and memory ---- */

static void show_limit_value(struct calls_line *line, const struct calls_call *call, uint64_t value)
{
	if (value == UINT64_MAX)
		calls_line_add(line,
			!strcmp(call->name, "prlimit64") ? "RLIM64_INFINITY" : "RLIM_INFINITY");
	else if (value > 1024 && value % 1024 == 0)
		calls_line_add(line, "%" PRIu64 "*1024", value / 1024);
	else
		calls_line_add(line, "%" PRIu64, value);
}

SHOWN(limit, uint64_t[2])
{
	uint64_t limit[2];

	UNUSED;
	memcpy(limit, bytes, sizeof(limit));
	calls_line_add(line, "{rlim_cur=");
	show_limit_value(line, call, limit[0]);
	calls_line_add(line, ", rlim_max=");
	show_limit_value(line, call, limit[1]);
	calls_line_add(line, "}");
}
SHOWN_OUT(limit_out, limit, uint64_t[2]);

SHOWN(usage, struct rusage, .at_exit = true)
{
	struct rusage u;

	UNUSED;
	memcpy(&u, bytes, sizeof(u));
	calls_line_add(line,
		"{ru_utime={tv_sec=%jd, tv_usec=%ld}, ru_stime={tv_sec=%jd, tv_usec=%ld}, ...}",
		(intmax_t)u.ru_utime.tv_sec, (long)u.ru_utime.tv_usec, (intmax_t)u.ru_stime.tv_sec,
		(long)u.ru_stime.tv_usec);
}

static void show_wait_status(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	int status;

	(void)n;
	memcpy(&status, bytes, sizeof(status));
	if (call->result <= 0) {
		calls_line_pointer(line, call->args[i]);
	} else if (WIFEXITED(status)) {
		calls_line_add(
			line, "[{WIFEXITED(s) && WEXITSTATUS(s) == %d}]", WEXITSTATUS(status));
	} else if (WIFSIGNALED(status)) {
		calls_line_add(line, "[{WIFSIGNALED(s) && WTERMSIG(s) == ");
		calls_line_signal(line, WTERMSIG(status));
		calls_line_add(line, "%s}]", WCOREDUMP(status) ? " && WCOREDUMP(s)" : "");
	} else if (WIFSTOPPED(status)) {
		calls_line_add(line, "[{WIFSTOPPED(s) && WSTOPSIG(s) == ");
		calls_line_signal(line, WSTOPSIG(status));
		calls_line_add(line, "}]");
	} else {
		calls_line_add(line, "[{WIFCONTINUED(s)}]");
	}
}
SHOWN_OUT(wait_status, wait_status, int);

/* include/uapi/linux/sched.h: struct clone_args */
const struct calls_struct calls_struct_clone;
static void show_clone(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	static const char *const names[] = {NULL, "pidfd", "child_tid", "parent_tid", "exit_signal",
		"stack", "stack_size", "tls"};
	uint64_t args[8];
	enum { FLAGS, PIDFD, CHILD, PARENT, SIGNAL, STACK, STACK_SIZE, TLS };
	const uint64_t flag_of[] = {
		[PIDFD] = 0x1000, [CHILD] = 0x1200000, [PARENT] = 0x100000, [TLS] = 0x80000};

	(void)i;
	(void)n;
	memcpy(args, bytes, sizeof(args));
	calls_line_add(line, "{flags=");
	calls_line_names(line, &calls_names_clone, args[FLAGS]);
	for (size_t k = PIDFD; k <= TLS; k++) {
		if (k != SIGNAL && k != STACK && k != STACK_SIZE && !(args[FLAGS] & flag_of[k]))
			continue;
		calls_line_add(line, ", %s=", names[k]);
		if (k == SIGNAL)
			calls_line_signal(line, (int)args[k]);
		else if (k == STACK_SIZE)
			calls_line_add(line, args[k] ? "%#" PRIx64 : "%" PRIx64, args[k]);
		else
			calls_line_pointer(line, args[k]);
	}
	calls_line_add(line, "}");
	if (args[FLAGS] & flag_of[PARENT] && call->result > 0)
		calls_line_add(line, " => {parent_tid=[%" PRId64 "]}", call->result);
}
const struct calls_struct calls_struct_clone = {.show = show_clone, .size = 64, .is_whole = true};

/* A set of bits by CPU. */
static void show_cpus(struct calls_line *line, const struct calls_call *call, unsigned i,
	const char *bytes, size_t n)
{
	const char *between = "";

	(void)call;
	(void)i;
	calls_line_add(line, "[");
	for (size_t cpu = 0; cpu < n * 8; cpu++) {
		if (!(bytes[cpu / 8] >> cpu % 8 & 1))
			continue;
		calls_line_add(line, "%s%zu", between, cpu);
		between = " ";
	}
	calls_line_add(line, "]");
}
const struct calls_struct calls_struct_cpus = {
	.show = show_cpus, .size = 1, .max = 1024, .by_result = true, .at_exit = true};

SHOWN(uname, struct utsname, .at_exit = true)
{
	struct utsname u;

	UNUSED;
	memcpy(&u, bytes, sizeof(u));
	calls_line_add(line, "{sysname=");
	calls_line_quote(line, u.sysname, strnlen(u.sysname, sizeof(u.sysname)), false, false);
	calls_line_add(line, ", nodename=");
	calls_line_quote(line, u.nodename, strnlen(u.nodename, sizeof(u.nodename)), false, false);
	calls_line_add(line, ", ...}");
}

SHOWN(sysinfo, struct sysinfo, .at_exit = true)
{
	struct sysinfo s;

	UNUSED;
	memcpy(&s, bytes, sizeof(s));
	calls_line_add(line,
		"{uptime=%ld, loads=[%lu, %lu, %lu], totalram=%lu, freeram=%lu, sharedram=%lu, "
		"bufferram=%lu, totalswap=%lu, freeswap=%lu, procs=%u, totalhigh=%lu, "
		"freehigh=%lu, mem_unit=%u}",
		(long)s.uptime, s.loads[0], s.loads[1], s.loads[2], s.totalram, s.freeram,
		s.sharedram, s.bufferram, s.totalswap, s.freeswap, s.procs, s.totalhigh, s.freehigh,
		s.mem_unit);
}

/* ---- signals ---- */

static void show_signals(struct calls_line *line, uint64_t set)
{
	bool inverts = __builtin_popcountll(set) >= 64 * 2 / 3;
	const char *between = "";

	calls_line_add(line, inverts ? "~[" : "[");
	if (inverts)
		set = ~set;
	for (unsigned i = 0; i < 64; i++) {
		const char *name = calls_find_name(&calls_names_signal, i + 1);

		if (!(set >> i & 1))
			continue;
		calls_line_add(line, "%s%s", between, name ? name + strlen("SIG") : "?");
		between = " ";
	}
	calls_line_add(line, "]");
}

SHOWN(sigset, uint64_t)
{
	uint64_t set;

	UNUSED;
	memcpy(&set, bytes, sizeof(set));
	show_signals(line, set);
}
SHOWN_OUT(sigset_out, sigset, uint64_t);

struct kernel_sigaction {
	uint64_t handler, flags, restorer, mask;
};

SHOWN(sigaction, struct kernel_sigaction)
{
	struct kernel_sigaction action;

	UNUSED;
	memcpy(&action, bytes, sizeof(action));
	calls_line_add(line, action.flags & SA_SIGINFO ? "{sa_sigaction=" : "{sa_handler=");
	if (action.handler <= 1)
		calls_line_add(line, action.handler ? "SIG_IGN" : "SIG_DFL");
	else
		calls_line_pointer(line, action.handler);
	calls_line_add(line, ", sa_mask=");
	show_signals(line, action.mask);
	calls_line_add(line, ", sa_flags=");
	calls_line_names(line, &calls_names_sigaction, action.flags);
	if (action.flags & 0x04000000) {
		calls_line_add(line, ", sa_restorer=");
		calls_line_pointer(line, action.restorer);
	}
	calls_line_add(line, "}");
}
SHOWN_OUT(sigaction_out, sigaction, struct kernel_sigaction);

SHOWN(sigaltstack, stack_t)
{
	static const char *const flags[] = {"0", "SS_ONSTACK", "SS_DISABLE"};
	stack_t stack;

	UNUSED;
	memcpy(&stack, bytes, sizeof(stack));
	calls_line_add(line, "{ss_sp=");
	calls_line_pointer(line, (uintptr_t)stack.ss_sp);
	if (stack.ss_flags >= 0 && stack.ss_flags <= 2)
		calls_line_add(line, ", ss_flags=%s", flags[stack.ss_flags]);
	else
		calls_line_add(line, ", ss_flags=%#x", (unsigned)stack.ss_flags);
	calls_line_add(line, stack.ss_size ? ", ss_size=%#zx}" : ", ss_size=%zx}", stack.ss_size);
}
SHOWN_OUT(sigaltstack_out, sigaltstack, stack_t);
