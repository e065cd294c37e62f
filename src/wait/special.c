/* SPDX-License-Identifier: MIT */
/*
 * Waits for what is neither a lock, a pipe nor a socket: eventfd(2), pidfd_open(2), terminals,
 * message queues, semaphores of System V, leases, userfaultfd(2), control groups that are frozen.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>

#include "base/proc.h"
#include "wait/wait.h"

enum { PATH_BYTES = 64 };

/* ---- files ---- */

/* A line of /proc/PID/fdinfo/FD, such as "eventfd-id: 12". */
struct number {
	const char *name;
	int64_t value;
};

static bool has_number(const char *info, const void *arg)
{
	const struct number *number = arg;

	return wait_info_number(info, number->name) == number->value;
}

/* Of the file of the call. */
static int64_t read_number(
	const struct wait_thread *thread, const struct attar_wait *wait, const char *name)
{
	struct buf info _cleanup_(buf_done) = {0};

	return wait_read_info(thread->tid, wait->fd, &info) < 0
		       ? -1
		       : wait_info_number(buf_text(&info), name);
}

static int wait_eventfd(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const struct number id = {"eventfd-id:", read_number(thread, wait, "eventfd-id:")};
	const struct wait_opened opened = {
		.name = "anon_inode:[eventfd]", .fits = has_number, .arg = &id};
	char key[PATH_BYTES];

	if (id.value < 0)
		return 0;
	/* of a single process, the kernel may be the one that signals it */
	snprintf(key, sizeof(key), "eventfd %" PRId64, id.value);
	return wait_open_by(waits, thread, wait, key, &opened, false);
}

static void wait_pidfd(const struct wait_thread *thread, struct attar_wait *wait)
{
	const int64_t pid = read_number(thread, wait, "\nPid:");

	wait->kind = ATTAR_WAIT_CHILD;
	if (pid > 0)
		wait_set_other(thread->waits, wait, (pid_t)pid, 0);
}

/* A message queue of POSIX: the others that have it open. */
static int wait_queue(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *link)
{
	const char *last = strrchr(link, '/');
	struct wait_opened opened = {.name = last ? last + 1 : link, .is_one = true};
	char path[PATH_BYTES], key[PATH_BYTES];

	wait->kind = ATTAR_WAIT_PIPE;
	wait_set_object(wait, "the message queue %s", link);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->tid, wait->fd);
	if (!wait_identify(AT_FDCWD, path, &opened.device, &opened.inode))
		return 0;
	snprintf(key, sizeof(key), "queue %" PRIx64 " %" PRIu64, opened.device, opened.inode);
	return wait_open_by(waits, thread, wait, key, &opened, false);
}

/* The program that has the other side of a pseudoterminal reads what is written. */
static int wait_terminal_room(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *link)
{
	const char *digits = link + strcspn(link, "0123456789");
	const struct number index = {"tty-index:", atoi(digits)};
	const struct wait_opened opened = {.name = "ptmx", .fits = has_number, .arg = &index};
	char key[PATH_BYTES];

	wait->kind = ATTAR_WAIT_PIPE;
	wait_set_object(wait, "the terminal %s", link);
	if (strncmp(link, "/dev/pts/", 9) != 0)
		return 0;
	snprintf(key, sizeof(key), "terminal %" PRId64, index.value);
	return wait_open_by(waits, thread, wait, key, &opened, false);
}

int wait_special_file(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *link)
{
	static const struct {
		const char *link, *object;
	} events[] = {{"anon_inode:[eventfd]", "an eventfd"}, {"anon_inode:[timerfd]", "a timerfd"},
		{"anon_inode:[signalfd]", "a signalfd"}, {"anon_inode:inotify", "inotify"},
		{"anon_inode:[fanotify]", "fanotify"}, {"anon_inode:[eventpoll]", "epoll"}};

	switch (wait->call) {
	case SYS_mq_timedsend:
	case SYS_mq_timedreceive:
		return wait_queue(waits, thread, wait, link);
	default:
		break;
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(link, events[i].link)) {
			wait->kind = ATTAR_WAIT_EVENTS;
			wait_set_object(wait, "%s", events[i].object);
			return i ? 0 : wait_eventfd(waits, thread, wait);
		}
	if (!strcmp(link, "anon_inode:[pidfd]") || !strncmp(link, "pidfd:", 6))
		wait_pidfd(thread, wait);
	else if (wait->writes && (!strncmp(link, "/dev/pts/", 9) || !strncmp(link, "/dev/tty", 8)))
		return wait_terminal_room(waits, thread, wait, link);
	return 0;
}

/*
 * Adds the files of lines "tfd:        5 events:       19 data: ... pos:0 ino:abc sdev:e" of its
 * fdinfo, and the files of an epoll among them. False: they are unknown.
 */
