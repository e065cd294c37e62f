/* SPDX-License-Identifier: MIT */
/* What a thread waits for, by its state, its system call and the kernel function that waits. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/check_arg.h"
#include "base/proc.h"
#include "base/proc_memory.h"
#include "wait/wait.h"

enum {
	PATH_BYTES = 64,
	ARGS = 6,
	POLLED_MAX = 64,
	CHILDREN_MAX = 1 << 12,
	SCAN_USER_NS = 100000000
};

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
	waits->budget = (struct scan_budget){.user_ns = SCAN_USER_NS,
		.what = "open files and mounts",
		.effect = "who is at the other end of pipes, sockets and file systems may be "
			  "unknown"};
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
	proc_tasks_close(&waits->tasks);
	proc_memory_release();
	map_done(&waits->lock_holders);
	vec_done(&waits->leases);
	map_done(&waits->by_inode);
	map_done(&waits->unix_peers);
	vec_each (&waits->nets, net) {
		vec_done(&(*net)->list);
		free(*net);
	}
	vec_done(&waits->nets);
	vec_each (&waits->openers, it) {
		vec_done(&(*it)->pids);
		free(*it);
	}
	vec_done(&waits->openers);
	vec_done(&waits->kept);
	map_done(&waits->kept_by_tid);
	map_done(&waits->stats);
	vec_done(&waits->cpus);
	vec_done(&waits->running);
	free(waits);
}

/* ---- reading ---- */

/*
 * "CALL ARG1 ... ARG6 SP IP", "-1 SP IP" outside of a system call, or "running". False: the thread
 * was woken up meanwhile.
 */
static bool wait_read_call(struct wait_thread *thread, struct attar_wait *wait)
{
	char *line _cleanup_free_ = wait_own_line(thread, "syscall"), *rest;

	if (!line || !(isdigit((unsigned char)*line) || *line == '-'))
		return !line || strcmp(line, "running") != 0;
	wait->call = strtol(line, &rest, 10);
	for (int i = 0; wait->call >= 0 && i < ARGS; i++)
		thread->args[i] = strtoull(rest, &rest, 16);
	wait->sp = strtoull(rest, &rest, 16);
	wait->ip = strtoull(rest, &rest, 16);
	/* 32-bit programs have other numbers of calls */
	if (wait->ip && wait->ip <= UINT32_MAX && wait->sp <= UINT32_MAX)
		wait->call = -1;
	return true;
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
			(children->inside && proc_number_inside((pid_t)pid) != children->inside))
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
	if (pid > 0 && wait_is_own_namespace(thread))
		wait->pid = (pid_t)pid;
	else if (proc_each_thread(thread->tid, wait_add_children, &children) < 0)
		attar_error_clear();
	if (wait->pid)
		wait_set_other(thread->waits, wait, wait->pid, 0);
}

/* Until the child executes a program, or exits. Otherwise, the call waits for the kernel. */
static bool is_vfork(const struct wait_thread *thread, long call)
{
	uint64_t flags = call == SYS_clone ? thread->args[0] : 0;

#ifdef SYS_vfork
	if (call == SYS_vfork)
		return true;
#endif
#ifdef SYS_clone3
	if (call == SYS_clone3 && !wait_read(thread, thread->args[0], &flags, sizeof(flags)))
		return false;
#endif
	return flags & CLONE_VFORK;
}

/* ---- several files ---- */

struct polled {
	int fd;
	short events, found;
};

enum { POLL_FOR_DATA = 1, POLL_FOR_ROOM = 4 };

void wait_await(struct wait_awaited *awaited, int fd, bool writes)
{
	if (awaited->count < WAIT_AWAITED_MAX) {
		awaited->files[awaited->count].fd = fd;
		awaited->files[awaited->count].writes = writes;
	}
	awaited->count++;
}

/* By which only threads of the process itself, or its signal handlers, wake the thread. */
static bool is_own_wakeup(const struct wait_thread *thread, const struct attar_wait *wait)
{
	if (wait->pid)
		return wait->pid == wait_process(thread) && !wait->others;
	return wait->kind == ATTAR_WAIT_TIME || /* its own pipe, in a call with a time limit */
	       (wait->kind == ATTAR_WAIT_EVENTS && !strcmp(wait->object, "an eventfd"));
}

/*
 * Several pipes and sockets may have the same process at their other ends; others are only there to
 * wake the thread up.
 */
