/* SPDX-License-Identifier: MIT */
/* Names of flags of processes, threads, memory and signals. */
#include <stdbool.h>

#include "calls/names.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <linux/keyctl.h>
#include <linux/membarrier.h>
#include <linux/perf_event.h>
#include <linux/prctl.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>

#include "calls/names_table.h"

/* ---- memory ---- */

/* mmap(2), include/uapi/asm-generic/mman-common.h and arch/x86/include/uapi/asm/mman.h */
static const struct calls_value protection_values[] = {V(PROT_NONE), V(PROT_READ), V(PROT_WRITE),
	V(PROT_EXEC), {8, "PROT_SEM"}, {0x01000000, "PROT_GROWSDOWN"},
	{0x02000000, "PROT_GROWSUP"}};
CALLS_FLAGS(protection, "PROT_???");

static const struct calls_value mapping_values[] = {{1, "MAP_SHARED"}, {2, "MAP_PRIVATE"},
	{3, "MAP_SHARED_VALIDATE"}, {0x10, "MAP_FIXED"}, {0x20, "MAP_ANONYMOUS"},
#ifdef __x86_64__
	{0x40, "MAP_32BIT"},
#endif
	{0x4000, "MAP_NORESERVE"}, {0x8000, "MAP_POPULATE"}, {0x10000, "MAP_NONBLOCK"},
	{0x100, "MAP_GROWSDOWN"}, {0x800, "MAP_DENYWRITE"}, {0x1000, "MAP_EXECUTABLE"},
	{0x2000, "MAP_LOCKED"}, {0x20000, "MAP_STACK"}, {0x40000, "MAP_HUGETLB"},
	{0x80000, "MAP_SYNC"}, {0x100000, "MAP_FIXED_NOREPLACE"}};
CALLS_FLAGS_WITH(mapping, 0xf, "MAP_???");

static const struct calls_value mremap_values[] = {
	{1, "MREMAP_MAYMOVE"}, {2, "MREMAP_FIXED"}, {4, "MREMAP_DONTUNMAP"}};
CALLS_FLAGS(mremap, "MREMAP_???");

static const struct calls_value msync_values[] = {V(MS_ASYNC), V(MS_INVALIDATE), V(MS_SYNC)};
CALLS_FLAGS(msync, "MS_???");

static const struct calls_value mlock_values[] = {V(MCL_CURRENT), V(MCL_FUTURE), V(MCL_ONFAULT)};
CALLS_FLAGS(mlock, "MCL_???");

static const struct calls_value mlock2_values[] = {{1, "MLOCK_ONFAULT"}};
CALLS_FLAGS(mlock2, "MLOCK_???");

/* madvise(2) */
static const struct calls_value advice_values[] = {V(MADV_NORMAL), V(MADV_RANDOM),
	V(MADV_SEQUENTIAL), V(MADV_WILLNEED), V(MADV_DONTNEED), V(MADV_FREE), V(MADV_REMOVE),
	V(MADV_DONTFORK), V(MADV_DOFORK), V(MADV_HWPOISON), {101, "MADV_SOFT_OFFLINE"},
	V(MADV_MERGEABLE), V(MADV_UNMERGEABLE), V(MADV_HUGEPAGE), V(MADV_NOHUGEPAGE),
	V(MADV_DONTDUMP), V(MADV_DODUMP), V(MADV_WIPEONFORK), V(MADV_KEEPONFORK), V(MADV_COLD),
	V(MADV_PAGEOUT), {22, "MADV_POPULATE_READ"}, {23, "MADV_POPULATE_WRITE"},
	{24, "MADV_DONTNEED_LOCKED"}, {25, "MADV_COLLAPSE"}};
CALLS_ONE(advice, "MADV_???");

/* ---- processes and threads ---- */

