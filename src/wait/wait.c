/* SPDX-License-Identifier: MIT */
/* What a thread waits for, by its state, its system call and the kernel function that waits. */
#include <ctype.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/check_arg.h"
#include "base/escape.h"
#include "base/parse.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "wait/wait.h"

enum { PATH_BYTES = 64, ARGS = 6, POLLED_MAX = 64, CHILDREN_MAX = 1 << 16 };

/* ---- life ---- */

int attar_waits_new(unsigned flags, struct attar_waits **ret_waits)
{
	struct attar_waits *waits;

	CHECK_FLAGS(flags, ATTAR_WAITS_NO_FILES);
	CHECK_ARG(ret_waits, "ret_waits");
	waits = calloc(1, sizeof(*waits));
	if (!waits)
		return base_oom();
	waits->process = check_process;
	proc_memory_hold();
	waits->has_files = waits->has_unix = flags & ATTAR_WAITS_NO_FILES;
	waits->has_running = !waits->has_files;
	*ret_waits = waits;
	return 0;
}

void attar_waits_free(struct attar_waits *waits)
{
	if (!waits)
		return;
	vec_done(&waits->files);
	proc_memory_release();
	map_done(&waits->lock_holders);
	map_done(&waits->by_inode);
	map_done(&waits->unix_peers);
	vec_each (&waits->nets, net) {
		vec_done(&(*net)->list);
		free(*net);
	}
	vec_done(&waits->nets);
	vec_done(&waits->cpus);
	vec_done(&waits->running);
	free(waits);
}

/* ---- reading ---- */

bool wait_read(const struct wait_thread *thread, uint64_t address, void *bytes, size_t n)
{
	return proc_memory_read(thread->tid, address, bytes, n) == (ssize_t)n;
}

/* One line of a file of a thread, owned by the caller; NULL: it cannot be read. */
static char *wait_line(pid_t tid, const char *name)
{
	struct buf line = {0};
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)tid, name);
	if (proc_read_line(path, &line) < 0)
		attar_error_clear();
	if (line.len && line.data[line.len - 1] == '\n')
		line.data[--line.len] = '\0';
	if (!line.len)
		buf_done(&line);
	return buf_take(&line);
}

void wait_set_object(struct attar_wait *wait, const char *fmt, ...)
{
	struct buf text _cleanup_(buf_done) = {0};
	char raw[4096];
	va_list args;

	va_start(args, fmt);
	vsnprintf(raw, sizeof(raw), fmt, args);
	va_end(args);
	escape_text(&text, raw, strlen(raw));
	snprintf(wait->object, sizeof(wait->object), "%s", buf_text(&text));
}

/* A directory of /proc has a link for each of its directories, and two for . and .. */
static bool has_one_thread(pid_t pid)
{
	char path[PATH_BYTES];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	return stat(path, &st) == 0 && st.st_nlink == 3;
}

void wait_set_other(struct attar_wait *wait, pid_t pid, pid_t tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	char *comm _cleanup_free_ = wait_line(tid ?: pid, "comm");

	if (!tid && has_one_thread(pid))
		tid = pid;

	wait->pid = pid;
	wait->tid = tid;
	wait->other_state = tid ? proc_thread_state(tid) : proc_state(pid);
	if (comm)
		escape_text(&text, comm, strlen(comm));
	snprintf(wait->comm, sizeof(wait->comm), "%s", buf_text(&text));
}

/* "CALL ARG1 ... ARG6 SP IP", "-1 SP IP" outside of a system call, or "running". */
static void wait_read_call(struct wait_thread *thread, struct attar_wait *wait)
{
	char *line _cleanup_free_ = wait_line(thread->tid, "syscall"), *rest;

	if (!line || !(isdigit((unsigned char)*line) || *line == '-'))
		return;
	wait->call = strtol(line, &rest, 10);
	for (int i = 0; wait->call >= 0 && i < ARGS; i++)
		thread->args[i] = strtoull(rest, &rest, 16);
	wait->sp = strtoull(rest, &rest, 16);
	wait->ip = strtoull(rest, &rest, 16);
	/* 32-bit programs have other numbers of calls */
	if (wait->ip && wait->ip <= UINT32_MAX && wait->sp <= UINT32_MAX)
		wait->call = -1;
}

