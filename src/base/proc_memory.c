/* SPDX-License-Identifier: MIT */
#include "base/proc_memory.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/base.h"
#include "base/log.h"
#include "base/proc.h"

enum {
	PAGE = 4096,
	AREA_BYTES = 1 << 16,
	PAGES_MAX = AREA_BYTES / PAGE + 1,
	TICK_MS = 10,
	LATE_STALLS_MAX = 2, /* of a user, after which nothing of this user is read for some time */
	STALLS_MAX = 4,      /* of a user other than root and the caller, after which none is */
	ABANDONED_MAX = 16,  /* child processes, after which nothing is read any more */
	OTHER_FILES_MAX = 256 /* on kernels without close_range(2) */
};

/* ns: of a child that sleeps; of one that the scheduler may leave out; after too many stalls. */
static const uint64_t asleep_max = 100000000, late_max = 1000000000, pause_ns = 60000000000;

struct request {
	uint64_t address;
	uint32_t n;
	int32_t tid;
};

/* A user whose memory a child was given up for. */
struct stalled_user {
	uid_t uid;
	unsigned stalls, late; /* in all; since the last pause */
	uint64_t paused;       /* since when */
};

static struct {
	pthread_mutex_t lock;
	unsigned holders;
	pid_t owner; /* the process that has started the child; 0: there is none */
	pid_t child;
	int socket;
	uint8_t *area; /* shared with the child */
	unsigned n_users, stalls;
	struct stalled_user users[ABANDONED_MAX];
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- in the child: only system calls, because other threads may have held locks ---- */

static int32_t memory_copy(const struct request *request)
{
	struct iovec to = {memory.area, request->n}, pages[PAGES_MAX];
	unsigned k = 0;
	ssize_t n;

	for (uint32_t done = 0; done < request->n; k++) {
		uint64_t at = request->address + done;

		pages[k].iov_base = (void *)(uintptr_t)at;
		pages[k].iov_len = MIN(PAGE - at % PAGE, request->n - done);
		done += (uint32_t)pages[k].iov_len;
	}
	n = process_vm_readv(request->tid, &to, 1, pages, k, 0);
	return n < 0 ? -errno : (int32_t)n;
}

/* Until the other end of the socket is closed. */
static _Noreturn void memory_serve(int socket)
{
	struct request request;
	int32_t n;

	dup2(socket, 0);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 1, ~0U, 0) < 0)
#endif
		for (int fd = 1; fd < OTHER_FILES_MAX; fd++)
			close(fd);
	while (TEMP_FAILURE_RETRY(recv(0, &request, sizeof(request), 0)) == sizeof(request)) {
		n = memory_copy(&request);
		if (send(0, &n, sizeof(n), MSG_NOSIGNAL) != sizeof(n))
			break;
	}
	syscall(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* ---- in this process ---- */

/*
 * A child of the caller's wait(2) would surprise it: this one sends no signal when it exits, except
 * in an emulator that knows only children of fork(2).
 */
static pid_t memory_clone(void)
{
	long child = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);

	if (child < 0 && errno == EINVAL)
		child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	return (pid_t)child;
}

static int memory_start(void)
{
	sigset_t all, before;
	int pair[2], error;

	if (memory.owner == getpid())
		return 0;
	memory.owner = 0; /* after fork(2), the child of the parent remains as it is */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	memory.area =
		mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	memory.child = memory.area == MAP_FAILED ? -1 : memory_clone();
	error = errno;
	if (memory.child == 0)
		memory_serve(pair[1]);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(pair[1]);
	if (memory.child < 0) {
		close(pair[0]);
		if (memory.area != MAP_FAILED)
			munmap(memory.area, AREA_BYTES);
		return -error;
	}
	memory.socket = pair[0];
	memory.owner = getpid();
	return 0;
}

/* One that hangs in the kernel is left to init. */
static void memory_stop(void)
{
	if (memory.owner != getpid())
		return;
	memory.owner = 0;
	close(memory.socket);
	munmap(memory.area, AREA_BYTES);
	kill(memory.child, SIGKILL);
	for (int i = 0; i < TICK_MS; i++) {
		if (TEMP_FAILURE_RETRY(waitpid(memory.child, NULL, __WALL | WNOHANG)) != 0)
			return;
		poll(NULL, 0, 1);
	}
}