/* clone(2), include/uapi/linux/sched.h */
static const struct calls_value clone_values[] = {{CLONE_VM, "CLONE_VM"}, {CLONE_FS, "CLONE_FS"},
	{CLONE_FILES, "CLONE_FILES"}, {CLONE_SIGHAND, "CLONE_SIGHAND"}, {0x1000, "CLONE_PIDFD"},
	{CLONE_PTRACE, "CLONE_PTRACE"}, {CLONE_VFORK, "CLONE_VFORK"},
	{CLONE_PARENT, "CLONE_PARENT"}, {CLONE_THREAD, "CLONE_THREAD"},
	{CLONE_NEWNS, "CLONE_NEWNS"}, {CLONE_SYSVSEM, "CLONE_SYSVSEM"},
	{CLONE_SETTLS, "CLONE_SETTLS"}, {CLONE_PARENT_SETTID, "CLONE_PARENT_SETTID"},
	{CLONE_CHILD_CLEARTID, "CLONE_CHILD_CLEARTID"}, {CLONE_DETACHED, "CLONE_DETACHED"},
	{CLONE_UNTRACED, "CLONE_UNTRACED"}, {CLONE_CHILD_SETTID, "CLONE_CHILD_SETTID"},
	{0x02000000, "CLONE_NEWCGROUP"}, {CLONE_NEWUTS, "CLONE_NEWUTS"},
	{CLONE_NEWIPC, "CLONE_NEWIPC"}, {CLONE_NEWUSER, "CLONE_NEWUSER"},
	{CLONE_NEWPID, "CLONE_NEWPID"}, {CLONE_NEWNET, "CLONE_NEWNET"}, {CLONE_IO, "CLONE_IO"},
	{0x100000000ULL, "CLONE_CLEAR_SIGHAND"}, {0x200000000ULL, "CLONE_INTO_CGROUP"},
	{0x80, "CLONE_NEWTIME"}};
CALLS_TABLE(clone, 0, "CLONE_???", 64);

static const struct calls_value wait_values[] = {V(WNOHANG), V(WUNTRACED), V(WEXITED),
	V(WCONTINUED), V(WNOWAIT), V(__WNOTHREAD), V(__WALL), V(__WCLONE)};
CALLS_FLAGS(wait, "W???");

static const struct calls_value id_type_values[] = {
	{0, "P_ALL"}, {1, "P_PID"}, {2, "P_PGID"}, {3, "P_PIDFD"}};
CALLS_ONE(id_type, "P_???");

/* futex(2), include/uapi/linux/futex.h: the operation without its flags */
static const struct calls_value futex_values[] = {V(FUTEX_WAIT), V(FUTEX_WAKE), V(FUTEX_FD),
	V(FUTEX_REQUEUE), V(FUTEX_CMP_REQUEUE), V(FUTEX_WAKE_OP), V(FUTEX_LOCK_PI),
	V(FUTEX_UNLOCK_PI), V(FUTEX_TRYLOCK_PI), V(FUTEX_WAIT_BITSET), V(FUTEX_WAKE_BITSET),
	V(FUTEX_WAIT_REQUEUE_PI), V(FUTEX_CMP_REQUEUE_PI), {13, "FUTEX_LOCK_PI2"}};
CALLS_ONE(futex, "FUTEX_???");

static const struct calls_value getrandom_values[] = {
	V(GRND_NONBLOCK), V(GRND_RANDOM), V(GRND_INSECURE)};
CALLS_FLAGS(getrandom, "GRND_???");

/* getrlimit(2), include/uapi/asm-generic/resource.h */
static const struct calls_value limit_values[] = {{0, "RLIMIT_CPU"}, {1, "RLIMIT_FSIZE"},
	{2, "RLIMIT_DATA"}, {3, "RLIMIT_STACK"}, {4, "RLIMIT_CORE"}, {5, "RLIMIT_RSS"},
	{6, "RLIMIT_NPROC"}, {7, "RLIMIT_NOFILE"}, {8, "RLIMIT_MEMLOCK"}, {9, "RLIMIT_AS"},
	{10, "RLIMIT_LOCKS"}, {11, "RLIMIT_SIGPENDING"}, {12, "RLIMIT_MSGQUEUE"},
	{13, "RLIMIT_NICE"}, {14, "RLIMIT_RTPRIO"}, {15, "RLIMIT_RTTIME"}};
CALLS_ONE(limit, "RLIMIT_???");

static const struct calls_value usage_values[] = {
	{0, "RUSAGE_SELF"}, {(uint32_t)-1, "RUSAGE_CHILDREN"}, {1, "RUSAGE_THREAD"}};