/* ---- children ---- */

struct children {
	struct attar_wait *wait;
	int inside; /* only the child with this number in its namespace; 0: all */
};

/* The only child of all threads of the process, or one of several. */
static int wait_add_children(void *ctx, int tid)
{
	const struct children *children = ctx;
	struct attar_wait *wait = children->wait;
	char name[PATH_BYTES], *line _cleanup_free_ = NULL, *rest;

	snprintf(name, sizeof(name), "task/%d/children", tid);
	line = wait_line(tid, name);
	rest = line;
	while (rest && wait->others < CHILDREN_MAX) {
		long pid = strtol(rest, &rest, 10);

		if (pid <= 0)
			break;
		if (proc_state((pid_t)pid) == 'Z' ||
			(children->inside && wait_number_inside((pid_t)pid) != children->inside))
			continue;
		if (wait->pid)
			wait->others++;
		else
			wait->pid = (pid_t)pid;
	}
	return 0;
}

static void wait_child(const struct wait_thread *thread, struct attar_wait *wait, int64_t pid)
{
	struct children children = {.wait = wait, .inside = pid > 0 ? (int)pid : 0};

	wait->kind = ATTAR_WAIT_CHILD;
	if (pid > 0 && wait_is_own_namespace(thread->tid))
		wait->pid = (pid_t)pid;
	else if (proc_each_thread(thread->tid, wait_add_children, &children) < 0)
		attar_error_clear();
	if (wait->pid)
		wait_set_other(wait, wait->pid, 0);
}

/* ---- several files ---- */

struct polled {
	int fd;
	short events, found;
};

enum { POLL_FOR_DATA = 1, POLL_FOR_ROOM = 4 };

/* Of a call for one file only, wait->fd is the file that the thread waits for. */
static int wait_for_polled(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, int count)
{
	if (count == 1)
		return wait_file(waits, thread, wait);
	if (!count)
		wait->kind = ATTAR_WAIT_TIME;
	wait->fd = -1;
	wait->writes = false;
	return 0;
}

static int wait_poll(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t address, uint64_t n)
{
	struct polled files[POLLED_MAX];
	int count = 0;

	n &= UINT32_MAX;
	wait->kind = n ? ATTAR_WAIT_EVENTS : ATTAR_WAIT_TIME;
	if (!n || n > POLLED_MAX || !wait_read(thread, address, files, n * sizeof(*files)))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (files[i].fd < 0)
			continue;
		count++;
		wait->fd = files[i].fd;
		wait->writes = (files[i].events & (POLL_FOR_DATA | POLL_FOR_ROOM)) == POLL_FOR_ROOM;
	}
	return wait_for_polled(waits, thread, wait, count);
}

enum { SETS = 3, SET_BITS = 1024 };

/* The same with sets of bits: data, room, exceptions. */
static int wait_select(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	uint8_t bits[SETS][SET_BITS / 8] = {0};
	int n = (int)thread->args[0], count = 0;

	wait->kind = n > 0 ? ATTAR_WAIT_EVENTS : ATTAR_WAIT_TIME;
	if (n <= 0 || n > SET_BITS)
		return 0;
	for (int set = 0; set < SETS; set++)
		if (thread->args[set + 1] &&
			!wait_read(thread, thread->args[set + 1], bits[set], (size_t)(n + 7) / 8))
			return 0;
	for (int fd = 0; fd < n; fd++) {
		uint8_t bit = (uint8_t)(1 << fd % 8);

		if (!((bits[0][fd / 8] | bits[1][fd / 8] | bits[2][fd / 8]) & bit))
			continue;
		count++;
		wait->fd = fd;
		wait->writes = !(bits[0][fd / 8] & bit) && bits[1][fd / 8] & bit;
	}
	return wait_for_polled(waits, thread, wait, count);
}

/* ---- system calls ---- */

