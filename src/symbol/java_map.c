/* SPDX-License-Identifier: MIT */
#include "symbol/java_map.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "attar/base.h"
#include "base/base.h"
#include "base/file.h"
#include "base/proc.h"
#include "symbol/dso_open.h"
#include "symbol/maps.h"

enum {
	STATUS_MAX = 64 << 10,
	ANSWER_MAX = 4096,
	LISTENS_NS = 2000000000, /* from the signal to the socket, at most */
	STEP_NS = 10000000,
};

#define ANSWERS_NS UINT64_C(5000000000)

struct java {
	pid_t pid, inside; /* inside: in its own PID namespace */
	uid_t uid;
	int pidfd; /* so that no other process gets the signal */
	int tmp;   /* its /tmp, opened with O_PATH */
};

/* ---- is it one ---- */

static int java_library(void *ctx, const struct attar_mapping *mapping, bool executable)
{
	const char *name = strrchr(mapping->path, '/');

	(void)ctx;
	return executable && name && !strcmp(name, "/libjvm.so") ? -EEXIST : 0;
}

/* A process that does not catch SIGQUIT, as with java -Xrs, would be killed by it. */
static bool java_catches_quit(const char *status)
{
	const char *line = strstr(status, "\nSigCgt:");

	return line && strtoull(line + strlen("\nSigCgt:"), NULL, 16) & 1ULL << (SIGQUIT - 1);
}

/*
 * The user of the process could create the file, too: its /tmp can be any directory of the host
 * that it has mounted there.
 */
static bool java_can_create(const struct java *j)
{
	const mode_t shared = S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO;
	struct stat st;

	return fstat(j->tmp, &st) == 0 && (st.st_uid == j->uid || (st.st_mode & shared) == shared);
}

static int java_open(struct java *j)
{
	struct buf status _cleanup_(buf_done) = {0};
	char path[64];
	int root _cleanup_close_ = -1;

	j->pidfd = (int)syscall(SYS_pidfd_open, j->pid, 0);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)j->pid);
	if (j->pidfd < 0 || maps_read_code(j->pid, java_library, NULL) != -EEXIST ||
		file_read(path, STATUS_MAX, &status) < 0 || !java_catches_quit(buf_text(&status)) ||
		!proc_user(j->pid, &j->uid))
		return -ENOENT;
	j->inside = proc_number_inside(j->pid) ?: j->pid;
	root = dso_open_root(j->pid);
	j->tmp = root < 0 ? -1 : dso_open_path(root, "/tmp", 0);
	return j->tmp < 0 ? -ENOENT : 0;
}

static void java_close(struct java *j)
{
	base_close_p(&j->pidfd);
	base_close_p(&j->tmp);
}

/* ---- its socket ---- */

/* Opens the socket with O_PATH, if it belongs to the user of the process. Or a negative errno. */
static int java_socket(const struct java *j)
{
	char name[32];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), ".java_pid%d", (int)j->inside);
	fd = openat(j->tmp, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_uid == j->uid)
		return fd;
	close(fd);
	return attar_fail(-EPERM,
		"/tmp/.java_pid%d of process %d is no socket of its user: its methods have no "
		"names",
		(int)j->inside, (int)j->pid);
}

/* Lets the process listen: it looks for the file when it gets the signal. */
static int java_wake(const struct java *j, int *ret_fd)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t end = base_now() + LISTENS_NS;
	char name[32];
	int fd;

	snprintf(name, sizeof(name), ".attach_pid%d", (int)j->inside);
	if (!java_can_create(j))
		return attar_fail(-EPERM,
			"the user of process %d cannot create files in its /tmp: its methods have "
			"no names",
			(int)j->pid);
	fd = openat(j->tmp, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0)
		return attar_fail(-errno, "cannot create /tmp/%s of process %d: %s", name,
			(int)j->pid, strerror(errno));
	close(fd);
	*ret_fd = -ENOENT;
	if (syscall(SYS_pidfd_send_signal, j->pidfd, SIGQUIT, NULL, 0) == 0)
		while (*ret_fd == -ENOENT && base_now() < end) {
			nanosleep(&step, NULL);
			*ret_fd = java_socket(j);
		}
	unlinkat(j->tmp, name, 0);
	return *ret_fd == -ENOENT
		       ? attar_fail(-ETIMEDOUT,
				 "process %d does not listen for commands (java "
				 "-XX:+DisableAttachMechanism?): its methods have no names",
				 (int)j->pid)
		       : MIN(*ret_fd, 0);
}

static void java_set_limit(int fd, int option, uint64_t end)
{
	const uint64_t now = base_now(), us = end > now ? (end - now) / 1000 + 1 : 1;
	const struct timeval limit = {
		.tv_sec = (time_t)(us / 1000000), .tv_usec = (suseconds_t)(us % 1000000)};

	setsockopt(fd, SOL_SOCKET, option, &limit, sizeof(limit));
}

static int java_connect(const struct java *j, uint64_t *ret_end, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int handle _cleanup_close_ = java_socket(j), r = MIN(handle, 0);

	if (handle == -ENOENT)
		r = java_wake(j, &handle);
	if (r < 0)
		return r;
	*ret_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (*ret_fd < 0)
		return attar_fail(-errno, "cannot create a socket: %s", strerror(errno));
	*ret_end = base_now() + ANSWERS_NS;
	java_set_limit(*ret_fd, SO_SNDTIMEO, *ret_end); /* of connect(2), too */
	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", handle);
	if (connect(*ret_fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return attar_fail(-errno, "cannot connect to the JVM of process %d: %s",
			(int)j->pid, strerror(errno));
	return 0;
}

/* ---- the command ---- */

/* The answer is a status in the first line, then a text. */
static int java_read(const struct java *j, int fd, uint64_t end)
{
	char answer[ANSWER_MAX];
	size_t n = 0;
	ssize_t got = 1;

	while (got > 0 && n < sizeof(answer) - 1 && base_now() < end) {
		java_set_limit(fd, SO_RCVTIMEO, end);
		got = TEMP_FAILURE_RETRY(read(fd, answer + n, sizeof(answer) - 1 - n));
		n += got > 0 ? (size_t)got : 0;
	}
	answer[n] = '\0';
	if (n >= 2 && answer[0] == '0' && answer[1] == '\n')
		return 0;
	return attar_fail(-EPROTO, "the JVM of process %d has not written its perf map: %s",
		(int)j->pid, n ? "it has no command Compiler.perfmap (JDK 17)" : "no answer");
}

static int java_ask(const struct java *j)
{
	static const char command[] = "1\0jcmd\0Compiler.perfmap\0\0"; /* version, name, 3 words */
	uint64_t end = 0;
	int fd _cleanup_close_ = -1, r = java_connect(j, &end, &fd);

	if (r < 0)
		return r;
	if (send(fd, command, sizeof(command), MSG_NOSIGNAL) != (ssize_t)sizeof(command))
		return attar_fail(-EPROTO, "the JVM of process %d does not answer", (int)j->pid);
	return java_read(j, fd, end);
}

int java_map_write(pid_t pid)
{
	struct java j = {.pid = pid, .pidfd = -1, .tmp = -1};
	int r = java_open(&j);

	if (r == 0)
		r = java_ask(&j);
	else
		attar_error_clear();
	java_close(&j);
	return r;
}