CALLS_ONE(usage, "RUSAGE_???");

static const struct calls_value priority_values[] = {
	{0, "PRIO_PROCESS"}, {1, "PRIO_PGRP"}, {2, "PRIO_USER"}};
CALLS_ONE(priority, "PRIO_???");

/* include/uapi/linux/ioprio.h */
static const struct calls_value io_priority_values[] = {
	{1, "IOPRIO_WHO_PROCESS"}, {2, "IOPRIO_WHO_PGRP"}, {3, "IOPRIO_WHO_USER"}};
CALLS_ONE(io_priority, "IOPRIO_WHO_???");

static const struct calls_value scheduler_values[] = {{0, "SCHED_OTHER"}, {1, "SCHED_FIFO"},
	{2, "SCHED_RR"}, {3, "SCHED_BATCH"}, {5, "SCHED_IDLE"}, {6, "SCHED_DEADLINE"},
	{7, "SCHED_EXT"}, {0x40000000, "SCHED_RESET_ON_FORK"}};
CALLS_FLAGS_WITH(scheduler, 0xff, "SCHED_???");

/* prctl(2), include/uapi/linux/prctl.h */
static const struct calls_value prctl_values[] = {V(PR_SET_PDEATHSIG), V(PR_GET_PDEATHSIG),
	V(PR_GET_DUMPABLE), V(PR_SET_DUMPABLE), V(PR_GET_UNALIGN), V(PR_SET_UNALIGN),
	V(PR_GET_KEEPCAPS), V(PR_SET_KEEPCAPS), V(PR_GET_TIMING), V(PR_SET_TIMING), V(PR_SET_NAME),
	V(PR_GET_NAME), V(PR_GET_SECCOMP), V(PR_SET_SECCOMP), V(PR_CAPBSET_READ),
	V(PR_CAPBSET_DROP), V(PR_GET_TSC), V(PR_SET_TSC), V(PR_GET_SECUREBITS),
	V(PR_SET_SECUREBITS), V(PR_SET_TIMERSLACK), V(PR_GET_TIMERSLACK),
	V(PR_TASK_PERF_EVENTS_DISABLE), V(PR_TASK_PERF_EVENTS_ENABLE), V(PR_MCE_KILL),
	V(PR_MCE_KILL_GET), V(PR_SET_MM), V(PR_SET_PTRACER), V(PR_SET_CHILD_SUBREAPER),
	V(PR_GET_CHILD_SUBREAPER), V(PR_SET_NO_NEW_PRIVS), V(PR_GET_NO_NEW_PRIVS),
	V(PR_GET_TID_ADDRESS), V(PR_SET_THP_DISABLE), V(PR_GET_THP_DISABLE), V(PR_CAP_AMBIENT),
	V(PR_GET_SPECULATION_CTRL), V(PR_SET_SPECULATION_CTRL), V(PR_SET_IO_FLUSHER),
	V(PR_GET_IO_FLUSHER), V(PR_SET_SYSCALL_USER_DISPATCH), {62, "PR_SCHED_CORE"},
	{0x53564d41, "PR_SET_VMA"}, {65, "PR_SET_MDWE"}, {66, "PR_GET_MDWE"}};
CALLS_ONE(prctl, "PR_???");

/* arch_prctl(2), arch/x86/include/uapi/asm/prctl.h */
static const struct calls_value arch_prctl_values[] = {{0x1001, "ARCH_SET_GS"},
	{0x1002, "ARCH_SET_FS"}, {0x1003, "ARCH_GET_FS"}, {0x1004, "ARCH_GET_GS"},
	{0x1011, "ARCH_GET_CPUID"}, {0x1012, "ARCH_SET_CPUID"}, {0x1021, "ARCH_GET_XCOMP_SUPP"},
	{0x1022, "ARCH_GET_XCOMP_PERM"}, {0x1023, "ARCH_REQ_XCOMP_PERM"},
	{0x2001, "ARCH_MAP_VDSO_X32"}, {0x2002, "ARCH_MAP_VDSO_32"}, {0x2003, "ARCH_MAP_VDSO_64"},
	{0x3001, "ARCH_CET_STATUS"}, {0x5001, "ARCH_SHSTK_ENABLE"}, {0x5002, "ARCH_SHSTK_DISABLE"},
	{0x5003, "ARCH_SHSTK_LOCK"}, {0x5005, "ARCH_SHSTK_STATUS"}};
