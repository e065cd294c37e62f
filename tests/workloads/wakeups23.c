/* SPDX-License-Identifier: MIT */
/*
 * usage: wakeups23 [COUNT [NAME]]
 *
 * Expected: the thread named "sleeper", or NAME, is woken exactly COUNT (23) times from a read() of
 * a pipe, by the thread named "waker", and switched in after each of these: "waker" waits each time
 * until it has been switched out. (A thread that is woken between its last check and the switch
 * goes on without one, while /proc shows it as sleeping.) It ends without a signal, so that no
 * signal wakes it once more.
 */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static int pipe_fd[2];
static volatile pid_t sleeper_tid;
static volatile uint64_t count, woken;

static void *sleeper(void *name)
{
	char byte;

	pthread_setname_np(pthread_self(), name);
	sleeper_tid = syscall(SYS_gettid);
	while (woken < count && read(pipe_fd[0], &byte, 1) == 1)
		woken++;
	return NULL;
}

/* The system call in which the thread waits, switched out; -1: none; -2: the thread has exited. */
static int waits_in(pid_t tid)
{
	char path[64];
	int call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", tid);
	f = fopen(path, "r");
	if (!f)
		return -2;
	if (fscanf(f, "%d", &call) != 1) /* "running" */
		call = -1;
	fclose(f);
	return call;
}

int main(int argc, char **argv)
{
	static char own_name[] = "sleeper";
	char *name = argc > 2 ? argv[2] : own_name;
	pthread_t thread;

	count = argument(argc, argv, 1, 23);
	pthread_setname_np(pthread_self(), "waker");
	if (pipe(pipe_fd) || pthread_create(&thread, NULL, sleeper, name))
		return 1;
	for (uint64_t sent = 0; sent < count; sent++) {
		while (!sleeper_tid || woken != sent || waits_in(sleeper_tid) != SYS_read)
			usleep(100);
		if (write(pipe_fd[1], "x", 1) != 1)
			return 1;
	}
	while (waits_in(sleeper_tid) != -2)
		usleep(100);
	return 0;
}
