/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: system calls that are interrupted, or transfer less than requested, in the program
 * itself and not in programs that it starts.
 *
 *     FAULT_CALLS=SEED  one in four calls of open, read, write, poll, epoll_wait, ioctl, waitpid is
 *                       interrupted at once; one in four reads and writes of a file is short
 *     FAULT_STORM=HZ    signals at this rate, whose handler does nothing, without SA_RESTART
 *     FAULT_DISK=FIFO   writes to regular files of its file system wait until somebody writes to
 *                       the FIFO, as if the disk stalled
 *     FAULT_HOLD=1      the program stops itself when it has stopped a thread of another one
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static uint64_t state; /* 0: no fault */
static bool is_held;
static const char *disk; /* NULL: it does not stall, or no longer */

static void ignore(int number)
{
}

static void storm(unsigned hz)
{
	struct sigaction action = {.sa_handler = ignore}; /* without SA_RESTART */
	struct itimerval often = {{0, 1000000 / hz}, {0, 1000000 / hz}};

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
}

static __attribute__((constructor)) void begin(void)
{
	const char *seed = getenv("FAULT_CALLS"), *hz = getenv("FAULT_STORM");

	unsetenv("LD_PRELOAD");
	is_held = getenv("FAULT_HOLD");
	disk = getenv("FAULT_DISK");
	if (seed)
		state = strtoull(seed, NULL, 10) * 2 + 1;
	if (hz)
		storm((unsigned)atoi(hz));
}

static unsigned dice(unsigned sides)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(state >> 33) % sides;
}

static bool interrupted(void)
{
	if (!state || dice(4))
		return false;
	errno = EINTR;
	return true;
}

/*
 * Whether the kernel may transfer less than requested: not for the few bytes of a counter or a
 * small pipe message.
 */
static bool is_file(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static size_t less(int fd, size_t n)
{
	if (!state || n < 2 || !is_file(fd) || dice(4))
		return n;
	return 1 + dice((unsigned)(n < 4096 ? n : 4096) - 1);
}

EXPORT ssize_t read(int fd, void *bytes, size_t n)
{
	return interrupted() ? -1 : syscall(SYS_read, fd, bytes, less(fd, n));
}

static void wait_for_disk(int fd)
{
	struct stat file, fifo;
	int gate;
	char byte;

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode) || stat(disk, &fifo) < 0 ||
		file.st_dev != fifo.st_dev)
		return;
	gate = (int)syscall(SYS_openat, AT_FDCWD, disk, O_RDONLY);
	syscall(SYS_read, gate, &byte, 1);
	close(gate);
	disk = NULL;
}

EXPORT ssize_t write(int fd, const void *bytes, size_t n)
{
	if (disk)
		wait_for_disk(fd);
	return interrupted() ? -1 : syscall(SYS_write, fd, bytes, less(fd, n));
}

static int open_at(int folder, const char *path, int flags, va_list args)
{
	int mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, int) : 0;

	return interrupted() ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

EXPORT int open(const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = open_at(AT_FDCWD, path, flags, args);
	va_end(args);
	return fd;
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
	va_list args;
	int fd;

	va_start(args, flags);
	fd = open_at(folder, path, flags, args);
	va_end(args);
	return fd;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	return interrupted() ? -1 : (int)syscall(SYS_ioctl, fd, request, arg);
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	struct timespec t = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

	if (interrupted())
		return -1;
	return (int)syscall(SYS_ppoll, fds, n, timeout_ms < 0 ? NULL : &t, NULL, 0);
}

EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout_ms)
{
	if (interrupted())
		return -1;
	return (int)syscall(SYS_epoll_pwait, fd, events, n, timeout_ms, NULL, 0);
}

EXPORT long ptrace(enum __ptrace_request request, ...)
{
	va_list args;
	pid_t tid;
	void *address, *data;

	va_start(args, request);
	tid = va_arg(args, pid_t);
	address = va_arg(args, void *);
	data = va_arg(args, void *);
	va_end(args);
	if (is_held && request == PTRACE_GETREGSET)
		raise(SIGSTOP);
	return syscall(SYS_ptrace, request, tid, address, data);
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
	return interrupted() ? -1 : (pid_t)syscall(SYS_wait4, pid, status, options, NULL);
}