static int wait_for_several(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const struct wait_awaited *awaited)
{
	struct attar_wait last = {0};
	int n = 0;

	for (int i = 0; i < awaited->count; i++) {
		struct attar_wait one = *wait;
		int r;

		one.kind = ATTAR_WAIT_UNKNOWN;
		one.fd = awaited->files[i].fd;
		one.writes = awaited->files[i].writes;
		r = wait_file(waits, thread, &one);
		if (r < 0)
			return r;
		if (is_own_wakeup(thread, &one))
			continue;
		if (n && (!one.pid || one.pid != last.pid || one.others || last.others))
			return 0;
		last = one;
		n++;
	}
	if (n == 1 && last.kind != ATTAR_WAIT_UNKNOWN) {
		*wait = last;
		return 0;
	}
	if (n < 2)
		return 0;
	wait->pid = last.pid;
	wait->tid = last.tid;
	wait->other_state = last.other_state;
	memcpy(wait->comm, last.comm, sizeof(wait->comm));
	return 0;
}

int wait_for_awaited(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, const struct wait_awaited *awaited)
{
	if (awaited->count == 1) {
		wait->fd = awaited->files[0].fd;
		wait->writes = awaited->files[0].writes;
		return wait_file(waits, thread, wait);
	}
	if (!awaited->count)
		wait->kind = ATTAR_WAIT_TIME;
	return awaited->count && awaited->count <= WAIT_AWAITED_MAX
		       ? wait_for_several(waits, thread, wait, awaited)
		       : 0;
}

static int wait_poll(struct attar_waits *waits, const struct wait_thread *thread,
	struct attar_wait *wait, uint64_t address, uint64_t n)
{
	struct polled files[POLLED_MAX];
	struct wait_awaited awaited = {0};

	n &= UINT32_MAX;
	wait->kind = n ? ATTAR_WAIT_EVENTS : ATTAR_WAIT_TIME;
	if (!n || n > POLLED_MAX || !wait_read(thread, address, files, n * sizeof(*files)))
		return 0;
	for (size_t i = 0; i < n; i++)
		if (files[i].fd >= 0)
			wait_await(&awaited, files[i].fd,
				(files[i].events & (POLL_FOR_DATA | POLL_FOR_ROOM)) ==
					POLL_FOR_ROOM);
	return wait_for_awaited(waits, thread, wait, &awaited);
}

enum { SETS = 3, SET_BITS = 1024 };

/* The same with sets of bits: data, room, exceptions. */
static int wait_select(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	uint8_t bits[SETS][SET_BITS / 8] = {0};
	struct wait_awaited awaited = {0};
	int n = (int)thread->args[0];

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
		wait_await(&awaited, fd, !(bits[0][fd / 8] & bit) && bits[1][fd / 8] & bit);
	}
	return wait_for_awaited(waits, thread, wait, &awaited);
}

/* ---- system calls ---- */

/* How a call waits. The first argument is a file if a row does not say otherwise. */
enum call_kind {
	CALL_READS,
	CALL_WRITES,
	CALL_COPIES, /* from or to a pipe: see wait_copy() */
	CALL_CONNECTS,
	CALL_ACCEPTS,
	CALL_POLLS,
	CALL_SELECTS,
	CALL_AIO,
	CALL_FUTEX,
	CALL_SLEEPS,
	CALL_CHILD,
	CALL_CHILD_BY_ID, /* waitid(2) */
	CALL_FORKS,
	CALL_LOCKS_FILE,
	CALL_SYNCS,
	CALL_SIGNAL,
	CALL_EPOLL,
	CALL_IO_URING,
	CALL_SEMAPHORE,
	CALL_MESSAGE,
};

