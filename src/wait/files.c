/* SPDX-License-Identifier: MIT */
/* Waits for files: who has the other end, the lock or the file system. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "wait/wait.h"

enum { PATH_BYTES = 64, TABLE_MAX = 1 << 22 /* bytes of /proc/locks or mountinfo */ };

static const uint64_t fuse_inode; /* of /dev/fuse, see struct wait_file */

/* ---- the open files of all processes ---- */

struct scan {
	struct attar_waits *waits;
	pid_t pid;
	unsigned n; /* files of this process */
	int dir;    /* /proc/PID/fd */
};

/* "pipe:[123]", "socket:[123]", "/dev/fuse". */
static bool parse_link(const char *link, uint64_t *ret_inode)
{
	*ret_inode = fuse_inode;
	return sscanf(link, "pipe:[%" SCNu64, ret_inode) == 1 ||
	       sscanf(link, "socket:[%" SCNu64, ret_inode) == 1 || !strcmp(link, "/dev/fuse");
}

/* The device of the mount that a file of /dev/fuse serves; 0: unknown. */
static uint32_t read_device(pid_t pid, int fd)
{
	static const char name[] = "\nfuse_connection:";
	struct buf text _cleanup_(buf_done) = {0};
	char path[PATH_BYTES];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)pid, fd);
	if (proc_read_line(path, &text) < 0)
		return 0;
	line = strstr(buf_text(&text), name);
	return line ? (uint32_t)strtoul(line + sizeof(name) - 1, NULL, 10) : 0;
}

static int add_file(struct scan *scan, int fd, uint64_t inode, mode_t mode)
{
	struct attar_waits *waits = scan->waits;
	uint64_t *first = map_get(&waits->by_inode, inode);
	const struct wait_file file = {.inode = inode,
		.pid = scan->pid,
		.reads = mode & S_IRUSR,
		.writes = mode & S_IWUSR,
		.device = inode == fuse_inode ? read_device(scan->pid, fd) : 0,
		.next = first ? (uint32_t)*first : 0};

	if (vec_push(&waits->files, file) < 0)
		return base_oom();
	return map_put(&waits->by_inode, inode, waits->files.n);
}

static bool is_full(const struct attar_waits *waits)
{
	return waits->files.n >= WAIT_FILES_MAX || waits->links >= WAIT_LINKS_MAX;
}

