/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/file_limit.h"

/* False for names such as "self" and "sys". */
static bool is_number(const char *name, int *ret_number)
{
	long number = 0;

	for (const char *p = name; *p; p++) {
		if (!isdigit((unsigned char)*p) || number > INT_MAX / 10)
			return false;
		number = number * 10 + (*p - '0');
	}
	*ret_number = (int)number;
	return *name && number <= INT_MAX;
}

static int failed(const char *path, int error)
{
	return file_limit_fail(error, "cannot list %s", path);
}

static int each_number(const char *path, proc_fn *fn, void *ctx)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int number, r = 0;

	if (!dir)
		return failed(path, errno);
	for (;;) {
		errno = 0;
		entry = readdir(dir);
		if (!entry)
			break;
		if (is_number(entry->d_name, &number))
			r = fn(ctx, number);
		if (r)
			break;
	}
	/* The process ended during the walk: the list is complete. */
	if (!entry && errno != ENOENT && errno != ESRCH)
		r = failed(path, errno);
	closedir(dir);
	return r;
}

int proc_each_process(proc_fn *fn, void *ctx)
{
	return each_number("/proc", fn, ctx);
}

int proc_each_thread(pid_t pid, proc_fn *fn, void *ctx)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return each_number(path, fn, ctx);
}

int proc_each_fd(pid_t pid, proc_fn *fn, void *ctx)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	return each_number(path, fn, ctx);
}

enum { LINE_BYTES = 4096, KERNEL_THREAD = 0x00200000 /* PF_KTHREAD */ };

/* Reads at most max bytes by one system call, in which the kernel gives a whole line. */
static ssize_t read_once_at(int dir, const char *path, char *text, size_t max)
{
	int fd _cleanup_close_ = TEMP_FAILURE_RETRY(openat(dir, path, O_RDONLY | O_CLOEXEC));
	ssize_t n = fd < 0 ? -1 : TEMP_FAILURE_RETRY(read(fd, text, max));

	return n < 0 ? -errno : n;
}

static ssize_t read_once(const char *path, char *text, size_t max)
{
	return read_once_at(AT_FDCWD, path, text, max);
}

static int read_line_at(int dir, const char *path, struct buf *b)
{
	char text[LINE_BYTES];
	ssize_t n = read_once_at(dir, path, text, sizeof(text));

	if (n < 0)
		return (int)n;
	buf_add(b, text, (size_t)n);
	return buf_failed(b) ? base_oom() : 0;
}

int proc_read_line(const char *path, struct buf *b)
{
	return read_line_at(AT_FDCWD, path, b);
}

int proc_tasks_read_line(
	struct proc_tasks *tasks, pid_t pid, pid_t tid, const char *name, struct buf *b)
{
	char path[64];

	if (tasks->pid != pid) {
		proc_tasks_close(tasks);
		snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
		tasks->fd = TEMP_FAILURE_RETRY(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
		if (tasks->fd < 0)
			return -errno;
		tasks->pid = pid;
	}
	snprintf(path, sizeof(path), "%d/%s", (int)tid, name);
	return read_line_at(tasks->fd, path, b);
}

void proc_tasks_close(struct proc_tasks *tasks)
{
	if (tasks->pid)
		close(tasks->fd);
	*tasks = (struct proc_tasks){0};
}

enum { STAT_BYTES = 512, STATUS_BYTES = 1 << 16 };

/* The fields of /proc/PID/stat after the name, from the state on; NULL: it does not exist. */
static const char *read_stat(pid_t pid, char text[STAT_BYTES])
{
	const char *end;
	char path[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	n = read_once(path, text, STAT_BYTES - 1);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	end = strrchr(text, ')'); /* of the name, which may contain others */
	return end && end[1] ? end + 2 : NULL;
}

char proc_thread_state(pid_t tid)
{
	char path[64], text[STAT_BYTES];
	const char *end;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)tid, (int)tid);
	n = read_once(path, text, STAT_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end && end[1] ? end[2] : 0;
}

char proc_state(pid_t pid)
{
	char text[STAT_BYTES];
	const char *fields = read_stat(pid, text);

	return fields ? *fields : 0;
}

bool proc_read_sched(pid_t pid, pid_t tid, struct proc_sched *ret_sched)
{
	char path[64], text[STAT_BYTES];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)pid, (int)tid);
	n = read_once(path, text, STAT_BYTES - 1);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ret_sched->ran, &ret_sched->delay,
		       &ret_sched->turns) == 3 &&
	       ret_sched->turns;
}

pid_t proc_parent(pid_t pid)
{
	char text[STAT_BYTES];
	const char *fields = read_stat(pid, text);
	int parent;

	return fields && sscanf(fields, "%*c %d", &parent) == 1 ? parent : 0;
}

/* The owner of /proc/TID is root if the process is not dumpable, so its credentials are read. */
bool proc_user(pid_t tid, uid_t *ret_uid)
{
	struct buf b _cleanup_(buf_done) = {0};
	const char *line;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (file_read(path, STATUS_BYTES, &b) < 0 || !(line = strstr(buf_text(&b), "\nUid:"))) {
		attar_error_clear();
		return false;
	}
	*ret_uid = (uid_t)strtoul(line + strlen("\nUid:"), NULL, 10);
	return true;
}

uint64_t proc_started(pid_t tid)
{
	char text[STAT_BYTES];
	const char *field = read_stat(tid, text); /* the third */

	for (int i = 3; i < 22 && field; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}

static bool has_exited(char state)
{
	return state == 'Z' || state == 'X';
}

bool proc_is_running(pid_t tid)
{
	char state = proc_state(tid);

	return state && !has_exited(state);
}

static int take_running(void *ctx, int tid)
{
	pid_t *found = ctx;

	if (!proc_is_running(tid))
		return 0;
	*found = tid;
	return 1;
}

pid_t proc_running_thread(pid_t pid)
{
	char state = proc_state(pid);
	pid_t found = 0;

	if (!has_exited(state))
		return state ? pid : 0;
	if (proc_each_thread(pid, take_running, &found) < 0)
		attar_error_clear();
	return found;
}

pid_t proc_with_memory(pid_t pid)
{
	return proc_running_thread(pid) ?: pid;
}

bool proc_is_kernel_thread(pid_t tid)
{
	char text[STAT_BYTES];
	const char *fields = read_stat(tid, text);
	unsigned flags;

	return fields && sscanf(fields, "%*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & KERNEL_THREAD;
}

/* The first namespace has a fixed inode number: PROC_PID_INIT_INO in linux/proc_ns.h. */
bool proc_has_first_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 || st.st_ino == 0xeffffffc;
}

const char *proc_access_fix(void)
{
	return geteuid() ? "run as root, or as the user of the process"
			 : "run with CAP_SYS_PTRACE, outside containers and security modules "
			   "that restrict root";
}

/* "NSpid:\t1234\t12": the last number is the one in the innermost namespace. */
pid_t proc_number_inside(pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *line, *last = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	if (proc_read_line(path, &text) == 0 && (line = strstr(buf_text(&text), "\nNSpid:")))
		for (line += strlen("\nNSpid:"); *line && *line != '\n'; line++)
			if (*line == '\t')
				last = line + 1;
	return last ? atoi(last) : 0;
}
