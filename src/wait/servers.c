/* SPDX-License-Identifier: MIT */
/* Waits for the server of a file system: FUSE or NFS. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "base/file.h"
#include "base/proc_memory.h"
#include "wait/wait.h"

enum {
	PATH_BYTES = 64,
	TABLE_MAX = 1 << 22, /* bytes of mountinfo */
	SERVERS_MAX = 64,    /* of FUSE, whose names are compared with the type of the mount */
};

/* ---- mounts ---- */

/* "rw,vers=4.2,addr=192.0.2.1,clientaddr=192.0.2.2" */
static void parse_address(const char *options, char *ret_address, size_t size)
{
	for (const char *at = options; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, "addr=", 5)) {
			snprintf(ret_address, size, "%.*s", (int)strcspn(at + 5, ", \n"), at + 5);
			return;
		}
	}
}

/* "36 35 98:0 /root /where opts - type source opts"; octal escapes stay as they are. */
static bool parse_mount(const char *line, int *ret_id, struct wait_mount *ret_mount)
{
	const char *type = strstr(line, " - ");
	unsigned major, minor;
	int options = 0;

	*ret_mount = (struct wait_mount){0};
	if (!type || sscanf(line, "%d %*d %u:%u %*s %4095s", ret_id, &major, &minor,
			     ret_mount->where) != 4)
		return false;
	ret_mount->device = major << 20 | minor;
	if (sscanf(type + 3, "%63s %255s %n", ret_mount->type, ret_mount->source, &options) != 2)
		return false;
	if (options)
		parse_address(type + 3 + options, ret_mount->address, sizeof(ret_mount->address));
	return true;
}

static bool is_below(const char *path, const char *where)
{
	size_t n = strlen(where);

	return !strcmp(where, "/") || (!strncmp(path, where, n) && (!path[n] || path[n] == '/'));
}

bool wait_find_mount(char *table, int id, const char *path, struct wait_mount *ret_mount)
{
	struct wait_mount mount;
	bool found = false;
	char *save = NULL;
	int number;

	*ret_mount = (struct wait_mount){0};
	for (char *line = strtok_r(table, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
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

/* In the mount namespace of the thread. */
static bool find_mount(struct attar_waits *waits, pid_t tid, int id, const char *path,
	struct wait_mount *ret_mount)
{
	struct buf table _cleanup_(buf_done) = {0};
	char name[PATH_BYTES];

	if (!scan_budget_begin(&waits->budget, tid))
		return false;
	snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)tid);
	if (file_read(name, TABLE_MAX, &table) < 0)
		attar_error_clear();
	scan_budget_end(&waits->budget, tid);
	return table.len && wait_find_mount(table.data, id, path, ret_mount);
}

static int mount_of_fd(pid_t tid, int fd)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *line;

	if (wait_read_info(tid, fd, &text) < 0)
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

bool wait_read_path(const struct wait_thread *thread, long call, char path[PATH_MAX])
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

static bool serves(const struct wait_file *file, const struct wait_mount *mount)
{
	return file->device && file->device == mount->device;
}

/* Of several servers, the one of the mount, or that the type names, such as fuse.sshfs. */
static int set_fuse_server(
	struct attar_waits *waits, struct attar_wait *wait, const struct wait_mount *mount)
{
	const char *program = strchr(mount->type, '.');
	int r = wait_read_files(waits);
	uint64_t *first = r == 0 ? map_get(&waits->by_inode, WAIT_FUSE_INODE) : NULL;
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
		if (wait->others >= SERVERS_MAX) {
			wait->others++;
			continue;
		}
		wait_set_other(waits, &other, pid, 0);
		if (program && !strncmp(other.comm, program + 1, sizeof(other.comm) - 1)) {
			found = pid;
			wait->others = 0;
			break;
		}
		wait->others += found != 0;
		found = found ?: pid;
	}
	if (found)
		wait_set_other(waits, wait, found, 0);
	return r;
}

static bool is_network(const struct wait_mount *mount)
{
	return !strncmp(mount->type, "nfs", 3);
}

static bool is_of_server(const struct wait_mount *mount)
{
	return is_network(mount) || !strncmp(mount->type, "fuse", 4);
}

void wait_set_mount(struct attar_wait *wait, const struct wait_mount *mount)
{
	wait->kind = ATTAR_WAIT_SERVER;
	if (!is_network(mount))
		wait_set_object(wait, "%s (%s)", mount->where, mount->type);
	else
		wait_set_object(wait, "%s of %s%s%s%s", mount->where, mount->source,
			*mount->address ? " (" : "", mount->address, *mount->address ? ")" : "");
}

/* The mount of the file or path that the system call names. */
static bool find_mount_of_call(struct attar_waits *waits, const struct wait_thread *thread,
	const struct attar_wait *wait, struct wait_mount *ret_mount)
{
	char path[PATH_MAX];
	int id;

	if (wait_read_path(thread, wait->call, path))
		return find_mount(waits, thread->tid, 0, path, ret_mount);
	id = wait->call >= 0 ? mount_of_fd(thread->tid, (int)thread->args[0]) : 0;
	return id && find_mount(waits, thread->tid, id, "/", ret_mount);
}

/* A call that changes a file, except execve(2), which may wait for another lock of this kind. */
static void wait_for_thaw(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	struct wait_mount mount;

	if (wait->call == SYS_execve || !find_mount_of_call(waits, thread, wait, &mount))
		return;
	wait_set_mount(wait, &mount);
	wait_set_object(wait, "the file system %s (%s), which is frozen (fsfreeze)", mount.where,
		mount.type);
}

int wait_server(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	const char *name = thread->function ?: "";
	const bool is_server = strstr(name, "fuse_dev_"),
		   is_fuse = !is_server &&
			     (strstr(name, "fuse") || strstr(name, "request_wait_answer")),
		   is_nfs = !strncmp(name, "rpc_", 4) || !strncmp(name, "nfs", 3),
		   is_page = strstr(name, "folio_wait") || strstr(name, "folio_lock") ||
			     strstr(name, "wait_on_page");
	struct wait_mount mount;

	if (is_server) {
		wait->kind = ATTAR_WAIT_CLIENTS;
		wait_set_object(wait, "a request to the file system that it serves");
	}
	if (!strcmp(name, "percpu_rwsem_wait") || !strcmp(name, "__percpu_down_read"))
		wait_for_thaw(waits, thread, wait);
	if (!is_fuse && !is_nfs && !is_page)
		return 0;
	if (!is_page)
		wait->kind = ATTAR_WAIT_SERVER;
	if (!find_mount_of_call(waits, thread, wait, &mount) || (is_page && !is_of_server(&mount)))
		return 0;
	wait_set_mount(wait, &mount);
	return is_nfs || is_network(&mount) ? 0 : set_fuse_server(waits, wait, &mount);
}
