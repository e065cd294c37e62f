/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Runs operations that may block forever in a child process: accessing the memory of another
 * program blocks until its pages are available, and a hostile file system may never provide them.
 */
#include "writer.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLED_NS 50000000ULL

/* Returns the exit status of the child, or -ETIMEDOUT. */
static int wait_for(pid_t pid, uint64_t patience_ns)
{
	const struct timespec nap = {.tv_nsec = 50000};
	uint64_t end = perfume_collector_now() + patience_ns;
	int status;
	pid_t ended;

	while ((ended = waitpid(pid, &status, __WALL | WNOHANG)) == 0 &&
		perfume_collector_now() < end)
		nanosleep(&nap, NULL);
	if (ended == 0)
		return -ETIMEDOUT;
	return ended == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
}

/* Without SIGCHLD, the caller does not notice the child; its fork handlers do not run. */
int perfume_helper_process(int (*fn)(const void *ctx), const void *ctx, uint64_t *patience_ns)
{
	uint64_t begin = perfume_collector_now(), took;
	sigset_t all, old;
	pid_t pid;
	int result;

	if (!*patience_ns)
		return -ETIMEDOUT;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	result = -errno;
	if (!pid)
		syscall(SYS_exit_group, fn(ctx));
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (pid < 0)
		return result;
	result = wait_for(pid, *patience_ns);
	if (result == -ETIMEDOUT) {
		kill(pid, SIGKILL);
		wait_for(pid, KILLED_NS);
		took = perfume_collector_now() - begin;
		*patience_ns -= took < *patience_ns ? took : *patience_ns;
	}
	return result;
}
