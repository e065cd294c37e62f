/* SPDX-License-Identifier: MIT */
/* Calls whose arguments depend on others: clone(2), fcntl(2), futex(2), ioctl(2), prctl(2). */
#include "calls/line.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <linux/prctl.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static void special_pointer(struct calls_line *line, const char *before, uint64_t address)
{
	calls_line_add(line, "%s", before);
	calls_line_pointer(line, address);
}

/* The order of the arguments is the one of x86-64 (CONFIG_CLONE_BACKWARDS is of arm64). */
static void special_clone(struct calls_line *line, const struct calls_call *call)
{
	uint64_t flags = call->args[0] & ~UINT64_C(0xff);
	int signal = (int)(call->args[0] & 0xff);
#ifdef __x86_64__
	enum { CHILD = 3, TLS = 4 };
#else
	enum { CHILD = 4, TLS = 3 };
#endif

	special_pointer(line, "child_stack=", call->args[1]);
	calls_line_add(line, ", flags=");
	if (flags || !signal)
		calls_line_names(line, &calls_names_clone, flags);
	if (signal) {
		calls_line_add(line, flags ? "|" : "");
		calls_line_signal(line, signal);
	}
	if (flags & CLONE_PARENT_SETTID)
		special_pointer(line, ", parent_tid=", call->args[2]);
	if (flags & CLONE_SETTLS)
		special_pointer(line, ", tls=", call->args[TLS]);
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		special_pointer(line, ", child_tidptr=", call->args[CHILD]);
}

static void special_fcntl(struct calls_line *line, const struct calls_call *call)
{
	uint64_t value = call->args[2];

	calls_line_add(line, ", ");
	calls_line_names(line, &calls_names_fcntl, call->args[1]);
	switch ((int)call->args[1]) {
	case F_GETFD:
	case F_GETFL:
	case F_GETOWN:
	case F_GETSIG:
	case F_GETLEASE:
	case F_GETPIPE_SZ:
	case F_GET_SEALS:
		break;
	case F_SETFD:
		calls_line_add(line, ", ");
		calls_line_names(line, &calls_names_descriptor, value);
		break;
	case F_SETFL:
		calls_line_add(line, ", ");
		calls_line_names(line, &calls_names_open, value);
		break;
	case F_SETLEASE:
		calls_line_add(line, ", ");
		calls_line_names(line, &calls_names_lock, value);
		break;
	case F_SETSIG:
		calls_line_add(line, ", ");
		calls_line_signal(line, (int)value);
		break;
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
	case F_SETOWN:
	case F_SETPIPE_SZ:
		calls_line_add(line, ", %" PRId32, (int32_t)value);
		break;
	default:
		special_pointer(line, ", ", value);
	}
}

static void special_futex_operation(struct calls_line *line, uint64_t operation)
{
	uint64_t kind = (uint32_t)operation & (uint32_t)FUTEX_CMD_MASK;
	const char *name = calls_find_name(&calls_names_futex, kind);

	if (!name) {
		calls_line_names(line, &calls_names_futex, operation);
		return;
	}
	calls_line_add(line, "%s%s%s", name, operation & FUTEX_PRIVATE_FLAG ? "_PRIVATE" : "",
		operation & FUTEX_CLOCK_REALTIME ? "|FUTEX_CLOCK_REALTIME" : "");
}

static void special_futex_mask(struct calls_line *line, uint64_t mask)
{
	if ((uint32_t)mask == UINT32_MAX)
		calls_line_add(line, ", FUTEX_BITSET_MATCH_ANY");
	else
		calls_line_add(line, ", %#" PRIx32, (uint32_t)mask);
}

