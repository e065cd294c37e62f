/* SPDX-License-Identifier: MIT */
/*
 * The signatures of system calls, by name, from include/linux/syscalls.h of Linux 6.12 and the
 * manual pages of section 2. Calls that are not here are shown with six hexadecimal numbers.
 */
#include "calls/signatures.h"

#include <stdlib.h>
#include <string.h>

#define I                                                                                          \
	{                                                                                          \
		CALLS_INT, NULL                                                                    \
	}
#define U                                                                                          \
	{                                                                                          \
		CALLS_UINT, NULL                                                                   \
	}
#define L                                                                                          \
	{                                                                                          \
		CALLS_LONG, NULL                                                                   \
	}
#define UL                                                                                         \
	{                                                                                          \
		CALLS_ULONG, NULL                                                                  \
	}
#define X                                                                                          \
	{                                                                                          \
		CALLS_HEX, NULL                                                                    \
	}
#define P                                                                                          \
	{                                                                                          \
		CALLS_POINTER, NULL                                                                \
	}
#define O                                                                                          \
	{                                                                                          \
		CALLS_OCTAL, NULL                                                                  \
	}
#define FD                                                                                         \
	{                                                                                          \
		CALLS_FD, NULL                                                                     \
	}
#define AT                                                                                         \
	{                                                                                          \
		CALLS_DIRFD, NULL                                                                  \
	}
#define PATH                                                                                       \
	{                                                                                          \
		CALLS_PATH, NULL                                                                   \
	}
#define TEXT                                                                                       \
	{                                                                                          \
		CALLS_TEXT, NULL                                                                   \
	}
#define IN                                                                                         \
	{                                                                                          \
		CALLS_IN, NULL                                                                     \
	}
#define OUT                                                                                        \
	{                                                                                          \
		CALLS_OUT, NULL                                                                    \
	}
#define SIG                                                                                        \
	{                                                                                          \
		CALLS_SIGNAL, NULL                                                                 \
	}
#define ID                                                                                         \
	{                                                                                          \
		CALLS_ID, NULL                                                                     \
	}
#define SPECIAL                                                                                    \
	{                                                                                          \
		CALLS_SPECIAL, NULL                                                                \
	}
#define N(name_)                                                                                   \
	{                                                                                          \
		CALLS_NAMES, &calls_names_##name_                                                  \
	}

#define S(name_)                                                                                   \
	{                                                                                          \
		.kind = CALLS_STRUCT, .struct_ = &calls_struct_##name_                             \
	}
#define RET(what_) .result = CALLS_RETURNS_##what_
#define OF(class_) .classes = CALLS_OF_##class_
#define A(...)     .args = {__VA_ARGS__}