/* How a call waits. The first argument is a file if a row does not say otherwise. */
enum call_kind {
	CALL_READS,
	CALL_WRITES,
	CALL_COPIES, /* from the second file, or from the first: see wait_copy() */
	CALL_CONNECTS,
	CALL_ACCEPTS,
	CALL_POLLS,
	CALL_SELECTS,
	CALL_EVENTS,
	CALL_FUTEX,
	CALL_SLEEPS,
	CALL_CHILD,
	CALL_CHILD_BY_ID, /* waitid(2) */
	CALL_FORKS,
	CALL_LOCKS_FILE,
	CALL_SYNCS,
	CALL_SIGNAL,
};

static const struct {
	long call;
	enum call_kind kind;
} calls[] = {
	{SYS_read, CALL_READS},
	{SYS_readv, CALL_READS},
	{SYS_pread64, CALL_READS},
	{SYS_preadv, CALL_READS},
	{SYS_recvfrom, CALL_READS},
	{SYS_recvmsg, CALL_READS},
	{SYS_recvmmsg, CALL_READS},
	{SYS_write, CALL_WRITES},
	{SYS_writev, CALL_WRITES},
	{SYS_pwrite64, CALL_WRITES},
	{SYS_pwritev, CALL_WRITES},
	{SYS_sendto, CALL_WRITES},
	{SYS_sendmsg, CALL_WRITES},
	{SYS_sendmmsg, CALL_WRITES},
	{SYS_sendfile, CALL_WRITES},
	{SYS_splice, CALL_COPIES},
	{SYS_connect, CALL_CONNECTS},
	{SYS_accept, CALL_ACCEPTS},
	{SYS_accept4, CALL_ACCEPTS},
#ifdef SYS_poll
	{SYS_poll, CALL_POLLS},
	{SYS_select, CALL_SELECTS},
	{SYS_epoll_wait, CALL_EVENTS},
	{SYS_pause, CALL_SIGNAL},
	{SYS_fork, CALL_FORKS},
	{SYS_vfork, CALL_FORKS},
#endif
	{SYS_ppoll, CALL_POLLS},
	{SYS_pselect6, CALL_SELECTS},
	{SYS_epoll_pwait, CALL_EVENTS},
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, CALL_EVENTS},
#endif
	{SYS_io_getevents, CALL_EVENTS},
#ifdef SYS_io_uring_enter
	{SYS_io_uring_enter, CALL_EVENTS},
#endif
	{SYS_futex, CALL_FUTEX},
	{SYS_nanosleep, CALL_SLEEPS},
	{SYS_clock_nanosleep, CALL_SLEEPS},
	{SYS_wait4, CALL_CHILD},
	{SYS_waitid, CALL_CHILD_BY_ID},
	{SYS_clone, CALL_FORKS},
#ifdef SYS_clone3
	{SYS_clone3, CALL_FORKS},
#endif
	{SYS_fcntl, CALL_LOCKS_FILE},
	{SYS_flock, CALL_LOCKS_FILE},
	{SYS_fsync, CALL_SYNCS},
	{SYS_fdatasync, CALL_SYNCS},
	{SYS_sync, CALL_SYNCS},
	{SYS_syncfs, CALL_SYNCS},
	{SYS_sync_file_range, CALL_SYNCS},
	{SYS_msync, CALL_SYNCS},
	{SYS_rt_sigtimedwait, CALL_SIGNAL},
	{SYS_rt_sigsuspend, CALL_SIGNAL},
};

/* splice(2) waits for whichever of its files is a pipe without data or room. */
static int wait_copy(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	wait->writes = thread->function && strstr(thread->function, "wait_for_space");
	wait->fd = (int)thread->args[wait->writes ? 2 : 0];
	return wait_file(waits, thread, wait);
}

