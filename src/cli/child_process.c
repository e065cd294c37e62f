/* SPDX-License-Identifier: MIT */
#include "cli/child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* In the new process: async-signal-safe. */
static void execute(const struct child_process *child, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (child->has_own_group)
		setpgid(0, 0);
	if (child->ends_with_parent) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
	}
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		dup2(child->fds[fd] < 0 ? null : child->fds[fd], fd);
	execvp(child->path, child->argv);
	if (child->failure && write(STDERR_FILENO, child->failure, strlen(child->failure)) < 0)
		_exit(126);
	_exit(127);
}

pid_t child_process_start(const struct child_process *child)
{
	pid_t parent = getpid(), pid = fork();

	if (pid == 0)
		execute(child, parent);
	if (pid < 0)
		return -errno;
	if (child->has_own_group)
		setpgid(pid, pid);
	return pid;
}