static void special_futex(struct calls_line *line, const struct calls_call *call)
{
	uint64_t kind = (uint32_t)call->args[1] & (uint32_t)FUTEX_CMD_MASK;
	uint32_t value = (uint32_t)call->args[2];

	special_pointer(line, "", call->args[0]);
	calls_line_add(line, ", ");
	special_futex_operation(line, call->args[1]);
	switch (kind) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		calls_line_add(line, ", %" PRIu32 ", ", value);
		calls_line_struct(line, call, 3);
		if (kind == FUTEX_WAIT_BITSET)
			special_futex_mask(line, call->args[5]);
		break;
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		calls_line_add(line, ", %" PRIu32, value);
		if (kind == FUTEX_WAKE_BITSET)
			special_futex_mask(line, call->args[5]);
		break;
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
	case FUTEX_CMP_REQUEUE_PI:
	case FUTEX_WAKE_OP:
		calls_line_add(line, ", %" PRIu32 ", %" PRIu32, value, (uint32_t)call->args[3]);
		special_pointer(line, ", ", call->args[4]);
		if (kind != FUTEX_REQUEUE)
			calls_line_add(line, ", %#" PRIx32, (uint32_t)call->args[5]);
		break;
	case FUTEX_LOCK_PI:
		calls_line_add(line, ", ");
		calls_line_struct(line, call, 3);
		break;
	case FUTEX_UNLOCK_PI:
	case FUTEX_TRYLOCK_PI:
		break;
	default:
		calls_line_add(line, ", %" PRIu32, value);
		special_pointer(line, ", ", call->args[3]);
		special_pointer(line, ", ", call->args[4]);
		calls_line_add(line, ", %#" PRIx32, (uint32_t)call->args[5]);
	}
}

/* Requests without an argument; include/uapi/asm-generic/ioctl.h has the parts of the number. */
static void special_ioctl(struct calls_line *line, const struct calls_call *call)
{
	uint32_t request = (uint32_t)call->args[1];
	const char *name = calls_find_name(&calls_names_ioctl, request);
	static const char *const ways[] = {
		"_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE"};

	calls_line_add(line, ", ");
	if (name)
		calls_line_add(line, "%s", name);
	else
		calls_line_add(line, "_IOC(%s, %#x, %#x, %#x)", ways[_IOC_DIR(request)],
			_IOC_TYPE(request), _IOC_NR(request), _IOC_SIZE(request));
	if (request == FIOCLEX || request == FIONCLEX || request == TIOCNOTTY ||
		request == TIOCEXCL || request == TIOCNXCL)
		return;
	calls_line_add(line, call->args[2] ? ", %#" PRIx64 : ", %" PRIx64, call->args[2]);
}

/* Options with a number; with none; all others have an address or four numbers. */
static void special_prctl(struct calls_line *line, const struct calls_call *call)
{
	uint64_t value = call->args[1];

	calls_line_names(line, &calls_names_prctl, call->args[0]);
	switch ((int)call->args[0]) {
	case PR_GET_DUMPABLE:
	case PR_GET_KEEPCAPS:
	case PR_GET_SECCOMP:
	case PR_GET_TIMERSLACK:
	case PR_GET_TIMING:
	case PR_GET_SECUREBITS:
	case PR_TASK_PERF_EVENTS_DISABLE:
	case PR_TASK_PERF_EVENTS_ENABLE:
		break;
	case PR_SET_PDEATHSIG:
		calls_line_add(line, ", ");
		calls_line_signal(line, (int)value);
		break;
	case PR_SET_NAME:
	case PR_GET_NAME:
		special_pointer(line, ", ", value);
		break;
	case PR_SET_DUMPABLE:
	case PR_SET_KEEPCAPS:
	case PR_SET_TIMERSLACK:
	case PR_SET_CHILD_SUBREAPER:
	case PR_CAPBSET_READ:
	case PR_CAPBSET_DROP:
		calls_line_add(line, ", %" PRIu64, value);
		break;
	case PR_SET_NO_NEW_PRIVS:
	case PR_GET_NO_NEW_PRIVS:
		for (unsigned i = 1; i < 5; i++)
			calls_line_add(line, ", %" PRIu64, call->args[i]);
		break;
	default:
		for (unsigned i = 1; i < 5; i++)
			calls_line_add(line, ", %#" PRIx64, call->args[i]);
	}
}

static void special_mremap(struct calls_line *line, const struct calls_call *call)
{
	calls_line_add(line, ", ");
	calls_line_names(line, &calls_names_mremap, call->args[3]);
	if (call->args[3] & MREMAP_FIXED)
		special_pointer(line, ", ", call->args[4]);
}

void calls_line_special(struct calls_line *line, const struct calls_call *call, unsigned i)
{
	static const struct {
		const char *name;
		void (*fn)(struct calls_line *line, const struct calls_call *call);
	} all[] = {{"clone", special_clone}, {"fcntl", special_fcntl}, {"futex", special_futex},
		{"ioctl", special_ioctl}, {"mremap", special_mremap}, {"prctl", special_prctl}};

	(void)i;
	for (size_t n = 0; n < sizeof(all) / sizeof(*all); n++)
		if (!strcmp(all[n].name, call->name))
			all[n].fn(line, call);
}