CALLS_ONE(arch_prctl, "ARCH_???");

/* ptrace(2), include/uapi/linux/ptrace.h */
static const struct calls_value ptrace_values[] = {{0, "PTRACE_TRACEME"}, {1, "PTRACE_PEEKTEXT"},
	{2, "PTRACE_PEEKDATA"}, {3, "PTRACE_PEEKUSER"}, {4, "PTRACE_POKETEXT"},
	{5, "PTRACE_POKEDATA"}, {6, "PTRACE_POKEUSER"}, {7, "PTRACE_CONT"}, {8, "PTRACE_KILL"},
	{9, "PTRACE_SINGLESTEP"}, {12, "PTRACE_GETREGS"}, {13, "PTRACE_SETREGS"},
	{14, "PTRACE_GETFPREGS"}, {15, "PTRACE_SETFPREGS"}, {16, "PTRACE_ATTACH"},
	{17, "PTRACE_DETACH"}, {24, "PTRACE_SYSCALL"}, {0x4200, "PTRACE_SETOPTIONS"},
	{0x4201, "PTRACE_GETEVENTMSG"}, {0x4202, "PTRACE_GETSIGINFO"},
	{0x4203, "PTRACE_SETSIGINFO"}, {0x4204, "PTRACE_GETREGSET"}, {0x4205, "PTRACE_SETREGSET"},
	{0x4206, "PTRACE_SEIZE"}, {0x4207, "PTRACE_INTERRUPT"}, {0x4208, "PTRACE_LISTEN"},
	{0x4209, "PTRACE_PEEKSIGINFO"}, {0x420e, "PTRACE_GET_SYSCALL_INFO"}};
CALLS_ONE(ptrace, "PTRACE_???");

static const struct calls_value seccomp_values[] = {{0, "SECCOMP_SET_MODE_STRICT"},
	{1, "SECCOMP_SET_MODE_FILTER"}, {2, "SECCOMP_GET_ACTION_AVAIL"},
	{3, "SECCOMP_GET_NOTIF_SIZES"}};
CALLS_ONE(seccomp, "SECCOMP_???");

/* include/uapi/linux/membarrier.h */
static const struct calls_value membarrier_values[] = {{0, "MEMBARRIER_CMD_QUERY"},
	{1, "MEMBARRIER_CMD_GLOBAL"}, {2, "MEMBARRIER_CMD_GLOBAL_EXPEDITED"},
	{4, "MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED"}, {8, "MEMBARRIER_CMD_PRIVATE_EXPEDITED"},
	{16, "MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED"}};
CALLS_ONE(membarrier, "MEMBARRIER_CMD_???");

/* bpf(2), include/uapi/linux/bpf.h */
static const struct calls_value bpf_values[] = {V(BPF_MAP_CREATE), V(BPF_MAP_LOOKUP_ELEM),
	V(BPF_MAP_UPDATE_ELEM), V(BPF_MAP_DELETE_ELEM), V(BPF_MAP_GET_NEXT_KEY), V(BPF_PROG_LOAD),
	V(BPF_OBJ_PIN), V(BPF_OBJ_GET), V(BPF_PROG_ATTACH), V(BPF_PROG_DETACH),
	{10, "BPF_PROG_TEST_RUN"}, V(BPF_PROG_GET_NEXT_ID), V(BPF_MAP_GET_NEXT_ID),
	V(BPF_PROG_GET_FD_BY_ID), V(BPF_MAP_GET_FD_BY_ID), V(BPF_OBJ_GET_INFO_BY_FD),
	V(BPF_PROG_QUERY), V(BPF_RAW_TRACEPOINT_OPEN), V(BPF_BTF_LOAD), V(BPF_BTF_GET_FD_BY_ID),
	V(BPF_TASK_FD_QUERY), V(BPF_MAP_LOOKUP_AND_DELETE_ELEM), V(BPF_MAP_FREEZE),
	V(BPF_BTF_GET_NEXT_ID), V(BPF_MAP_LOOKUP_BATCH), V(BPF_MAP_LOOKUP_AND_DELETE_BATCH),
	V(BPF_MAP_UPDATE_BATCH), V(BPF_MAP_DELETE_BATCH), V(BPF_LINK_CREATE), V(BPF_LINK_UPDATE),
	V(BPF_LINK_GET_FD_BY_ID), V(BPF_LINK_GET_NEXT_ID), V(BPF_ENABLE_STATS), V(BPF_ITER_CREATE),
	V(BPF_LINK_DETACH), V(BPF_PROG_BIND_MAP)};