static const struct calls_signature signatures[] = {{"_sysctl", A(P)},
	{"accept", A(FD, S(address_out), S(int_out)), RET(FD), OF(NET)},
	{"accept4", A(FD, S(address_out), S(int_out), N(socket_flags)), RET(FD), OF(NET)},
	{"access", A(PATH, N(access))}, {"acct", A(PATH)}, {"add_key", A(TEXT, TEXT, IN, UL, I)},
	{"adjtimex", A(P), OF(CLOCK)}, {"alarm", A(U)},
	{"arch_prctl", A(N(arch_prctl), P), OF(PROCESS)}, {"bind", A(FD, S(address), I), OF(NET)},
	{"bpf", A(N(bpf), P, U), RET(NUMBER), OF(DESC)}, {"brk", A(P), RET(POINTER), OF(MEMORY)},
	{"cachestat", A(FD, P, P, X)}, {"capget", A(P, P), OF(CREDS)},
	{"capset", A(P, P), OF(CREDS)}, {"chdir", A(PATH)}, {"chmod", A(PATH, O)},
	{"chown", A(PATH, ID, ID)}, {"chroot", A(PATH)},
	{"clock_adjtime", A(N(clock), P), OF(CLOCK)},
	{"clock_getres", A(N(clock), S(timespec_out)), OF(CLOCK)},
	{"clock_gettime", A(N(clock), S(timespec_out)), OF(CLOCK)},
	{"clock_nanosleep", A(N(clock), N(timer), S(timespec), P)},
	{"clock_settime", A(N(clock), S(timespec)), OF(CLOCK)}, {"clone", A(SPECIAL), OF(PROCESS)},
	{"clone3", A(S(clone), UL), OF(PROCESS)}, {"close", A(FD)},
	{"close_range", A(U, U, N(close_range))}, {"connect", A(FD, S(address), I), OF(NET)},
	{"copy_file_range", A(FD, P, FD, P, UL, N(copy_range))}, {"creat", A(PATH, O), RET(FD)},
	{"delete_module", A(TEXT, N(open))}, {"dup", A(FD), RET(FD)}, {"dup2", A(FD, FD), RET(FD)},
	{"dup3", A(FD, FD, N(dup)), RET(FD)}, {"epoll_create", A(I), RET(FD), OF(DESC)},
	{"epoll_create1", A(N(epoll)), RET(FD), OF(DESC)},
	{"epoll_ctl", A(FD, N(epoll_operation), FD, S(epoll_event))},
	{"epoll_pwait", A(FD, S(epoll_events), I, I, S(sigset), UL)},
	{"epoll_pwait2", A(FD, P, I, P, P, UL)}, {"epoll_wait", A(FD, S(epoll_events), I, I)},
	{"eventfd", A(U), RET(FD), OF(DESC)}, {"eventfd2", A(U, N(eventfd)), RET(FD), OF(DESC)},
	{"execve", A(PATH, {.kind = CALLS_STRINGS}, {.kind = CALLS_ENVIRONMENT}), OF(PROCESS)},
	{"execveat", A(AT, PATH, {.kind = CALLS_STRINGS}, {.kind = CALLS_ENVIRONMENT}, N(at)),
		OF(PROCESS)},
	{"exit", A(I), RET(NOTHING), OF(PROCESS)}, {"exit_group", A(I), RET(NOTHING), OF(PROCESS)},
	{"faccessat", A(AT, PATH, N(access))}, {"faccessat2", A(AT, PATH, N(access), N(access_at))},
	{"fadvise64", A(FD, L, UL, N(fadvise))}, {"fallocate", A(FD, N(fallocate), L, L)},
	{"fanotify_init", A(X, N(open)), RET(FD), OF(DESC)},
	{"fanotify_mark", A(FD, X, X, AT, PATH)}, {"fchdir", A(FD)}, {"fchmod", A(FD, O)},
	{"fchmodat", A(AT, PATH, O)}, {"fchmodat2", A(AT, PATH, O, N(at))},
	{"fchown", A(FD, ID, ID)}, {"fchownat", A(AT, PATH, ID, ID, N(at))},
	{"fcntl", A(FD, SPECIAL), RET(FCNTL)}, {"fdatasync", A(FD)},
	{"fgetxattr", A(FD, TEXT, OUT, UL)}, {"finit_module", A(FD, TEXT, X)},
	{"flistxattr", A(FD, OUT, UL)}, {"flock", A(FD, N(flock))},
	{"fork", A({.kind = CALLS_END}), OF(PROCESS)}, {"fremovexattr", A(FD, TEXT)},
	{"fsconfig", A(FD, U, TEXT, P, I)}, {"fsetxattr", A(FD, TEXT, IN, UL, N(xattr))},
	{"fsmount", A(FD, X, X), RET(FD)}, {"fsopen", A(TEXT, X), RET(FD)},
	{"fspick", A(AT, PATH, X), RET(FD)}, {"fstat", A(FD, S(stat))}, {"fstatfs", A(FD, P)},
	{"fsync", A(FD)}, {"ftruncate", A(FD, L)}, {"futex", A(SPECIAL, U, U, S(timespec))},
	{"futex_waitv", A(P, U, X, P, N(clock))}, {"futimesat", A(AT, PATH, P)},
	{"get_mempolicy", A(P, P, UL, P, X), OF(MEMORY)}, {"get_robust_list", A(I, P, P)},
	{"getcpu", A(P, P, P)}, {"getcwd", A(OUT, UL), OF(FILE)}, {"getdents", A(FD, P, U)},
	{"getdents64", A(FD, P, UL)}, {"getegid", .classes = CALLS_OF_CREDS},
	{"geteuid", .classes = CALLS_OF_CREDS}, {"getgid", .classes = CALLS_OF_CREDS},
	{"getgroups", A(I, P), OF(CREDS)}, {"getitimer", A(N(itimer), P)},
	{"getpeername", A(FD, S(address_out), S(int_out)), OF(NET)}, {"getpgid", A(I)},
	{"getpgrp", RET(NUMBER)}, {"getpid", RET(NUMBER)}, {"getppid", RET(NUMBER)},
	{"getpriority", A(N(priority), I)},
	{"getrandom", A({.kind = CALLS_RANDOM}, UL, N(getrandom))},
	{"getresgid", A(P, P, P), OF(CREDS)}, {"getresuid", A(P, P, P), OF(CREDS)},
	{"getrlimit", A(N(limit), S(limit_out))}, {"getrusage", A(N(usage), S(usage))},
	{"getsid", A(I)}, {"getsockname", A(FD, S(address_out), S(int_out)), OF(NET)},
	{"getsockopt",
		A(FD, N(socket_level), {.kind = CALLS_SOCKET_OPTION}, S(option_out), S(int_out)),
		OF(NET)},
	{"gettid", RET(NUMBER)}, {"gettimeofday", A(S(timeval_out), P), OF(CLOCK)},
	{"getuid", .classes = CALLS_OF_CREDS}, {"getxattr", A(PATH, TEXT, OUT, UL)},
	{"init_module", A(P, UL, TEXT)}, {"inotify_add_watch", A(FD, PATH, N(inotify_events))},
	{"inotify_init", RET(FD), OF(DESC)}, {"inotify_init1", A(N(inotify)), RET(FD), OF(DESC)},
	{"inotify_rm_watch", A(FD, I)}, {"io_cancel", A(X, P, P)}, {"io_destroy", A(X)},
	{"io_getevents", A(X, L, L, P, P)}, {"io_setup", A(U, P), OF(MEMORY)},
	{"io_submit", A(X, L, P)}, {"io_uring_enter", A(FD, U, U, X, P, UL)},
	{"io_uring_register", A(FD, U, P, U)}, {"io_uring_setup", A(U, P), RET(FD), OF(DESC)},
	{"ioctl", A(FD, SPECIAL)}, {"ioperm", A(X, X, I)}, {"iopl", A(I)},
	{"ioprio_get", A(N(io_priority), I)}, {"ioprio_set", A(N(io_priority), I, X)},
	{"kcmp", A(I, I, U, X, X)}, {"kexec_load", A(P, UL, P, X)},
	{"keyctl", A(N(keyctl), X, X, X, X)}, {"kill", A(I, SIG), OF(SIGNAL)},
	{"landlock_add_rule", A(FD, U, P, X)},
	{"landlock_create_ruleset", A(P, UL, X), RET(FD), OF(DESC)},
	{"landlock_restrict_self", A(FD, X)}, {"lchown", A(PATH, ID, ID)},
	{"lgetxattr", A(PATH, TEXT, OUT, UL)}, {"link", A(PATH, PATH)},
	{"linkat", A(AT, PATH, AT, PATH, N(at))}, {"listen", A(FD, I), OF(NET)},
	{"listxattr", A(PATH, OUT, UL)}, {"llistxattr", A(PATH, OUT, UL)},
	{"lremovexattr", A(PATH, TEXT)}, {"lseek", A(FD, L, N(seek))},
	{"lsetxattr", A(PATH, TEXT, IN, UL, N(xattr))}, {"lstat", A(PATH, S(stat))},
	{"madvise", A(P, UL, N(advice)), OF(MEMORY)}, {"mbind", A(P, UL, X, P, UL, X), OF(MEMORY)},
	{"membarrier", A(N(membarrier), X, I), OF(MEMORY)},
	{"memfd_create", A(TEXT, N(memfd)), RET(FD), OF(DESC)},
	{"memfd_secret", A(N(dup)), RET(FD), OF(DESC)},
	{"migrate_pages", A(I, UL, P, P), OF(MEMORY)}, {"mincore", A(P, UL, P), OF(MEMORY)},
	{"mkdir", A(PATH, O)}, {"mkdirat", A(AT, PATH, O)},
	{"mknod", A(PATH, {.kind = CALLS_FILE_MODE}, {.kind = CALLS_DEVICE})},
	{"mknodat", A(AT, PATH, {.kind = CALLS_FILE_MODE}, {.kind = CALLS_DEVICE})},
	{"mlock", A(P, UL), OF(MEMORY)}, {"mlock2", A(P, UL, N(mlock2)), OF(MEMORY)},
	{"mlockall", A(N(mlock)), OF(MEMORY)},
	{"mmap", A(P, UL, N(protection), N(mapping), FD, {.kind = CALLS_OFFSET}), RET(POINTER),
		OF(MEMORY)},
	{"modify_ldt", A(I, P, UL)}, {"mount", A(PATH, PATH, TEXT, N(mount), P)},
	{"mount_setattr", A(AT, PATH, N(at), P, UL)}, {"move_mount", A(AT, PATH, AT, PATH, X)},
	{"move_pages", A(I, UL, P, P, P, X), OF(MEMORY)},
	{"mprotect", A(P, UL, N(protection)), OF(MEMORY)}, {"mq_getsetattr", A(FD, P, P)},
	{"mq_notify", A(FD, P)},
	{"mq_open", A(TEXT, N(open), {.kind = CALLS_OPEN_MODE}, P), RET(FD), OF(DESC)},
	{"mq_timedreceive", A(FD, OUT, UL, P, P)}, {"mq_timedsend", A(FD, IN, UL, U, P)},
	{"mq_unlink", A(TEXT)}, {"mremap", A(P, UL, UL, SPECIAL), RET(POINTER), OF(MEMORY)},
	{"mseal", A(P, UL, X), OF(MEMORY)}, {"msgctl", A(I, I, P), OF(IPC)},
	{"msgget", A(X, X), OF(IPC)}, {"msgrcv", A(I, P, UL, L, X), OF(IPC)},
	{"msgsnd", A(I, P, UL, X), OF(IPC)}, {"msync", A(P, UL, N(msync)), OF(MEMORY)},
	{"munlock", A(P, UL), OF(MEMORY)}, {"munlockall", OF(MEMORY)},
	{"munmap", A(P, UL), OF(MEMORY)}, {"name_to_handle_at", A(AT, PATH, P, P, N(at))},
	{"nanosleep", A(S(timespec), P)}, {"newfstatat", A(AT, PATH, S(stat), N(at))},
	{"open", A(PATH, N(open), {.kind = CALLS_OPEN_MODE}), RET(FD)},
	{"open_by_handle_at", A(FD, P, N(open)), RET(FD)}, {"open_tree", A(AT, PATH, X), RET(FD)},
	{"openat", A(AT, PATH, N(open), {.kind = CALLS_OPEN_MODE}), RET(FD)},
	{"openat2", A(AT, PATH, P, UL), RET(FD)}, {"pause", .classes = CALLS_OF_SIGNAL},
	{"perf_event_open", A(P, I, I, I, N(perf_open)), RET(FD), OF(DESC)}, {"personality", A(X)},
	{"pidfd_getfd", A(FD, I, X), RET(FD)}, {"pidfd_open", A(I, X), RET(FD), OF(DESC)},
	{"pidfd_send_signal", A(FD, SIG, P, X), OF(SIGNAL)}, {"pipe", A(S(pair)), OF(DESC)},
	{"pipe2", A(S(pair), N(pipe)), OF(DESC)}, {"pivot_root", A(PATH, PATH)},
	{"pkey_alloc", A(X, X)}, {"pkey_free", A(I)},
	{"pkey_mprotect", A(P, UL, N(protection), I), OF(MEMORY)},
	{"poll", A(S(poll), U, I), RET(POLL), OF(DESC)},
	{"ppoll", A(S(poll), U, S(timespec), S(sigset), UL), RET(POLL), OF(DESC)},
	{"prctl", A(SPECIAL), OF(CREDS)}, {"pread64", A(FD, OUT, UL, L)},
	{"preadv", A(FD, P, U, L)}, {"preadv2", A(FD, P, U, L, X, N(rw))},
	{"prlimit64", A(I, N(limit), S(limit), S(limit_out))},
	{"process_madvise", A(FD, P, UL, N(advice), X)}, {"process_mrelease", A(FD, X)},
	{"process_vm_readv", A(I, P, UL, P, UL, X)}, {"process_vm_writev", A(I, P, UL, P, UL, X)},
	{"pselect6", A(I, P, P, P, P, P), OF(DESC)}, {"ptrace", A(N(ptrace), I, P, P)},
	{"pwrite64", A(FD, IN, UL, L)}, {"pwritev", A(FD, P, U, L)},
	{"pwritev2", A(FD, P, U, L, X, N(rw))}, {"quotactl", A(X, PATH, U, P)},
	{"quotactl_fd", A(FD, X, U, P)}, {"read", A(FD, OUT, UL)}, {"readahead", A(FD, L, UL)},
	{"readlink", A(PATH, OUT, UL)}, {"readlinkat", A(AT, PATH, OUT, UL)},
	{"readv", A(FD, P, U)}, {"reboot", A(X, X, X, P)},
	{"recvfrom", A(FD, OUT, UL, N(message), S(address_out), S(int_out)), OF(NET)},
	{"recvmmsg", A(FD, P, U, N(message), P), OF(NET)},
	{"recvmsg", A(FD, P, N(message)), OF(NET)},
	{"remap_file_pages", A(P, UL, N(protection), UL, N(mapping)), OF(MEMORY)},
	{"removexattr", A(PATH, TEXT)}, {"rename", A(PATH, PATH)},
	{"renameat", A(AT, PATH, AT, PATH)}, {"renameat2", A(AT, PATH, AT, PATH, N(rename))},
	{"request_key", A(TEXT, TEXT, TEXT, I)}, {"restart_syscall", RET(NUMBER)},
	{"rmdir", A(PATH)}, {"rseq", A(P, X, X, X)},
	{"rt_sigaction", A(SIG, S(sigaction), S(sigaction_out), UL), OF(SIGNAL)},
	{"rt_sigpending", A(P, UL), OF(SIGNAL)},
	{"rt_sigprocmask", A(N(sigmask), S(sigset), S(sigset_out), UL), OF(SIGNAL)},
	{"rt_sigqueueinfo", A(I, SIG, P), OF(SIGNAL)}, {"rt_sigreturn", A(SPECIAL), OF(SIGNAL)},
	{"rt_sigsuspend", A(S(sigset), UL), OF(SIGNAL)},
	{"rt_sigtimedwait", A(S(sigset), P, S(timespec), UL), OF(SIGNAL)},
	{"rt_tgsigqueueinfo", A(I, I, SIG, P), OF(SIGNAL)},
	{"sched_get_priority_max", A(N(scheduler))}, {"sched_get_priority_min", A(N(scheduler))},
	{"sched_getaffinity", A(I, UL, S(cpus))}, {"sched_getattr", A(I, P, U, X)},
	{"sched_getparam", A(I, P)}, {"sched_getscheduler", A(I)},
	{"sched_rr_get_interval", A(I, P)}, {"sched_setaffinity", A(I, UL, P)},
	{"sched_setattr", A(I, P, X)}, {"sched_setparam", A(I, P)},
	{"sched_setscheduler", A(I, N(scheduler), P)}, {"sched_yield", RET(NUMBER)},
	{"seccomp", A(N(seccomp), X, P)}, {"select", A(I, P, P, P, P), OF(DESC)},
	{"semctl", A(I, I, I, X), OF(IPC)}, {"semget", A(X, I, X), OF(IPC)},
	{"semop", A(I, P, UL), OF(IPC)}, {"semtimedop", A(I, P, UL, P), OF(IPC)},
	{"sendfile", A(FD, FD, P, UL), OF(NET)}, {"sendmmsg", A(FD, P, U, N(message)), OF(NET)},
	{"sendmsg", A(FD, P, N(message)), OF(NET)},
	{"sendto", A(FD, IN, UL, N(message), S(address), I), OF(NET)},
	{"set_mempolicy", A(X, P, UL), OF(MEMORY)},
	{"set_mempolicy_home_node", A(P, UL, UL, X), OF(MEMORY)}, {"set_robust_list", A(P, UL)},
	{"set_tid_address", A(P)}, {"setdomainname", A(IN, UL)}, {"setfsgid", A(ID), OF(CREDS)},
	{"setfsuid", A(ID), OF(CREDS)}, {"setgid", A(ID), OF(CREDS)},
	{"setgroups", A(UL, P), OF(CREDS)}, {"sethostname", A(IN, UL)},
	{"setitimer", A(N(itimer), P, P)}, {"setns", A(FD, N(clone)), OF(PROCESS)},
	{"setpgid", A(I, I)}, {"setpriority", A(N(priority), I, I)},
	{"setregid", A(ID, ID), OF(CREDS)}, {"setresgid", A(ID, ID, ID), OF(CREDS)},
	{"setresuid", A(ID, ID, ID), OF(CREDS)}, {"setreuid", A(ID, ID), OF(CREDS)},
	{"setrlimit", A(N(limit), S(limit))}, {"setsid", RET(NUMBER)},
	{"setsockopt", A(FD, N(socket_level), {.kind = CALLS_SOCKET_OPTION}, S(option), I),
		OF(NET)},
	{"settimeofday", A(P, P), OF(CLOCK)}, {"setuid", A(ID), OF(CREDS)},
	{"setxattr", A(PATH, TEXT, IN, UL, N(xattr))}, {"shmat", A(I, P, X), RET(POINTER), OF(IPC)},
	{"shmctl", A(I, I, P), OF(IPC)}, {"shmdt", A(P), OF(IPC)}, {"shmget", A(X, UL, X), OF(IPC)},
	{"shutdown", A(FD, N(shut)), OF(NET)},
	{"sigaltstack", A(S(sigaltstack), S(sigaltstack_out)), OF(SIGNAL)},
	{"signalfd", A(FD, P, UL), RET(FD), OF(SIGNAL)},
	{"signalfd4", A(FD, P, UL, N(signalfd)), RET(FD), OF(SIGNAL)},
	{"socket", A(N(family), N(socket), {.kind = CALLS_PROTOCOL}), RET(FD), OF(NET)},
	{"socketpair", A(N(family), N(socket), {.kind = CALLS_PROTOCOL}, S(pair)), OF(NET)},
	{"splice", A(FD, P, FD, P, UL, N(splice))}, {"stat", A(PATH, S(stat))},
	{"statfs", A(PATH, P)}, {"statx", A(AT, PATH, N(statx), N(statx_mask), S(statx))},
	{"swapoff", A(PATH)}, {"swapon", A(PATH, X)}, {"symlink", A(TEXT, PATH)},
	{"symlinkat", A(TEXT, AT, PATH)}, {"sync", RET(NUMBER)},
	{"sync_file_range", A(FD, L, L, N(sync_range))}, {"syncfs", A(FD)}, {"sysfs", A(I, X, X)},
	{"sysinfo", A(S(sysinfo))}, {"syslog", A(I, P, I)}, {"tee", A(FD, FD, UL, N(splice))},
	{"tgkill", A(I, I, SIG), OF(SIGNAL)}, {"time", A(P), OF(CLOCK)},
	{"timer_create", A(N(clock), P, P)}, {"timer_delete", A(I)}, {"timer_getoverrun", A(I)},
	{"timer_gettime", A(I, P)}, {"timer_settime", A(I, N(timer), P, P)},
	{"timerfd_create", A(N(clock), N(timerfd)), RET(FD), OF(DESC)},
	{"timerfd_gettime", A(FD, P)}, {"timerfd_settime", A(FD, N(timerfd_set), P, P)},
	{"times", A(P)}, {"tkill", A(I, SIG), OF(SIGNAL)}, {"truncate", A(PATH, L)},
	{"umask", A(O), RET(OCTAL)}, {"umount2", A(PATH, N(unmount))}, {"uname", A(S(uname))},
	{"unlink", A(PATH)}, {"unlinkat", A(AT, PATH, N(unlink))},
	{"unshare", A(N(clone)), OF(PROCESS)}, {"userfaultfd", A(N(pipe)), RET(FD), OF(DESC)},
	{"utime", A(PATH, P)}, {"utimensat", A(AT, PATH, P, N(at))}, {"utimes", A(PATH, P)},
	{"vfork", A({.kind = CALLS_END}), OF(PROCESS)}, {"vhangup", RET(NUMBER)},
	{"vmsplice", A(FD, P, UL, N(splice))},
	{"wait4", A(I, S(wait_status), N(wait), S(usage)), OF(PROCESS)},
	{"waitid", A(N(id_type), I, P, N(wait), P), OF(PROCESS)}, {"write", A(FD, IN, UL)},
	{"writev", A(FD, P, U)}};

