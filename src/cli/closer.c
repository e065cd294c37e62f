/* SPDX-License-Identifier: MIT */
#include "cli/closer.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Waits for the end of the parent, and is killed by it. */
static void outlive(pid_t parent)
{
	prctl(PR_SET_NAME, "attar-closing");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		pause();
	_exit(0);
}

/* Readers of pipes and users of the working directory must not wait for the child. */
static void let_go(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	if (chdir("/") < 0)
		_exit(1);
}

void closer_start(void)
{
	pid_t parent = getpid();
	sigset_t all, former;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &former);
	/* Not fork(3): that may take locks, and this may be called in a signal handler. */
	if (syscall(SYS_clone, 0, NULL, NULL, NULL, NULL) == 0) {
		let_go();
		outlive(parent);
	}
	sigprocmask(SIG_SETMASK, &former, NULL);
}