static bool add_epoll(
	const struct wait_thread *thread, int epoll, int depth, struct wait_awaited *awaited)
{
	enum { DEPTH_MAX = 5 /* of the kernel */, POLL_FOR_DATA = 1, POLL_FOR_ROOM = 4 };
	struct buf info _cleanup_(buf_done) = {0};
	unsigned events;
	int fd;

	if (depth == DEPTH_MAX || wait_read_info(thread->tid, epoll, &info) < 0)
		return false;
	for (const char *line = strstr(buf_text(&info), "\ntfd:"); line;
		line = strstr(line + 1, "\ntfd:")) {
		const char *at = strstr(line, "ino:");
		char path[PATH_BYTES], link[PATH_BYTES] = "";
		uint64_t device, inode;

		if (sscanf(line, "\ntfd: %d events: %x", &fd, &events) != 2)
			return false;
		/* the number may have another file meanwhile */
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->tid, fd);
		if (!at || !wait_identify(AT_FDCWD, path, &device, &inode) ||
			strtoull(at + 4, NULL, 16) != inode)
			return false;
		if (readlink(path, link, sizeof(link) - 1) > 0 &&
			!strcmp(link, "anon_inode:[eventpoll]")) {
			if (!add_epoll(thread, fd, depth + 1, awaited))
				return false;
			continue;
		}
		wait_await(
			awaited, fd, (events & (POLL_FOR_DATA | POLL_FOR_ROOM)) == POLL_FOR_ROOM);
		if (awaited->count > WAIT_AWAITED_MAX)
			return false;
	}
	return true;
}

int wait_epoll(struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const struct attar_wait none = *wait;
	struct wait_awaited awaited = {0};
	int r;

	wait->kind = ATTAR_WAIT_EVENTS;
	if (!add_epoll(thread, (int)thread->args[0], 0, &awaited) || !awaited.count)
		return 0;
	r = wait_for_awaited(waits, thread, wait, &awaited);
	if (!wait->pid || wait->pid != wait_process(thread) || wait->tid)
		return r;
	/* another thread wakes this one, for whatever it is to do then */
	*wait = none;
	wait->kind = ATTAR_WAIT_EVENTS;
	wait_set_object(wait, "epoll");
	return r;
}

/* ---- System V ---- */

/* Objects are numbered in each IPC namespace. */
static bool special_is_own_ipc(const struct wait_thread *thread)
{
	char path[PATH_BYTES], own[PATH_BYTES] = "", other[PATH_BYTES] = "";

	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)thread->tid);
	return readlink("/proc/self/ns/ipc", own, sizeof(own) - 1) > 0 &&
	       readlink(path, other, sizeof(other) - 1) > 0 && !strcmp(own, other);
}

/* The one that has used it last, if it is another one that still exists. */
static void special_set_last(const struct wait_thread *thread, struct attar_wait *wait, pid_t last)
{
	if (last <= 0 || last == wait_process(thread) || !strchr("RSDTt", proc_state(last) ?: 'X'))
		return;
	wait_set_other(thread->waits, wait, last, 0);
}

/* Whether the operation cannot be done now. */
static bool special_blocks(int id, const struct sembuf *operation)
{
	int value = semctl(id, operation->sem_num, GETVAL);

	return value >= 0 && (operation->sem_op ? value < -operation->sem_op : value > 0);
}

void wait_semaphore(const struct wait_thread *thread, struct attar_wait *wait)
{
	enum { OPERATIONS_MAX = 32 };
	struct sembuf operations[OPERATIONS_MAX];
	const size_t n = MIN(thread->args[2], (uint64_t)OPERATIONS_MAX);
	const int id = (int)thread->args[0];

	wait->fd = -1;
	wait->kind = ATTAR_WAIT_CONDITION;
	wait_set_object(wait, "semaphore set %d", id);
	if (!n || !wait_read(thread, thread->args[1], operations, n * sizeof(*operations)) ||
		!special_is_own_ipc(thread))
		return;
	for (size_t i = 0; i < n; i++)
		if (special_blocks(id, &operations[i])) {
			wait_set_object(wait, "semaphore %u of set %d", operations[i].sem_num, id);
			special_set_last(thread, wait, semctl(id, operations[i].sem_num, GETPID));
			return;
		}
}

void wait_message(const struct wait_thread *thread, struct attar_wait *wait)
{
	const int id = (int)thread->args[0];
	struct msqid_ds queue;

	wait->fd = -1;
	wait->kind = ATTAR_WAIT_PIPE;
	wait->writes = wait->call == SYS_msgsnd;
	wait_set_object(wait, "message queue %d", id);
	if (special_is_own_ipc(thread) && msgctl(id, IPC_STAT, &queue) == 0)
		special_set_last(thread, wait, wait->writes ? queue.msg_lrpid : queue.msg_lspid);
}

/* ---- functions of the kernel ---- */

/* open(2) of a FIFO that nobody has open for the other direction. */
static void wait_fifo(const struct wait_thread *thread, struct attar_wait *wait)
{
	const int flags = (int)thread->args[wait->call == SYS_openat ? 2 : 1];
	char path[PATH_MAX];

	wait->kind = ATTAR_WAIT_PIPE;
	wait->connects = true;
	wait->writes = (flags & O_ACCMODE) == O_WRONLY;
	if (wait_read_path(thread, wait->call, path))
		wait_set_object(wait, "%s", path);
}