static const struct {
	long call;
	enum call_kind kind;
} calls[] = {
	{SYS_read, CALL_READS},
	{SYS_readv, CALL_READS},
	{SYS_pread64, CALL_READS},
	{SYS_preadv, CALL_READS},
	{SYS_preadv2, CALL_READS},
	{SYS_recvfrom, CALL_READS},
	{SYS_recvmsg, CALL_READS},
	{SYS_recvmmsg, CALL_READS},
	{SYS_write, CALL_WRITES},
	{SYS_writev, CALL_WRITES},
	{SYS_pwrite64, CALL_WRITES},
	{SYS_pwritev, CALL_WRITES},
	{SYS_pwritev2, CALL_WRITES},
	{SYS_sendto, CALL_WRITES},
	{SYS_sendmsg, CALL_WRITES},
	{SYS_sendmmsg, CALL_WRITES},
	{SYS_sendfile, CALL_WRITES},
	{SYS_splice, CALL_COPIES},
	{SYS_tee, CALL_COPIES},
	{SYS_vmsplice, CALL_COPIES},
	{SYS_connect, CALL_CONNECTS},
	{SYS_accept, CALL_ACCEPTS},
	{SYS_accept4, CALL_ACCEPTS},
#ifdef SYS_poll
	{SYS_poll, CALL_POLLS},
	{SYS_select, CALL_SELECTS},
	{SYS_epoll_wait, CALL_EPOLL},
	{SYS_pause, CALL_SIGNAL},
	{SYS_fork, CALL_FORKS},
	{SYS_vfork, CALL_FORKS},
#endif
	{SYS_ppoll, CALL_POLLS},
	{SYS_pselect6, CALL_SELECTS},
	{SYS_epoll_pwait, CALL_EPOLL},
#ifdef SYS_epoll_pwait2
	{SYS_epoll_pwait2, CALL_EPOLL},
#endif
	{SYS_io_getevents, CALL_AIO},
#ifdef SYS_io_uring_enter
	{SYS_io_uring_enter, CALL_IO_URING},
#endif
	{SYS_mq_timedsend, CALL_WRITES},
	{SYS_mq_timedreceive, CALL_READS},
#ifdef SYS_semop
	{SYS_semop, CALL_SEMAPHORE},
#endif
	{SYS_semtimedop, CALL_SEMAPHORE},
	{SYS_msgsnd, CALL_MESSAGE},
	{SYS_msgrcv, CALL_MESSAGE},
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

/* Functions of the kernel that wait for room in a pipe. */
static bool is_for_room(const char *function)
{
	return strstr(function, "wait_for_space") || strstr(function, "wait_writable") ||
	       strstr(function, "pipe_write") || strstr(function, "opipe_prep");
}

/*
 * splice(2) and tee(2) wait for whichever of their files is a pipe without data or room,
 * vmsplice(2) for its only file.
 */
static int wait_copy(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	wait->writes = thread->function && is_for_room(thread->function);
	if (wait->writes && wait->call == SYS_splice)
		wait->fd = (int)thread->args[2];
	else if (wait->writes && wait->call == SYS_tee)
		wait->fd = (int)thread->args[1];
	return wait_file(waits, thread, wait);
}

/* A condition is signalled by a thread of the process, or of one that has the memory, too. */
static int wait_for_futex(
	struct attar_waits *waits, const struct wait_thread *thread, struct attar_wait *wait)
{
	int r = 0;

	wait_futex(thread, wait);
	if (wait->kind == ATTAR_WAIT_CONDITION && futex_is_shared(thread))
		r = wait_mapped_by(waits, thread, wait);
	if (r == 0 && wait->kind == ATTAR_WAIT_CONDITION && !wait->pid)
		r = wait_running(waits, thread, wait);
	return r;
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
	case CALL_EPOLL:
		return wait_epoll(waits, thread, wait);
	case CALL_IO_URING:
		return wait_io_uring(waits, thread, wait);
	case CALL_SEMAPHORE:
		wait_semaphore(thread, wait);
		return 0;
	case CALL_MESSAGE:
		wait_message(thread, wait);
		return 0;
	case CALL_FUTEX:
		return wait_for_futex(waits, thread, wait);
	case CALL_SLEEPS:
		wait->kind = ATTAR_WAIT_TIME;
		return 0;
	case CALL_CHILD:
		wait_child(thread, wait, (int)args[0]);
		return 0;
	case CALL_CHILD_BY_ID:
		wait_child(thread, wait, args[0] == P_PID ? (int)args[1] : 0);
		return 0;
	case CALL_FORKS:
		if (is_vfork(thread, wait->call))
			wait_child(thread, wait, 0);
		return 0;
	case CALL_SIGNAL:
		wait->kind = ATTAR_WAIT_SIGNAL;
		return 0;
	case CALL_AIO:
		wait->kind = ATTAR_WAIT_EVENTS;
		wait_set_object(wait, "asynchronous I/O");
		return 0;
	default:
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
	wait->writes |= wait->kind == ATTAR_WAIT_PIPE && is_for_room(name);
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
		wait_set_other(thread->waits, wait, atoi(tracer + strlen("\nTracerPid:\t")), 0);
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
	case CALL_AIO:
	case CALL_EPOLL:
	case CALL_IO_URING:
	case CALL_SEMAPHORE:
	case CALL_MESSAGE:
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
	thread->function = wait_own_line(thread, "wchan");
	if (!thread->function)
		return;
	if (!strcmp(thread->function, "0"))
		*thread->function = '\0';
	thread->function[strcspn(thread->function, ".")] = '\0'; /* the compiler adds ".isra.0" */
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

	if (!wait_read_call(thread, wait)) {
		wait->kind = ATTAR_WAIT_NONE;
		return 0;
	}
	kind = kind_of_call(wait->call);
	if (!is_of_no_file(kind) || wait->state == 'D') {
		read_function(thread);
		r = wait_server(waits, thread, wait);
		if (r == 0 && wait->kind == ATTAR_WAIT_UNKNOWN)
			r = wait_special(waits, thread, wait);
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

static int read_wait(struct attar_waits *waits, pid_t tid, struct attar_wait *ret_wait)
{
	struct attar_wait wait = {.size = sizeof(wait), .call = -1, .fd = -1};
	struct wait_thread thread = {.waits = waits, .tid = tid};
	int r = 0;

	waits->last_stat.tid = waits->last_process.tid = 0; /* it may have changed since */
	wait.state = tid > 0 ? wait_read_stat(waits, tid)->state : 0;
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

/* ---- circles ---- */

/* How often the threads were on a CPU; the first one, and those that the others wait for. */
static bool read_turns(pid_t tid, const struct attar_wait *chain, size_t n, uint64_t *ret_turns)
{
	struct proc_sched sched;

	*ret_turns = 0;
	for (size_t i = 0; i < n; i++) {
		const pid_t each = i ? chain[i - 1].tid : tid;

		if (!proc_read_sched(each, each, &sched))
			return false;
		*ret_turns += sched.turns;
	}
	return true;
}

/*
 * Locks change hands between the moments at which the threads of a circle and the locks are read.
 * If none of the threads runs while all of them are read again, and they still wait for each other,
 * they are in a deadlock.
 */
static bool is_deadlock(pid_t tid, const struct attar_wait *chain, size_t n)
{
	struct attar_waits *waits;
	struct attar_wait again;
	uint64_t before, after;
	bool is_same = true;

	if (!read_turns(tid, chain, n, &before))
		return true; /* the kernel does not count them */
	if (attar_waits_new(ATTAR_WAITS_NO_FILES, &waits) < 0)
		return false;
	for (size_t i = 0; is_same && i < n; i++)
		is_same = read_wait(waits, i ? chain[i - 1].tid : tid, &again) == 0 &&
			  again.kind == ATTAR_WAIT_LOCK && again.tid == chain[i].tid &&
			  again.address == chain[i].address;
	attar_waits_free(waits);
	return is_same && read_turns(tid, chain, n, &after) && after == before;
}

/* Of a circle of locks that is none, the last holder is unknown. */
static void check_circle(pid_t tid, struct attar_wait *chain, size_t n)
{
	struct attar_wait *last = &chain[n - 1];

	for (size_t i = 0; i < n; i++)
		if (chain[i].kind != ATTAR_WAIT_LOCK)
			return;
	if (last->tid != tid || is_deadlock(tid, chain, n))
		return;
	attar_error_clear();
	last->pid = last->tid = 0;
	last->other_state = 0;
	memset(last->comm, 0, sizeof(last->comm));
}

int attar_waits_for(struct attar_waits *waits, pid_t tid, struct attar_wait *ret_wait)
{
	int r;

	CHECK_OWN(waits, "waits");
	CHECK_ARG(ret_wait, "ret_wait");
	if (ret_wait->size != sizeof(*ret_wait))
		return attar_fail(-EINVAL, "attar_waits_for(): ret_wait.size is not set");
	r = read_wait(waits, tid, ret_wait);
	if (r == 0)
		check_circle(tid, ret_wait, 1);
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

/* The wait of one that others wait for, which is read once. As attar_waits_for(). */
static int read_kept(struct attar_waits *waits, pid_t tid, struct attar_wait *ret_wait)
{
	const uint64_t *index = map_get(&waits->kept_by_tid, (uint64_t)tid);
	int r;

	if (index) {
		*ret_wait = waits->kept.at[*index];
		return 0;
	}
	ret_wait->size = sizeof(*ret_wait);
	r = attar_waits_for(waits, tid, ret_wait);
	if (r < 0 || waits->kept.n == WAIT_KEPT_MAX)
		return r;
	if (map_put(&waits->kept_by_tid, (uint64_t)tid, waits->kept.n) < 0 ||
		vec_push(&waits->kept, *ret_wait) < 0)
		return base_oom();
	return 0;
}

/*
 * Whose wait comes next in the chain; 0: nobody's. Of several threads of the own process, the main
 * thread is not the one that is waited for.
 */
static pid_t next_of(struct attar_waits *waits, pid_t tid, const struct attar_wait *wait)
{
	const struct wait_thread thread = {.waits = waits, .tid = tid};

	if (wait->others || wait->other_state == 'X')
		return 0;
	if (!wait->tid && wait->pid && wait->pid == wait_process(&thread))
		return 0;
	return wait->tid ?: wait->pid;
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
		r = n ? read_kept(waits, next, &chain[n]) : attar_waits_for(waits, next, &chain[n]);
		if (r == -ESRCH && n) { /* it has exited */
			attar_error_clear();
			break;
		}
		if (r < 0)
			return r;
		next = next_of(waits, tid, &chain[n]);
		if (next == tid && n)
			check_circle(tid, chain, n + 1);
		if (next == tid || is_in_chain(chain, n, next))
			next = 0;
	}
	return (int)n;
}
