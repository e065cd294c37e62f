/* SPDX-License-Identifier: MIT */
/*
 * Signals on overflow, of two kinds: from a file descriptor (F_SETSIG), and SIGTRAP from
 * attr.sigtrap. The C library has no names for the fields of the latter, so they are read at the
 * kernel's offsets (asm-generic/siginfo.h).
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>

#include "base/check_arg.h"
#include "perf/counter.h"

enum { CODE_TRAP_PERF = 6, TRAP_ASYNC = 1 };

/* The siginfo fields of SIGTRAP with TRAP_PERF. */
struct trap_info {
	int32_t signo, error, code, pad;
	uint64_t addr;
	uint64_t data;
	uint32_t type, flags;
};

_Static_assert(
	sizeof(struct trap_info) <= sizeof(siginfo_t), "struct trap_info must fit into siginfo_t");
_Static_assert(__builtin_offsetof(siginfo_t, si_addr) == __builtin_offsetof(struct trap_info, addr),
	"offset as in the kernel");

static int refused(const struct attar_counter *c, pid_t tid, int signo)
{
	if (errno == ESRCH)
		return attar_fail(-ESRCH,
			"cannot signal overflows of '%s' to thread %d: no such thread",
			CLIP(c->name), tid);
	return attar_fail(-errno, "cannot send signal %d on overflows of '%s': %s", signo,
		CLIP(c->name), strerror(errno));
}

int signal_route(const struct attar_counter *c, int fd, int signo, pid_t tid)
{
	struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = tid};
	int flags = fcntl(fd, F_GETFL);

	if (!signo)
		return fcntl(fd, F_SETFL, flags & ~O_ASYNC) < 0 ? refused(c, tid, 0) : 0;
	if (fcntl(fd, F_SETOWN_EX, &owner) < 0 || fcntl(fd, F_SETSIG, signo) < 0 ||
		fcntl(fd, F_SETFL, flags | O_ASYNC) < 0)
		return refused(c, tid, signo);
	return 0;
}

int attar_counter_signal(struct attar_counter *c, int signo, pid_t tid)
{
	CHECK_OWN(c, "counter");

	if (!c->attr.sample_period)
		return attar_fail(
			-EINVAL, "'%s' never overflows: attr.sample_period is 0", CLIP(c->name));
	if (signo < 0 || signo > SIGRTMAX)
		return attar_fail(-EINVAL, "signal %d does not exist", signo);
	if (signo == SIGTRAP)
		return attar_fail(-EINVAL,
			"SIGTRAP cannot be requested for overflows of '%s'" ATTAR_FIX
			"use attr.sigtrap",
			CLIP(c->name));
	if (!tid)
		tid = (pid_t)syscall(SYS_gettid);
	vec_each (&c->fds, it) {
		int r = signal_route(c, it->fd, signo, tid);

		if (r < 0)
			return r;
	}
	c->signo = signo;
	c->signal_tid = tid;
	return 0;
}

static struct attar_signal trap(const siginfo_t *info)
{
	struct trap_info t;

	memcpy(&t, info, sizeof(t));
	return (struct attar_signal){.kind = ATTAR_SIGNAL_TRAP,
		.fd = -1,
		.addr = t.addr,
		.data = t.data,
		.type = t.type,
		.late = t.flags & TRAP_ASYNC};
}

bool attar_signal_decode(const void *siginfo, struct attar_signal *ret_signal)
{
	const siginfo_t *info = siginfo;

	if (!info || !ret_signal)
		return false; /* without an error message: attar_fail() is not async-signal-safe */
	if (info->si_signo == SIGTRAP && info->si_code == CODE_TRAP_PERF)
		*ret_signal = trap(info);
	else if (info->si_code == POLL_IN || info->si_code == POLL_HUP)
		*ret_signal = (struct attar_signal){.kind = info->si_code == POLL_IN
								    ? ATTAR_SIGNAL_OVERFLOW
								    : ATTAR_SIGNAL_LAST,
			.fd = info->si_fd};
	else
		return false;
	return true;
}
