/* SPDX-License-Identifier: MIT */
#include "cli/output/background_close.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Waits until the parent exits, which kills this process (PR_SET_PDEATHSIG). */
static void wait_for_parent(pid_t parent)
{
	prctl(PR_SET_NAME, "attar-closing");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/* The child must not keep pipes open or the working directory busy. */
static void release_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (chdir("/") < 0)
		_exit(1);
}

void background_close_start(void)
{
	pid_t parent = getpid();
	sigset_t all, former;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &former);
	/* Not fork(3): that may take locks, and this may be called in a signal handler. */
	if (syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) == 0) {
		release_files();
		wait_for_parent(parent);
	}
	sigprocmask(SIG_SETMASK, &former, NULL);
}