/* The mode of the link has the access mode of the file. */
static int scan_fd(void *ctx, int fd)
{
	struct scan *scan = ctx;
	char name[16], link[PATH_BYTES];
	struct stat st;
	uint64_t inode;
	ssize_t n;

	if (is_full(scan->waits) || ++scan->n > WAIT_FILES_OF_PROCESS_MAX)
		return 1;
	scan->waits->links++;
	snprintf(name, sizeof(name), "%d", fd);
	n = readlinkat(scan->dir, name, link, sizeof(link) - 1);
	if (n <= 0)
		return 0;
	link[n] = '\0';
	if (!parse_link(link, &inode) || fstatat(scan->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return add_file(scan, fd, inode, st.st_mode);
}

static int scan_process(void *ctx, int pid)
{
	struct scan scan = {.waits = ctx, .pid = pid};
	char path[PATH_BYTES];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	scan.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (scan.dir < 0)
		return 0;
	r = proc_each_fd(pid, scan_fd, &scan);
	close(scan.dir);
	if (r == -ENOMEM)
		return r;
	if (r < 0) /* it has ended */
		attar_error_clear();
	return is_full(scan.waits);
}

static int read_files(struct attar_waits *waits)
{
	int r;

	if (waits->has_files)
		return 0;
	waits->has_files = true;
	r = proc_each_process(scan_process, waits);
	return r < 0 ? r : 0;
}

/* ---- the other end ---- */

pid_t wait_process_of(pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *line;
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (proc_read_line(path, &text) < 0)
		return 0;
	line = strstr(buf_text(&text), "\nTgid:");
	return line ? (pid_t)atoi(line + strlen("\nTgid:")) : 0;
}

/* Of several, the newest process: a parent often keeps what it opened for its children. */
int wait_other_end(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t inode)
{
	const bool is_pipe = wait->kind == ATTAR_WAIT_PIPE;
	pid_t own = wait_process_of(thread->tid), found = 0, counted = 0;
	int r = read_files(waits);
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
		wait_set_other(wait, found, 0);
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
	char path[PATH_BYTES], link[PATH_MAX];
	uint64_t inode;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->tid, wait->fd);
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
	if (is_terminal(link))
		wait->kind = ATTAR_WAIT_TERMINAL;
	else if (!strcmp(link, "anon_inode:[eventfd]") || !strcmp(link, "anon_inode:[timerfd]") ||
		 !strcmp(link, "anon_inode:[signalfd]") || !strcmp(link, "anon_inode:inotify") ||
		 !strcmp(link, "anon_inode:[eventpoll]"))
		wait->kind = ATTAR_WAIT_EVENTS;
	else if (wait->state == 'D')
		wait->kind = ATTAR_WAIT_DISK;
	return 0;
}

/* ---- locks of files ---- */

/*
 * "1: POSIX  ADVISORY  WRITE 77 08:01:1234 0 EOF", and below it for each task that waits for it
 * "1: -> POSIX  ADVISORY  WRITE 78 08:01:1234 0 EOF". The numbers are PIDs.
 */
static int add_holders(struct attar_waits *waits, char *table)
{
	int holder = 0, r = 0;
	char *save = NULL;

	for (char *line = strtok_r(table, "\n", &save); line && r == 0;
		line = strtok_r(NULL, "\n", &save)) {
		char *arrow = strstr(line, "->");
		int pid;

		if (sscanf(arrow                ? arrow + 2
			    : strchr(line, ':') ? strchr(line, ':') + 1
						: line,
			    "%*s %*s %*s %d", &pid) != 1)
			continue;
		if (!arrow)
			holder = pid;
		else if (holder > 0 && !map_get(&waits->lock_holders, (uint64_t)pid))
			/* -1: of an open file, which several processes can have */
			r = map_put(&waits->lock_holders, (uint64_t)pid, (uint64_t)holder);
	}
	return r;
}

/* Once for all threads: another user can make the table long. */
static int read_locks(struct attar_waits *waits)
{
	struct buf table _cleanup_(buf_done) = {0};

	if (waits->has_locks)
		return 0;
	waits->has_locks = true;
	if (file_read("/proc/locks", TABLE_MAX, &table) < 0)
		attar_error_clear();
	return table.len ? add_holders(waits, table.data) : 0;
}

int wait_file_lock(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	char path[PATH_BYTES], link[PATH_MAX];
	int r = read_locks(waits);
	const uint64_t *holder;
	ssize_t n;

	wait->kind = ATTAR_WAIT_FILE_LOCK;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)thread->tid, wait->fd);
	n = readlink(path, link, sizeof(link) - 1);
	if (n > 0)
		wait_set_object(wait, "%.*s", (int)n, link);
	holder = map_get(&waits->lock_holders, (uint64_t)wait_process_of(thread->tid));
	if (holder)
		wait_set_other(wait, (pid_t)*holder, 0);
	return r;
}

/* ---- servers of file systems ---- */

struct mount {
	uint32_t device; /* as the kernel has it: 12 bits and 20 bits */
	char where[PATH_MAX], type[64], source[256];
};

/* "36 35 98:0 /root /where opts - type source opts"; octal escapes stay as they are. */
static bool parse_mount(const char *line, int *ret_id, struct mount *mount)
{
	const char *type = strstr(line, " - ");
	unsigned major, minor;

	if (!type ||
		sscanf(line, "%d %*d %u:%u %*s %4095s", ret_id, &major, &minor, mount->where) != 4)
		return false;
	mount->device = major << 20 | minor;
	return sscanf(type + 3, "%63s %255s", mount->type, mount->source) == 2;
}

static bool is_below(const char *path, const char *where)
{
	size_t n = strlen(where);

	return !strcmp(where, "/") || (!strncmp(path, where, n) && (!path[n] || path[n] == '/'));
}

/* The mount with this number, or, if it is 0, the one that has the path. */
static bool find_mount(pid_t tid, int id, const char *path, struct mount *ret_mount)
{
	struct buf table _cleanup_(buf_done) = {0};
	struct mount mount;
	bool found = false;
	char name[PATH_BYTES], *save = NULL;
	int number;

	snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)tid);
	if (file_read(name, TABLE_MAX, &table) < 0) {
		attar_error_clear();
		return false;
	}
	*ret_mount = (struct mount){0};
	for (char *line = table.len ? strtok_r(table.data, "\n", &save) : NULL; line;
		line = strtok_r(NULL, "\n", &save)) {
		if (!parse_mount(line, &number, &mount))
			continue;
		if (id ? number != id
		       : !is_below(path, mount.where) ||
					strlen(mount.where) < strlen(ret_mount->where))
			continue;
		*ret_mount = mount;
		found = true;
	}
	return found;
}