static int wait_call(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, enum call_kind kind)
{
	const uint64_t *args = thread->args;

	wait->fd = (int)args[0];
	switch (kind) {
	case CALL_READS:
		return wait_file(waits, thread, wait);
	case CALL_WRITES:
		wait->writes = true;
		return wait_file(waits, thread, wait);
	case CALL_COPIES:
		return wait_copy(waits, thread, wait);
	case CALL_CONNECTS:
		wait->connects = wait->writes = true;
		return wait_file(waits, thread, wait);
	case CALL_ACCEPTS:
		wait->kind = ATTAR_WAIT_CLIENTS;
		return 0;
	case CALL_LOCKS_FILE:
		return wait_file_lock(waits, thread, wait);
	case CALL_SYNCS:
		wait->kind = ATTAR_WAIT_DISK;
		return 0;
	default:
		wait->fd = -1;
	}
	switch (kind) {
	case CALL_POLLS:
		return wait_poll(waits, thread, wait, args[0], args[1]);
	case CALL_SELECTS:
		return wait_select(waits, thread, wait);
	case CALL_FUTEX:
		wait_futex(thread, wait);
		return wait->kind == ATTAR_WAIT_CONDITION ? wait_running(waits, thread, wait) : 0;
	case CALL_SLEEPS:
		wait->kind = ATTAR_WAIT_TIME;
		return 0;
	case CALL_CHILD:
		wait_child(thread, wait, (int)args[0]);
		return 0;
	case CALL_CHILD_BY_ID:
		wait_child(thread, wait, args[0] == P_PID ? (int)args[1] : 0);
		return 0;
	case CALL_FORKS: /* vfork(2): until the child executes a program, or exits */
		wait_child(thread, wait, 0);
		return 0;
	case CALL_SIGNAL:
		wait->kind = ATTAR_WAIT_SIGNAL;
		return 0;
	default:
		wait->kind = ATTAR_WAIT_EVENTS;
		return 0;
	}
}

/* ---- the kernel's function ---- */

static void wait_of_function(const struct wait_thread *thread, struct attar_wait *wait)
{
	static const struct {
		const char *part;
		enum attar_wait_kind kind;
	} functions[] = {
		{"nanosleep", ATTAR_WAIT_TIME},
		{"io_schedule", ATTAR_WAIT_DISK},
		{"folio_wait", ATTAR_WAIT_DISK},
		{"folio_lock", ATTAR_WAIT_DISK},
		{"wait_on_page", ATTAR_WAIT_DISK},
		{"wait_on_buffer", ATTAR_WAIT_DISK},
		{"blk_mq", ATTAR_WAIT_DISK},
		{"jbd2", ATTAR_WAIT_DISK},
		{"poll_schedule", ATTAR_WAIT_EVENTS},
		{"ep_poll", ATTAR_WAIT_EVENTS},
		{"pipe_", ATTAR_WAIT_PIPE},
	};
	const char *name = thread->function;

	if (!name)
		return;
	if (!strcmp(name, "do_wait"))
		wait->kind = ATTAR_WAIT_CHILD;
	for (size_t i = 0; i < ARRAY_SIZE(functions) && wait->kind == ATTAR_WAIT_UNKNOWN; i++)
		if (strstr(name, functions[i].part))
			wait->kind = functions[i].kind;
	if (!*wait->object && wait->kind == ATTAR_WAIT_UNKNOWN)
		wait_set_object(wait, "%s", name);
}

static void wait_stopped(const struct wait_thread *thread, struct attar_wait *wait)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *tracer;
	char path[PATH_BYTES];

	wait->kind = ATTAR_WAIT_STOPPED;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)thread->tid);
	if (proc_read_line(path, &text) < 0)
		return;
	tracer = strstr(buf_text(&text), "\nTracerPid:\t");
	if (tracer && atoi(tracer + strlen("\nTracerPid:\t")) > 0)
		wait_set_other(wait, atoi(tracer + strlen("\nTracerPid:\t")), 0);
}

/* How the system call waits; -1: unknown. */
static int kind_of_call(long call)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].call == call)
			return (int)calls[i].kind;
	return -1;
}

/* Whether the call waits for a server of a file system in no case. */
static bool is_of_no_file(int kind)
{
	switch (kind) {
	case CALL_ACCEPTS:
	case CALL_POLLS:
	case CALL_SELECTS:
	case CALL_EVENTS:
	case CALL_FUTEX:
	case CALL_SLEEPS:
	case CALL_CHILD:
	case CALL_CHILD_BY_ID:
	case CALL_SIGNAL:
		return true;
	default:
		return false;
	}
}