static bool has_faults(const char *info, const void *arg)
{
	(void)arg;
	return wait_info_number(info, "total:") > 0;
}

/* The kernel counts the faults that wait for each userfaultfd(2). */
static int wait_userfault(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const struct wait_opened opened = {.name = "anon_inode:[userfaultfd]", .fits = has_faults};

	wait->kind = ATTAR_WAIT_SERVER;
	wait_set_object(wait, "a page of memory (userfaultfd)");
	return wait_open_by(waits, thread, wait, "userfaultfd", &opened, true);
}

/* The supervisor of a filter of seccomp(2), which says what becomes of the call. */
static int wait_seccomp(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const struct wait_opened opened = {.name = "anon_inode:seccomp notify"};

	wait->kind = ATTAR_WAIT_SERVER;
	wait->fd = -1;
	wait_set_object(wait, "an answer to its system call (seccomp)");
	return wait_open_by(waits, thread, wait, "seccomp", &opened, true);
}

/* A line such as "fanotify ino:3 sdev:8 mflags:0 mask:10000 ignored_mask:0" with an event that its
 * reader permits or denies. */
static bool asks_for_permission(const char *info, const void *arg)
{
	enum {
		OPEN_PERM = 0x10000,
		ACCESS_PERM = 0x20000,
		OPEN_EXEC_PERM = 0x40000,
		PRE_ACCESS = 0x100000
	};
	const unsigned long asks = OPEN_PERM | ACCESS_PERM | OPEN_EXEC_PERM | PRE_ACCESS;

	(void)arg;
	for (const char *at = strstr(info, " mask:"); at; at = strstr(at + 1, " mask:"))
		if (strtoul(at + strlen(" mask:"), NULL, 16) & asks)
			return true;
	return false;
}

static int wait_permission(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const struct wait_opened opened = {
		.name = "anon_inode:[fanotify]", .fits = asks_for_permission};
	char path[PATH_MAX];

	wait->kind = ATTAR_WAIT_SERVER;
	wait->fd = -1;
	if (wait_read_path(thread, wait->call, path))
		wait_set_object(wait, "permission to open %s (fanotify)", path);
	else
		wait_set_object(wait, "permission for its system call (fanotify)");
	return wait_open_by(waits, thread, wait, "fanotify", &opened, false);
}

struct exec_search {
	struct attar_waits *waits;
	pid_t pid, own, found;
};

/* One in uninterruptible sleep rather than one that is about to end. */
static int see_thread_of_exec(void *ctx, int tid)
{
	struct exec_search *search = ctx;

	if (tid == search->own)
		return 0;
	search->found = tid;
	return wait_stat_of(search->waits, search->pid, tid).state == 'D';
}

/* execve(2) ends the other threads of the process. */
static void wait_exec(const struct wait_thread *thread, struct attar_wait *wait)
{
	struct exec_search search = {
		.waits = thread->waits, .pid = wait_process(thread), .own = thread->tid};

	if (proc_each_thread(thread->tid, see_thread_of_exec, &search) < 0)
		attar_error_clear();
	if (!search.found)
		return;
	wait->kind = ATTAR_WAIT_THREAD;
	wait->fd = -1;
	wait_set_other(thread->waits, wait, search.pid, search.found);
}

/* "0::/group", or of version 1 "7:freezer:/group". */
static void wait_frozen(const struct wait_thread *thread, struct attar_wait *wait)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *group;
	char path[PATH_BYTES];

	wait->kind = ATTAR_WAIT_STOPPED;
	wait_set_object(wait, "its control group to be thawed");
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)thread->tid);
	if (proc_read_line(path, &text) < 0)
		return;
	group = strstr(buf_text(&text), ":freezer:/");
	group = group ? group + strlen(":freezer:") : strstr(buf_text(&text), "0::/");
	if (group && *group == '0')
		group += strlen("0::");
	if (group && strcspn(group, "\n") > 1)
		wait_set_object(wait, "the control group %.*s to be thawed",
			(int)strcspn(group, "\n"), group);
}

int wait_special(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const char *name = thread->function ?: "";

	if (!strcmp(name, "wait_for_partner") || !strcmp(name, "fifo_open"))
		wait_fifo(thread, wait);
	else if (!strcmp(name, "__break_lease"))
		return wait_lease(waits, thread, wait);
	else if (!strcmp(name, "handle_userfault"))
		return wait_userfault(waits, thread, wait);
	else if (strstr(name, "seccomp"))
		return wait_seccomp(waits, thread, wait);
	else if (!strcmp(name, "fanotify_get_response") || !strcmp(name, "fanotify_handle_event"))
		return wait_permission(waits, thread, wait);
	else if (wait->call == SYS_close &&
		 (!strcmp(name, "wait_woken") || !strcmp(name, "sk_stream_wait_close")))
		return wait_closing(waits, thread, wait);
	else if (wait->call == SYS_execve &&
		 (!strcmp(name, "begin_new_exec") || !strcmp(name, "de_thread")))
		wait_exec(thread, wait);
	else if (!strcmp(name, "__refrigerator") || !strcmp(name, "do_freezer_trap"))
		wait_frozen(thread, wait);
	return 0;
}