static int compare(const void *name, const void *signature)
{
	return strcmp(name, ((const struct calls_signature *)signature)->name);
}

const struct calls_signature *calls_find_signature(const char *name)
{
	return bsearch(name, signatures, sizeof(signatures) / sizeof(*signatures),
		sizeof(*signatures), compare);
}

unsigned calls_classes_of(const struct calls_signature *call)
{
	unsigned classes = call->classes;

	for (unsigned i = 0; i < CALLS_ARGS; i++) {
		enum calls_kind kind = call->args[i].kind;

		if (kind == CALLS_PATH)
			classes |= CALLS_OF_FILE;
		if (kind == CALLS_FD || kind == CALLS_DIRFD)
			classes |= CALLS_OF_DESC;
	}
	return classes;
}

unsigned calls_find_class(const char *name, size_t n)
{
	static const struct {
		const char *name;
		unsigned class;
	} all[] = {{"file", CALLS_OF_FILE}, {"desc", CALLS_OF_DESC}, {"net", CALLS_OF_NET},
		{"network", CALLS_OF_NET}, {"process", CALLS_OF_PROCESS},
		{"memory", CALLS_OF_MEMORY}, {"signal", CALLS_OF_SIGNAL}, {"ipc", CALLS_OF_IPC},
		{"creds", CALLS_OF_CREDS}, {"clock", CALLS_OF_CLOCK}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (strlen(all[i].name) == n && !strncmp(all[i].name, name, n))
			return all[i].class;
	return 0;
}