CALLS_ONE(bpf, "BPF_???");

static const struct calls_value perf_open_values[] = {V(PERF_FLAG_FD_NO_GROUP),
	V(PERF_FLAG_FD_OUTPUT), V(PERF_FLAG_PID_CGROUP), V(PERF_FLAG_FD_CLOEXEC)};
CALLS_FLAGS(perf_open, "PERF_FLAG_???");

/* keyctl(2), include/uapi/linux/keyctl.h */
static const struct calls_value keyctl_values[] = {V(KEYCTL_GET_KEYRING_ID),
	V(KEYCTL_JOIN_SESSION_KEYRING), V(KEYCTL_UPDATE), V(KEYCTL_REVOKE), V(KEYCTL_CHOWN),
	V(KEYCTL_SETPERM), V(KEYCTL_DESCRIBE), V(KEYCTL_CLEAR), V(KEYCTL_LINK), V(KEYCTL_UNLINK),
	V(KEYCTL_SEARCH), V(KEYCTL_READ), V(KEYCTL_INSTANTIATE), V(KEYCTL_NEGATE)};
CALLS_ONE(keyctl, "KEYCTL_???");

/* ---- signals ---- */

/* signal(7), include/uapi/asm-generic/signal.h */
static const struct calls_value signal_values[] = {{1, "SIGHUP"}, {2, "SIGINT"}, {3, "SIGQUIT"},
	{4, "SIGILL"}, {5, "SIGTRAP"}, {6, "SIGABRT"}, {7, "SIGBUS"}, {8, "SIGFPE"}, {9, "SIGKILL"},
	{10, "SIGUSR1"}, {11, "SIGSEGV"}, {12, "SIGUSR2"}, {13, "SIGPIPE"}, {14, "SIGALRM"},
	{15, "SIGTERM"}, {16, "SIGSTKFLT"}, {17, "SIGCHLD"}, {18, "SIGCONT"}, {19, "SIGSTOP"},
	{20, "SIGTSTP"}, {21, "SIGTTIN"}, {22, "SIGTTOU"}, {23, "SIGURG"}, {24, "SIGXCPU"},
	{25, "SIGXFSZ"}, {26, "SIGVTALRM"}, {27, "SIGPROF"}, {28, "SIGWINCH"}, {29, "SIGIO"},
	{30, "SIGPWR"}, {31, "SIGSYS"}, {32, "SIGRTMIN"}, {33, "SIGRT_1"}, {34, "SIGRT_2"},
	{35, "SIGRT_3"}, {36, "SIGRT_4"}, {37, "SIGRT_5"}, {38, "SIGRT_6"}, {39, "SIGRT_7"},
	{40, "SIGRT_8"}, {41, "SIGRT_9"}, {42, "SIGRT_10"}, {43, "SIGRT_11"}, {44, "SIGRT_12"},
	{45, "SIGRT_13"}, {46, "SIGRT_14"}, {47, "SIGRT_15"}, {48, "SIGRT_16"}, {49, "SIGRT_17"},
	{50, "SIGRT_18"}, {51, "SIGRT_19"}, {52, "SIGRT_20"}, {53, "SIGRT_21"}, {54, "SIGRT_22"},
	{55, "SIGRT_23"}, {56, "SIGRT_24"}, {57, "SIGRT_25"}, {58, "SIGRT_26"}, {59, "SIGRT_27"},
	{60, "SIGRT_28"}, {61, "SIGRT_29"}, {62, "SIGRT_30"}, {63, "SIGRT_31"}, {64, "SIGRT_32"}};
