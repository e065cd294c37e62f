/* SPDX-License-Identifier: MIT */
/* Waits for files: who has the other end, the lock or the file system. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/proc.h"
#include "wait/wait.h"

enum { PATH_BYTES = 64, TABLE_MAX = 1 << 22 /* bytes of /proc/locks */ };

/* ---- the open files of all processes ---- */

/* "pipe:[123]", "socket:[123]", "/dev/fuse". */
static bool parse_link(const char *link, uint64_t *ret_inode)
{
	*ret_inode = WAIT_FUSE_INODE;
	return sscanf(link, "pipe:[%" SCNu64, ret_inode) == 1 ||
	       sscanf(link, "socket:[%" SCNu64, ret_inode) == 1 || !strcmp(link, "/dev/fuse");
}

/* The device of the mount that a file of /dev/fuse serves; 0: unknown. */
static uint32_t read_device(pid_t pid, int fd)
{
	static const char name[] = "\nfuse_connection:";
	struct buf text _cleanup_(buf_done) = {0};
	const char *line;

	if (wait_read_info(pid, fd, &text) < 0)
		return 0;
	line = strstr(buf_text(&text), name);
	return line ? (uint32_t)strtoul(line + sizeof(name) - 1, NULL, 10) : 0;
}

static bool is_full(const struct attar_waits *waits)
{
	return waits->files.n >= WAIT_FILES_MAX;
}