static int mount_of_fd(pid_t tid, int fd)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[PATH_BYTES];
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)tid, fd);
	if (proc_read_line(path, &text) < 0)
		return 0;
	line = strstr(buf_text(&text), "mnt_id:");
	return line ? atoi(line + strlen("mnt_id:")) : 0;
}

/* The argument of the call that is a path; -1: none. */
static int path_argument(long call)
{
	switch (call) {
	case SYS_openat:
	case SYS_newfstatat:
	case SYS_statx:
	case SYS_unlinkat:
	case SYS_mkdirat:
	case SYS_faccessat:
	case SYS_readlinkat:
		return 1;
#ifdef SYS_open
	case SYS_open:
	case SYS_stat:
	case SYS_lstat:
	case SYS_access:
	case SYS_unlink:
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_readlink:
#endif
	case SYS_statfs:
	case SYS_chdir:
	case SYS_truncate:
	case SYS_execve:
		return 0;
	default:
		return -1;
	}
}

/* The path of a call; relative ones from the current directory. */
static bool read_path(const struct wait_thread *thread, long call, char path[PATH_MAX])
{
	const int argument = path_argument(call);
	char name[PATH_MAX] = "", cwd[PATH_BYTES];
	ssize_t n;

	if (argument < 0)
		return false;
	n = proc_memory_read(thread->tid, thread->args[argument], name, sizeof(name) - 1);
	name[n < 0 ? 0 : n] = '\0';
	if (*name == '/')
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX;
	snprintf(cwd, sizeof(cwd), "/proc/%d/cwd", (int)thread->tid);
	n = readlink(cwd, path, PATH_MAX - 1);
	if (n <= 0)
		return false;
	snprintf(path + n, (size_t)(PATH_MAX - n), "/%s", name);
	return true;
}

static bool serves(const struct wait_file *file, const struct mount *mount)
{
	return file->device && file->device == mount->device;
}

/* Of several servers, the one of the mount, or that the type names, such as fuse.sshfs. */
static int set_fuse_server(
	struct attar_waits *waits, struct attar_wait *wait, const struct mount *mount)
{
	const char *program = strchr(mount->type, '.');
	int r = read_files(waits);
	uint64_t *first = r == 0 ? map_get(&waits->by_inode, fuse_inode) : NULL;
	pid_t found = 0, last = 0;
	bool is_known = false;

	for (uint64_t i = first ? *first : 0; i; i = waits->files.at[i - 1].next)
		is_known |= serves(&waits->files.at[i - 1], mount);
	for (uint64_t i = first ? *first : 0; i; i = waits->files.at[i - 1].next) {
		const pid_t pid = waits->files.at[i - 1].pid;
		struct attar_wait other = {0};

		if (is_known && !serves(&waits->files.at[i - 1], mount))
			continue;
		if (pid == last) /* the files of a process follow each other */
			continue;
		last = pid;
		wait_set_other(&other, pid, 0);
		if (program && !strncmp(other.comm, program + 1, sizeof(other.comm) - 1)) {
			found = pid;
			wait->others = 0;
			break;
		}
		wait->others += found != 0;
		found = found ?: pid;
	}
	if (found)
		wait_set_other(wait, found, 0);
	return r;
}

int wait_server(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const char *name = thread->function ?: "";
	const bool is_server = strstr(name, "fuse_dev_");
	const bool is_fuse =
		!is_server && (strstr(name, "fuse") || strstr(name, "request_wait_answer"));
	const bool is_nfs = !strncmp(name, "rpc_", 4) || !strncmp(name, "nfs", 3);
	char path[PATH_MAX];
	struct mount mount;
	bool found;

	if (is_server) {
		wait->kind = ATTAR_WAIT_CLIENTS;
		wait_set_object(wait, "a request to the file system that it serves");
	}
	if (!is_fuse && !is_nfs)
		return 0;
	wait->kind = ATTAR_WAIT_SERVER;
	found = read_path(thread, wait->call, path)
			? find_mount(thread->tid, 0, path, &mount)
			: find_mount(thread->tid, mount_of_fd(thread->tid, (int)thread->args[0]),
				  "/", &mount);
	if (!found)
		return 0;
	if (is_nfs)
		wait_set_object(wait, "%s of %s", mount.where, mount.source);
	else
		wait_set_object(wait, "%s (%s)", mount.where, mount.type);
	return is_fuse ? set_fuse_server(waits, wait, &mount) : 0;
}
