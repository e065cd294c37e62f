/* SPDX-License-Identifier: MIT */
#include "perf/inherit_cost.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "perf/open.h"

enum { TASKS = 32, WARM_UP = 4, STACK_BYTES = 1 << 14 };

/* Times of each task: until its creator goes on, and until the creator has seen its end. */
struct times {
	uint64_t created[TASKS], ended[TASKS];
};

typedef VEC(int) descriptors;

/* ---- the child: no allocations, as this process may have threads ---- */

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int end_at_once(void *unused)
{
	syscall(SYS_exit, 0);
	return 0;
}

/* It shares the memory of its creator, so that events make most of the difference. */
static void create(uint64_t *ret_created, uint64_t *ret_ended)
{
	static _Alignas(16) char stack[STACK_BYTES];
	uint64_t began = now();
	pid_t pid = clone(end_at_once, stack + STACK_BYTES, CLONE_VM | SIGCHLD, NULL);

	*ret_created = now() - began;
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		_exit(1);
	*ret_ended = now() - began;
}

static void measure(int socket)
{
	struct times times;

	for (int i = 0; i < WARM_UP; i++)
		create(&times.created[0], &times.ended[0]);
	for (int i = 0; i < TASKS; i++)
		create(&times.created[i], &times.ended[i]);
	if (send(socket, &times, sizeof(times), MSG_NOSIGNAL) != sizeof(times))
		_exit(1);
}

/* On one CPU: a new task does not run while its creator does. */
static _Noreturn void run_child(int socket)
{
	cpu_set_t one;
	char go;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	measure(socket);
	if (recv(socket, &go, 1, 0) != 1)
		_exit(1);
	measure(socket);
	_exit(0);
}

/* ---- this process ---- */

static int inherit_cost_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(uint64_t times[TASKS])
{
	qsort(times, TASKS, sizeof(*times), inherit_cost_compare);
	return times[TASKS / 2];
}

static int read_times(int socket, struct inherit_cost *ret_cost)
{
	struct times times;

	if (recv(socket, &times, sizeof(times), 0) != sizeof(times))
		return -EIO;
	ret_cost->create = median(times.created);
	ret_cost->exit = median(times.ended) - ret_cost->create;
	return 0;
}

/* The events of a counter that a task has: one on each CPU. */
static int attach(const struct attar_counter *c, pid_t pid, descriptors *fds)
{
	union uapi_attr attr = c->whole;
	int fd;

	attr.attr.disabled = 0;
	attr.attr.enable_on_exec = 0;
	vec_each (&c->fds, it) {
		if (it->tid != c->fds.at[0].tid)
			continue;
		fd = open_event(&attr, pid, it->cpu, -1, 0);
		if (fd < 0)
			return fd;
		if (vec_push(fds, fd) < 0) {
			close(fd);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The child waits for a byte before it measures with events. */
static int measure_both(struct attar_counter *const *counters, size_t n, pid_t pid, int socket,
	struct inherit_cost *ret_cost)
{
	struct inherit_cost plain, with;
	descriptors fds = {0};
	int r = read_times(socket, &plain);

	for (size_t i = 0; r == 0 && i < n; i++)
		if (counters[i]->attr.inherit)
			r = attach(counters[i], pid, &fds);
	if (r == 0 && fds.n) {
		r = send(socket, "", 1, MSG_NOSIGNAL) == 1 ? read_times(socket, &with) : -EIO;
		if (r == 0) {
			ret_cost->create = with.create - MIN(plain.create, with.create);
			ret_cost->exit = with.exit - MIN(plain.exit, with.exit);
			r = 1;
		}
	}
	vec_each (&fds, fd)
		close(*fd);
	vec_done(&fds);
	return r;
}

int inherit_cost_measure(
	struct attar_counter *const *counters, size_t n, struct inherit_cost *ret_cost)
{
	int sockets[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(sockets[0]);
		run_child(sockets[1]);
	}
	r = pid < 0 ? -errno : 0;
	close(sockets[1]);
	if (r == 0)
		r = measure_both(counters, n, pid, sockets[0], ret_cost);
	close(sockets[0]); /* the child ends */
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return r;
}