static void read_function(struct wait_thread *thread)
{
	thread->function = wait_line(thread->tid, "wchan");
	if (thread->function && !strcmp(thread->function, "0"))
		*thread->function = '\0';
}

/*
 * After SIGSTOP and SIGCONT, or if attar has copied its stack, a call with a time limit is
 * restart_syscall(2), with the arguments of the call that it goes on with. The kernel's function
 * shows which one; of a sleep, the kernel shows none.
 */
static int kind_of_restarted(const struct wait_thread *thread)
{
	const char *name = thread->function ?: "";

	if (strstr(name, "futex"))
		return CALL_FUTEX;
	return strstr(name, "poll") ? CALL_POLLS : CALL_SLEEPS;
}

static int wait_asleep(
	struct attar_waits *waits, struct wait_thread *thread, struct attar_wait *wait)
{
	int kind, r = 0;

	wait_read_call(thread, wait);
	kind = kind_of_call(wait->call);
	if (!is_of_no_file(kind)) {
		read_function(thread);
		r = wait_server(waits, thread, wait);
	}
	if (wait->call == SYS_restart_syscall)
		kind = kind_of_restarted(thread);
	if (r == 0 && wait->kind == ATTAR_WAIT_UNKNOWN && kind >= 0)
		r = wait_call(waits, thread, wait, (enum call_kind)kind);
	if (wait->kind == ATTAR_WAIT_UNKNOWN)
		wait_of_function(thread, wait);
	if (wait->kind == ATTAR_WAIT_UNKNOWN && proc_is_kernel_thread(thread->tid))
		wait->kind = ATTAR_WAIT_KERNEL;
	return r;
}

int attar_waits_for(struct attar_waits *waits, pid_t tid, struct attar_wait *ret_wait)
{
	struct attar_wait wait = {.size = sizeof(wait), .call = -1, .fd = -1};
	struct wait_thread thread = {.tid = tid};
	int r = 0;

	CHECK_OWN(waits, "waits");
	CHECK_ARG(ret_wait, "ret_wait");
	if (ret_wait->size != sizeof(wait))
		return attar_fail(-EINVAL, "attar_waits_for(): ret_wait.size is not set");
	wait.state = tid > 0 ? proc_thread_state(tid) : 0;
	if (!wait.state || strchr("ZXx", wait.state))
		return attar_fail(-ESRCH, "there is no thread %d, or it has exited", (int)tid);
	wait.kind = wait.state == 'R' ? ATTAR_WAIT_NONE : ATTAR_WAIT_UNKNOWN;
	if (strchr("Tt", wait.state))
		wait_stopped(&thread, &wait);
	else if (wait.kind != ATTAR_WAIT_NONE)
		r = wait_asleep(waits, &thread, &wait);
	free(thread.function);
	if (r == 0)
		*ret_wait = wait;
	return r;
}

/* Whether one of the chain waits for the thread already. */
static bool is_in_chain(const struct attar_wait *chain, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if ((chain[i].tid ?: chain[i].pid) == tid)
			return true;
	return false;
}

int attar_waits_chain(struct attar_waits *waits, pid_t tid, struct attar_wait *chain, size_t max)
{
	size_t n = 0;
	int r;

	CHECK_ARG(chain, "chain");
	if (!max)
		return attar_fail(-EINVAL, "attar_waits_chain(): max is 0");
	for (pid_t next = tid; next && n < max; n++) {
		chain[n].size = sizeof(*chain);
		r = attar_waits_for(waits, next, &chain[n]);
		if (r == -ESRCH && n) { /* it has exited */
			attar_error_clear();
			break;
		}
		if (r < 0)
			return r;
		next = chain[n].others ? 0 : chain[n].tid ?: chain[n].pid;
		if (next == tid || is_in_chain(chain, n, next))
			next = 0;
	}
	return (int)n;
}
