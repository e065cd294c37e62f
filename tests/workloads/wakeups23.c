/* SPDX-License-Identifier: MIT */
/*
 * Truth: the thread named "sleeper" is woken exactly COUNT (23) times from a read() of a pipe, by
 * the thread named "waker", which waits each time until it sleeps. It ends without a signal, so
 * that no signal wakes it once more.
 */
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

static int pipe_fd[2];
static volatile pid_t sleeper_tid;
static volatile uint64_t count, woken;

static void *sleeper(void *unused)
{
	char byte;

	pthread_setname_np(pthread_self(), "sleeper");
	sleeper_tid = syscall(SYS_gettid);
	while (woken < count && read(pipe_fd[0], &byte, 1) == 1)
		woken++;
	return NULL;
}

/* The state letter after the comm in /proc/self/task/TID/stat; 0 if the thread has exited. */
static char state(pid_t tid)
{
	char path[64], text[512] = "", *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	after = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	return after && after[1] == ' ' ? after[2] : 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	count = argument(argc, argv, 1, 23);
	pthread_setname_np(pthread_self(), "waker");
	if (pipe(pipe_fd) || pthread_create(&thread, NULL, sleeper, NULL))
		return 1;
	for (uint64_t sent = 0; sent < count; sent++) {
		while (!sleeper_tid || woken != sent || state(sleeper_tid) != 'S')
			usleep(100);
		if (write(pipe_fd[1], "x", 1) != 1)
			return 1;
	}
	while (state(sleeper_tid))
		usleep(100);
	return 0;
}