const struct calls_names calls_names_signal = {.choice = UINT64_MAX,
	.at = signal_values,
	.n = sizeof(signal_values) / sizeof(*signal_values),
	.bits = 32,
	.is_decimal = true};

static const struct calls_value sigmask_values[] = {
	{0, "SIG_BLOCK"}, {1, "SIG_UNBLOCK"}, {2, "SIG_SETMASK"}};
CALLS_ONE(sigmask, "SIG_???");

/* sigaction(2); SA_RESTORER is of arch/x86/include/uapi/asm/signal.h */
static const struct calls_value sigaction_values[] = {{0x04000000, "SA_RESTORER"},
	{0x08000000, "SA_ONSTACK"}, {0x10000000, "SA_RESTART"}, {0x40000000, "SA_NODEFER"},
	{0x80000000, "SA_RESETHAND"}, {4, "SA_SIGINFO"}, {1, "SA_NOCLDSTOP"}, {2, "SA_NOCLDWAIT"},
	{0x400, "SA_UNSUPPORTED"}, {0x800, "SA_EXPOSE_TAGBITS"}};
CALLS_FLAGS(sigaction, "SA_???");

static const struct calls_value signalfd_values[] = {V(SFD_CLOEXEC), V(SFD_NONBLOCK)};
CALLS_FLAGS(signalfd, "SFD_???");

/* ---- time ---- */

/* clock_gettime(2), include/uapi/linux/time.h */
static const struct calls_value clock_values[] = {{0, "CLOCK_REALTIME"}, {1, "CLOCK_MONOTONIC"},
	{2, "CLOCK_PROCESS_CPUTIME_ID"}, {3, "CLOCK_THREAD_CPUTIME_ID"}, {4, "CLOCK_MONOTONIC_RAW"},
	{5, "CLOCK_REALTIME_COARSE"}, {6, "CLOCK_MONOTONIC_COARSE"}, {7, "CLOCK_BOOTTIME"},
	{8, "CLOCK_REALTIME_ALARM"}, {9, "CLOCK_BOOTTIME_ALARM"}, {11, "CLOCK_TAI"}};
CALLS_ONE(clock, "CLOCK_???");

static const struct calls_value timer_values[] = {{1, "TIMER_ABSTIME"}};
CALLS_FLAGS(timer, "TIMER_???");

static const struct calls_value timerfd_values[] = {V(TFD_CLOEXEC), V(TFD_NONBLOCK)};
CALLS_FLAGS(timerfd, "TFD_???");

static const struct calls_value timerfd_set_values[] = {
	V(TFD_TIMER_ABSTIME), V(TFD_TIMER_CANCEL_ON_SET)};
CALLS_FLAGS(timerfd_set, "TFD_???");

static const struct calls_value itimer_values[] = {
	{0, "ITIMER_REAL"}, {1, "ITIMER_VIRTUAL"}, {2, "ITIMER_PROF"}};
CALLS_ONE(itimer, "ITIMER_???");

/* ---- names and errors ---- */

const char *calls_find_name(const struct calls_names *names, uint64_t value)
{
	for (size_t i = 0; i < names->n; i++)
		if (names->at[i].value == value)
			return names->at[i].name;
	return NULL;
}

/* include/linux/errno.h of the kernel: what a tracer sees, and programs never get. */
static const struct {
	int error;
	const char *name, *text;
} own_errors[] = {{512, "ERESTARTSYS", "To be restarted if SA_RESTART is set"},
	{513, "ERESTARTNOINTR", "To be restarted"},
	{514, "ERESTARTNOHAND", "To be restarted if no handler"},
	{516, "ERESTART_RESTARTBLOCK", "Interrupted by signal"}};

const char *calls_error_name(int error)
{
	for (size_t i = 0; i < sizeof(own_errors) / sizeof(*own_errors); i++)
		if (own_errors[i].error == error)
			return own_errors[i].name;
	return strerrorname_np(error);
}

const char *calls_error_text(int error)
{
	for (size_t i = 0; i < sizeof(own_errors) / sizeof(*own_errors); i++)
		if (own_errors[i].error == error)
			return own_errors[i].text;
	return strerrordesc_np(error) ?: "Unknown error";
}