/* The mode of the link has the access mode of the file. */
static int add_file(void *ctx, const struct wait_link *link)
{
	struct attar_waits *waits = ctx;
	struct wait_file file = {.pid = link->pid};
	uint64_t *first;
	struct stat st;

	if (is_full(waits))
		return 1;
	if (!parse_link(link->text, &file.inode) ||
		fstatat(link->dir, link->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	file.reads = st.st_mode & S_IRUSR;
	file.writes = st.st_mode & S_IWUSR;
	if (file.inode == WAIT_FUSE_INODE)
		file.device = read_device(link->pid, link->fd);
	first = map_get(&waits->by_inode, file.inode);
	file.next = first ? (uint32_t)*first : 0;
	if (vec_push(&waits->files, file) < 0)
		return base_oom();
	return map_put(&waits->by_inode, file.inode, waits->files.n);
}

int wait_read_files(struct attar_waits *waits)
{
	int r;

	if (waits->has_files)
		return 0;
	waits->has_files = true;
	r = wait_each_link(waits, add_file, waits);
	return r < 0 ? r : 0;
}

/* ---- the other end ---- */

/* Whether a handler of a signal may write to a pipe from which the only thread reads. */
static bool has_handlers(pid_t pid)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *caught;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	if (proc_read_line(path, &text) < 0)
		return false;
	caught = strstr(buf_text(&text), "\nSigCgt:\t");
	return caught && strtoull(caught + strlen("\nSigCgt:\t"), NULL, 16);
}

/* Whether the call for events of files also ends at a time. */
static bool has_time_limit(const struct wait_thread *thread, long call)
{
	const uint64_t *args = thread->args;

	switch (call) {
#ifdef SYS_poll
	case SYS_poll:
		return (int)args[2] >= 0;
	case SYS_select:
		return args[4];
	case SYS_epoll_wait:
#endif
	case SYS_epoll_pwait:
		return (int)args[3] >= 0;
	case SYS_ppoll:
		return args[2];
	case SYS_pselect6:
		return args[4];
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
		return args[3];
#endif
	default:
		return false;
	}
}

/* The only thread does not wait for itself, if the call has a time limit. */
static void wait_for_time(struct attar_wait *wait)
{
	wait->kind = ATTAR_WAIT_TIME;
	wait->pid = wait->tid = 0;
	wait->other_state = 0;
	memset(wait->comm, 0, sizeof(wait->comm));
	memset(wait->object, 0, sizeof(wait->object));
}

/* Of several, the newest process: a parent often keeps what it opened for its children. */
int wait_other_end(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode)
{
	const bool is_pipe = wait->kind == ATTAR_WAIT_PIPE;
	pid_t own = wait_process(thread), found = 0, counted = 0;
	int r = wait_read_files(waits);
	uint64_t *first = r == 0 ? map_get(&waits->by_inode, inode) : NULL;
	bool is_own = false;

	for (uint64_t i = first ? *first : 0; i; i = waits->files.at[i - 1].next) {
		const struct wait_file *file = &waits->files.at[i - 1];

		if (is_pipe && !(wait->writes ? file->reads : file->writes))
			continue;
		if (file->pid == own) {
			is_own = true;
			continue;
		}
		if (file->pid == counted) /* the files of a process follow each other */
			continue;
		counted = file->pid;
		wait->others += found != 0;
		if (!found)
			found = file->pid;
	}
	if (!found && is_own)
		found = own;
	if (found)
		wait_set_other(waits, wait, found, 0);
	if (found == own && wait->tid && has_time_limit(thread, wait->call))
		wait_for_time(wait);
	else if (found == own && wait->tid && has_handlers(own))
		wait->tid = 0; /* it does not wait for itself */
	return r;
}

/* ---- a file ---- */

static bool is_terminal(const char *link)
{
	return !strncmp(link, "/dev/pts/", 9) || !strncmp(link, "/dev/tty", 8) ||
	       !strcmp(link, "/dev/console") || !strcmp(link, "/dev/ptmx");
}

int wait_file(struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	char path[PATH_BYTES], name[16], link[PATH_MAX];
	uint64_t inode;
	ssize_t n;
	int r;

	snprintf(name, sizeof(name), "fd/%d", wait->fd);
	wait_path(waits, thread->tid, name, path);
	n = readlink(path, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	if (sscanf(link, "pipe:[%" SCNu64, &inode) == 1) {
		wait->kind = ATTAR_WAIT_PIPE;
		wait_set_object(wait, "%s", link);
		return wait_other_end(waits, thread, wait, inode);
	}
	if (sscanf(link, "socket:[%" SCNu64, &inode) == 1)
		return wait_socket(waits, thread, wait, inode);
	wait_set_object(wait, "%s", link);
	r = wait_special_file(waits, thread, wait, link);
	if (wait->kind != ATTAR_WAIT_UNKNOWN)
		return r;
	if (is_terminal(link))
		wait->kind = ATTAR_WAIT_TERMINAL;
	else if (wait->state == 'D')
		wait->kind = ATTAR_WAIT_DISK;
	return r;
}

/* ---- locks of files ---- */

/*
 * "1: POSIX  ADVISORY  WRITE 77 08:01:1234 0 EOF", and below it for each task that waits for it
 * "1: -> POSIX  ADVISORY  WRITE 78 08:01:1234 0 EOF". The numbers are PIDs. Locks of open files
 * (OFDLCK) have -1.
 */
struct lock_line {
	bool waits, writes;
	char type[16];
	int pid;
	unsigned major, minor;
	uint64_t inode, first, last; /* the bytes */
};

static bool parse_lock(const char *line, struct lock_line *ret_lock)
{
	struct lock_line lock = {.waits = strstr(line, "->")};
	const char *at = lock.waits ? strstr(line, "->") + 2 : strchr(line, ':');
	char mode[16], last[32];

	if (!at ||
		sscanf(lock.waits ? at : at + 1,
			"%15s %*s %15s %d %x:%x:%" SCNu64 " %" SCNu64 " %31s", lock.type, mode,
			&lock.pid, &lock.major, &lock.minor, &lock.inode, &lock.first, last) != 8)
		return false;
	lock.writes = !strcmp(mode, "WRITE");
	lock.last = isdigit((unsigned char)*last) ? strtoull(last, NULL, 10) : UINT64_MAX;
	*ret_lock = lock;
	return true;
}

static int add_lock(struct attar_waits *waits, const struct lock_line *lock, int *holder)
{
	if (!lock->waits)
		*holder = lock->pid;
	if (!lock->waits && (!strcmp(lock->type, "LEASE") || !strcmp(lock->type, "DELEG")))
		return waits->leases.n == WAIT_LEASES_MAX ||
				       vec_push(&waits->leases, lock->pid) == 0
			       ? 0
			       : base_oom();
	if (!lock->waits || *holder <= 0 || map_get(&waits->lock_holders, (uint64_t)lock->pid))
		return 0;
	return map_put(&waits->lock_holders, (uint64_t)lock->pid, (uint64_t)*holder);
}

/* Once for all threads: another user can make the table long. */
static int read_locks(struct attar_waits *waits)
{
	struct buf table _cleanup_(buf_done) = {0};
	struct lock_line lock;
	int holder = 0, r = 0;
	char *save = NULL;

	if (waits->has_locks)
		return 0;
	waits->has_locks = true;
	if (file_read("/proc/locks", TABLE_MAX, &table) < 0)
		attar_error_clear();
	for (char *line = table.len ? strtok_r(table.data, "\n", &save) : NULL; line && r == 0;
		line = strtok_r(NULL, "\n", &save))
		if (parse_lock(line, &lock))
			r = add_lock(waits, &lock, &holder);
	return r;
}

/* What the thread wants to lock, as far as it is known. */
struct wanted_lock {
	const char *type; /* in /proc/locks */
	bool writes;
	uint64_t first, last;
};

/* A line "lock:\t1: OFDLCK ADVISORY  WRITE -1 08:01:1234 0 EOF" that does not let it. */
static bool holds_lock(const char *info, const void *arg)
{
	const struct wanted_lock *wanted = arg;

	for (const char *line = strstr(info, "\nlock:"); line; line = strstr(line, "\nlock:")) {
		struct lock_line lock;

		line += strlen("\nlock:");
		if (parse_lock(line, &lock) && !lock.waits && !strcmp(lock.type, wanted->type) &&
			(lock.writes || wanted->writes) && lock.first <= wanted->last &&
			wanted->first <= lock.last)
			return true;
	}
	return false;
}

/* What the call wants to lock. False: it is no call for a lock, or unknown. */
static bool read_wanted(const struct wait_thread *thread, long call, struct wanted_lock *ret_wanted)
{
	struct wanted_lock wanted = {.last = UINT64_MAX};
	struct flock lock;

	if (call == SYS_flock) {
		wanted.type = "FLOCK";
		wanted.writes = thread->args[1] & LOCK_EX;
		*ret_wanted = wanted;
		return true;
	}
	if (call != SYS_fcntl || !wait_read(thread, thread->args[2], &lock, sizeof(lock)))
		return false;
	wanted.type = "OFDLCK";
	wanted.writes = lock.l_type == F_WRLCK;
	if (lock.l_whence == SEEK_SET && lock.l_start >= 0 && lock.l_len >= 0) {
		wanted.first = (uint64_t)lock.l_start;
		if (lock.l_len)
			wanted.last = wanted.first + (uint64_t)lock.l_len - 1;
	}
	*ret_wanted = wanted;
	return true;
}

/*
 * The holder of a lock of an open file, which several processes may have: of flock(2), too, whose
 * PID in /proc/locks is the process that has taken the lock, such as flock(1) for a shell.
 */
static int wait_open_lock(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const char *path, const char *link)
{
	struct wanted_lock wanted;
	const char *last = strrchr(link, '/');
	struct wait_opened opened = {
		.name = last ? last + 1 : link, .is_one = true, .fits = holds_lock, .arg = &wanted};
	char key[PATH_BYTES * 2];

	if (!read_wanted(thread, wait->call, &wanted) ||
		!wait_identify(AT_FDCWD, path, &opened.device, &opened.inode))
		return 0;
	snprintf(key, sizeof(key), "%s %d %" PRIx64 " %" PRIu64 " %" PRIu64 " %" PRIu64,
		wanted.type, wanted.writes, opened.device, opened.inode, wanted.first, wanted.last);
	return wait_open_by(waits, thread, wait, key, &opened, true);
}

int wait_file_lock(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	char path[PATH_BYTES], link[PATH_MAX] = "";
	int r = read_locks(waits);
	const uint64_t *holder;
	ssize_t n;

	wait->kind = ATTAR_WAIT_FILE_LOCK;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->tid, wait->fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n > 0)
		wait_set_object(wait, "%.*s", (int)n, link);
	holder = map_get(&waits->lock_holders, (uint64_t)wait_process(thread));
	if (r == 0 && (!holder || wait->call == SYS_flock))
		r = wait_open_lock(waits, thread, wait, path, link);
	if (holder && !wait->pid && proc_state((pid_t)*holder))
		wait_set_other(waits, wait, (pid_t)*holder, 0);
	return r;
}

struct lease_search {
	pid_t pid;
	const char *name; /* the last part of the path */
	bool is_found;
};

static int compare_lease(void *ctx, int fd)
{
	struct lease_search *search = ctx;
	char path[PATH_BYTES], link[PATH_MAX];
	const char *last;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)search->pid, fd);
	n = readlink(path, link, sizeof(link) - 1);
	link[n > 0 ? n : 0] = '\0';
	last = strrchr(link, '/');
	search->is_found = last && !strcmp(last + 1, search->name);
	return search->is_found;
}

/* The file is not looked up by its path: a server of a file system on the way may not answer. */
int wait_lease(struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	char path[PATH_MAX];
	const char *last;
	int r = read_locks(waits);

	wait->kind = ATTAR_WAIT_FILE_LOCK;
	wait->fd = -1;
	if (!wait_read_path(thread, wait->call, path))
		return r;
	wait_set_object(wait, "%s", path);
	last = strrchr(path, '/');
	vec_each (&waits->leases, pid) {
		struct lease_search search = {.pid = *pid, .name = last ? last + 1 : path};

		if (*pid > 0 && proc_each_fd(*pid, compare_lease, &search) < 0)
			attar_error_clear(); /* it has ended */
		if (search.is_found)
			wait_set_other(waits, wait, *pid, 0);
	}
	return r;
}
