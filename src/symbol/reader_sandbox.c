/* SPDX-License-Identifier: MIT */
#include "symbol/reader_sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/base.h"

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false /* sanitizers reserve terabytes of address space */
#endif

enum {
	FILES_MAX = 4096,
	/*
	 * A user ID of nobody, so that no process of another user can send it signals: system users
	 * and user namespaces have lower ones, see https://systemd.io/UIDS-GIDS.
	 */
	USER_FIRST = 0x7fff0000,
	USER_LAST = 0x7ffffffe,
	NO_GROUP = 65534,
};

/* ---- rights ---- */

/* Whether attar, which has the same rights, can end a process of another user. */
static bool can_be_ended(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[2] = {0};

	return syscall(SYS_capget, &header, has) == 0 && has[0].effective & 1U << CAP_KILL;
}

/* A user namespace may lack the ID: the user then stays, without capabilities. */
static int drop_user(void)
{
	uid_t user = USER_FIRST + (uid_t)getpid() % (USER_LAST - USER_FIRST + 1);

	for (unsigned long n = 0; n < 64; n++)
		prctl(PR_CAPBSET_DROP, n, 0L, 0L, 0L);
	if (geteuid() != 0 || !can_be_ended())
		return 0;
	(void)!syscall(SYS_setgroups, 0L, NULL);
	(void)!syscall(SYS_setresgid, NO_GROUP, NO_GROUP, NO_GROUP);
	return syscall(SYS_setresuid, user, user, user) < 0 && errno != EINVAL && errno != EPERM
		       ? -errno
		       : 0;
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	prctl(PR_CAP_AMBIENT, (long)PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L);
	return syscall(SYS_capset, &header, none) < 0 ? -errno : 0;
}

static int limit(int resource, rlim_t most)
{
	struct rlimit limits;

	if (getrlimit((__rlimit_resource_t)resource, &limits) < 0)
		return -errno;
	limits.rlim_max = MIN(limits.rlim_max, most);
	limits.rlim_cur = limits.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &limits) < 0 ? -errno : 0;
}

/* The process that has started it watches its CPU time: this limit is for when that is stopped. */
static int set_limits(void)
{
	int r = limit(RLIMIT_NOFILE, FILES_MAX);

	if (r == 0)
		r = limit(RLIMIT_FSIZE, 0);
	if (r == 0)
		r = limit(RLIMIT_NPROC, 0);
	if (r == 0)
		r = limit(RLIMIT_CORE, 0);
	if (r == 0)
		r = limit(RLIMIT_CPU, 900);
	if (r == 0 && !IS_SANITIZED)
		r = limit(RLIMIT_AS, READER_MEMORY_MAX);
	return r;
}

static void close_from_to(unsigned first, unsigned last)
{
	struct rlimit files;

	if (close_range(first, last, 0) == 0) /* since 5.9 */
		return;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		last = (unsigned)MIN((rlim_t)last, files.rlim_cur);
	for (unsigned fd = first; fd <= last; fd++)
		close((int)fd);
}

/* Standard streams lead nowhere, except that messages of sanitizers are kept. */
static void close_files(int fd)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i < (IS_SANITIZED ? 2 : 3); i++)
		dup2(null, i);
	if (null > 2)
		close(null);
	if (fd > 3)
		close_from_to(3, (unsigned)fd - 1);
	close_from_to((unsigned)fd + 1, UINT_MAX);
}

/* ---- system calls ---- */

/*
 * A filter of one comparison for each call, written out instead of made by libseccomp: the list is
 * short, and depends on nothing. Any other call fails with EPERM.
 */
#define LOAD(member)                                                                               \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, member))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(call), 0, 1), RETURN(SECCOMP_RET_ALLOW)
/* The low half of an argument has one of these bits: refused. Otherwise allowed. */
#define ALLOW_WITHOUT(call, argument, bits)                                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(call), 0, 4), LOAD(args[argument]),         \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (bits), 0, 1),                                \
		RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)
/* The low half of an argument is this value: allowed. Otherwise refused. */
#define ALLOW_WITH(call, argument, value)                                                          \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(call), 0, 4), LOAD(args[argument]),         \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 1, 0),                      \
		RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)

static int filter_calls(void)
{
#ifdef ARCHITECTURE
	struct sock_filter filter[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		/* files that it has */
		ALLOW(SYS_pread64),
		ALLOW(SYS_fstat),
		ALLOW(SYS_close),
		ALLOW_WITH(SYS_fcntl, 1, F_DUPFD_CLOEXEC),
		/* the socket */
		ALLOW(SYS_recvmsg),
		ALLOW(SYS_sendmsg),
		/* memory, without code */
		ALLOW(SYS_brk),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_madvise),
		ALLOW_WITHOUT(SYS_mmap, 2, PROT_EXEC),
		ALLOW_WITHOUT(SYS_mprotect, 2, PROT_EXEC),
		/* of the C library */
		ALLOW(SYS_futex),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_getpid),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		/* messages of sanitizers */
		ALLOW_WITH(SYS_write, 0, IS_SANITIZED ? 2 : -1),
		RETURN(SECCOMP_RET_ERRNO | EPERM),
	};
	const struct sock_fprog program = {.len = ARRAY_SIZE(filter), .filter = filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L) < 0)
		return -errno;
	return prctl(PR_SET_SECCOMP, (long)SECCOMP_MODE_FILTER, &program) < 0 ? -errno : 0;
#else
	return -EOPNOTSUPP;
#endif
}

int reader_sandbox_enter(int fd)
{
	const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGPIPE};
	pid_t parent = getppid();
	int r;

	close_files(fd);
	/* The terminal sends them to attar, too, which ends when it has read what it needs. */
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	prctl(PR_SET_NAME, "attar-reader");
	r = set_limits();
	if (r == 0)
		r = drop_user();
	if (r == 0)
		r = drop_capabilities();
	prctl(PR_SET_DUMPABLE, 0L);
	prctl(PR_SET_PDEATHSIG, (long)SIGKILL); /* a change of the user would undo it */
	if (getppid() != parent)
		return -ESRCH;
	return r == 0 ? filter_calls() : r;
}