/* Whether the child has not answered in time, though it was not kept from running. */
static bool is_late(uint64_t began)
{
	uint64_t passed = base_now() - began;

	return passed > late_max || (passed > asleep_max && proc_state(memory.child) != 'R');
}

static ssize_t memory_ask(const struct request *request)
{
	struct pollfd answer = {.fd = memory.socket, .events = POLLIN};
	uint64_t began = base_now();
	int32_t n;

	if (send(memory.socket, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request))
		return -EPIPE;
	while (poll(&answer, 1, TICK_MS) <= 0)
		if (is_late(began))
			return -ETIMEDOUT;
	return recv(memory.socket, &n, sizeof(n), 0) == sizeof(n) ? n : -EPIPE;
}

/* NULL: none of it was late. */
static struct stalled_user *memory_user(uid_t uid)
{
	for (unsigned i = 0; i < memory.n_users; i++)
		if (memory.users[i].uid == uid)
			return &memory.users[i];
	return NULL;
}

static void memory_stalled(pid_t tid)
{
	uid_t uid = (uid_t)-1; /* it has ended */
	struct stalled_user *user;

	(void)proc_user(tid, &uid);
	user = memory_user(uid);
	if (!user) {
		user = &memory.users[memory.n_users++];
		*user = (struct stalled_user){.uid = uid};
	}
	memory.stalls++;
	user->stalls++;
	user->late++;
	user->paused = base_now();
	log_warn("the memory of thread %d cannot be read: its pages are in a file whose server "
		 "does not answer, or on a slow disk",
		(int)tid);
}

/* One user does not keep attar from reading the memory of others. */
static bool may_read(pid_t tid)
{
	struct stalled_user *user;
	uid_t uid;

	if (!memory.stalls || memory.stalls >= ABANDONED_MAX)
		return !memory.stalls;
	user = proc_user(tid, &uid) ? memory_user(uid) : NULL;
	if (!user)
		return true;
	if (user->stalls >= STALLS_MAX && uid && uid != geteuid())
		return false;
	if (user->late >= LATE_STALLS_MAX && base_now() - user->paused > pause_ns)
		user->late = 0;
	return user->late < LATE_STALLS_MAX;
}

static ssize_t memory_read_area(pid_t tid, uint64_t address, void *bytes, size_t n)
{
	const struct request request = {.address = address, .n = (uint32_t)n, .tid = tid};
	ssize_t got = may_read(tid) ? memory_start() : -ETIMEDOUT;

	if (got == 0) {
		got = memory_ask(&request);
		if (got == -ETIMEDOUT)
			memory_stalled(tid);
		if (got == -ETIMEDOUT || got == -EPIPE)
			memory_stop();
	}
	if (got > 0)
		memcpy(bytes, memory.area, (size_t)got);
	return got;
}

ssize_t proc_memory_read(pid_t tid, uint64_t address, void *bytes, size_t n)
{
	size_t done = 0;
	ssize_t got = 0;

	pthread_mutex_lock(&memory.lock);
	while (done < n) {
		size_t want = MIN(n - done, (size_t)AREA_BYTES);

		got = memory_read_area(tid, address + done, (uint8_t *)bytes + done, want);
		if (got > 0)
			done += (size_t)got;
		if (got < (ssize_t)want)
			break;
	}
	if (!memory.holders)
		memory_stop();
	pthread_mutex_unlock(&memory.lock);
	return done || got >= 0 ? (ssize_t)done : got;
}

void proc_memory_hold(void)
{
	pthread_mutex_lock(&memory.lock);
	memory.holders++;
	(void)memory_start(); /* a read tries again, and fails with the reason */
	pthread_mutex_unlock(&memory.lock);
}

void proc_memory_release(void)
{
	pthread_mutex_lock(&memory.lock);
	if (!--memory.holders)
		memory_stop();
	pthread_mutex_unlock(&memory.lock);
}
