/* SPDX-License-Identifier: MIT */
#include "perf/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/file_limit.h"

enum { ID_PIDFD = 3 }; /* P_PIDFD of waitid(2), since 5.4 */

/* Resets handled signals in the child; ignored ones (as by nohup(1)) stay ignored. */
static void default_signals(void)
{
	struct sigaction action;
	sigset_t none;

	for (int number = 1; number < NSIG; number++)
		if (sigaction(number, NULL, &action) == 0 && action.sa_handler != SIG_IGN &&
			action.sa_handler != SIG_DFL)
			signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Each message is a variable of the environment, or without '=' the permission to exec. Returns
 * false if the parent exited or closed the socket.
 */
static bool wait_to_go(int go_fd)
{
	static char variables[COMMAND_VARIABLES][COMMAND_VARIABLE_MAX];
	char spare[COMMAND_VARIABLE_MAX];

	for (size_t i = 0;; i++) {
		char *text = i < COMMAND_VARIABLES ? variables[i] : spare;
		ssize_t n = TEMP_FAILURE_RETRY(read(go_fd, text, COMMAND_VARIABLE_MAX - 1));

		if (n <= 0)
			return false;
		text[n] = '\0';
		if (!strchr(text, '='))
			return true;
		if (text != spare)
			putenv(text);
	}
}

static void child(char *const *argv, const struct command_setup *setup, int go_fd, int failure_fd)
{
	int error;

	for (const char *const *it = setup->environment; it && *it; it++)
		putenv((char *)(uintptr_t)*it);
	default_signals();
	if (setup->prepare)
		setup->prepare(setup->ctx);
	if (!wait_to_go(go_fd))
		_exit(0);
	execvp(argv[0], argv);
	error = errno;
	_exit(TEMP_FAILURE_RETRY(write(failure_fd, &error, sizeof(error))) < 0 ? 126 : 127);
}

int command_fork(struct command *c, char *const *argv, const struct command_setup *setup)
{
	int go[2], failure[2];
	pid_t pid;

	/* Sockets: writing to a pipe without a reader would raise SIGPIPE. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go) < 0)
		return file_limit_fail(errno, "cannot create a socket pair");
	if (pipe2(failure, O_CLOEXEC) < 0) {
		int error = errno;

		close(go[0]), close(go[1]);
		return file_limit_fail(error, "cannot create a pipe");
	}
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		close(failure[0]);
		child(argv, setup, go[0], failure[1]);
	}
	close(go[0]);
	close(failure[1]);
	if (pid < 0) {
		int error = errno;

		close(go[1]), close(failure[0]);
		return attar_fail(
			-error, "cannot fork to run '%s': %s", CLIP(argv[0]), strerror(error));
	}
	*c = (struct command){.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.go_fd = go[1],
		.failure_fd = failure[0],
		.status = -1,
		.name = argv[0]};
	return 0;
}

static int exec_failed(const struct command *c, int error)
{
	struct stat st;

	if (error == ENOENT && !strchr(c->name, '/'))
		return attar_fail(
			-error, "cannot run '%s': no such command in PATH", CLIP(c->name));
	if (error == ENOENT)
		return attar_fail(-error,
			"cannot run '%s': no such file, or its interpreter is missing",
			CLIP(c->name));
	if (error == EACCES && stat(c->name, &st) == 0 && S_ISDIR(st.st_mode))
		return attar_fail(-ENOEXEC, "cannot run '%s': it is a directory", CLIP(c->name));
	if (error == EACCES)
		return attar_fail(
			-ENOEXEC, "cannot run '%s': the file is not executable", CLIP(c->name));
	if (error == ENOEXEC)
		return attar_fail(-error,
			"cannot run '%s': not an executable program or a script with a #! line",
			CLIP(c->name));
	return attar_fail(-error, "cannot run '%s': %s", CLIP(c->name), strerror(error));
}

int command_add_environment(struct command *c, const char *variable)
{
	size_t n = strlen(variable);

	if (n >= COMMAND_VARIABLE_MAX)
		return attar_fail(-E2BIG, "the variable '%s' is too long for the environment",
			CLIP(variable));
	if (TEMP_FAILURE_RETRY(send(c->go_fd, variable, n, MSG_NOSIGNAL)) != (ssize_t)n)
		return attar_fail(-errno, "cannot prepare the command '%s': %s", CLIP(c->name),
			strerror(errno));
	return 0;
}

int command_start(struct command *c)
{
	ssize_t n;
	int error;

	if (c->go_fd < 0)
		return 0;
	n = TEMP_FAILURE_RETRY(send(c->go_fd, "g", 1, MSG_NOSIGNAL));
	close(TAKE_FD(c->go_fd));
	do {
		n = read(c->failure_fd, &error, sizeof(error));
	} while (n < 0 && errno == EINTR);
	close(TAKE_FD(c->failure_fd));
	return n == sizeof(error) ? exec_failed(c, error) : 0;
}

static uint64_t to_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_usec * 1000;
}

/* struct pidfd_info of ioctl PIDFD_GET_INFO, first version. */
struct pidfd_info_v0 {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
};

/* The exit status of a command that was reaped elsewhere, since Linux 6.15. -1: unknown. */
static int status_after_reaping(const struct command *c)
{
	enum { INFO_EXIT = 8 };
	struct pidfd_info_v0 info = {.mask = INFO_EXIT};

	if (c->pidfd < 0 || ioctl(c->pidfd, _IOWR(0xff, 11, struct pidfd_info_v0), &info) < 0 ||
		!(info.mask & INFO_EXIT))
		return -1;
	return WIFSIGNALED(info.exit_code) ? 128 + WTERMSIG(info.exit_code)
					   : WEXITSTATUS(info.exit_code);
}

/* waitid(2) with resource usage, without blocking. A pidfd cannot refer to a reused PID. */
static long reap(const struct command *c, siginfo_t *info, struct rusage *usage)
{
	long r = -1;

	if (c->pidfd >= 0)
		r = syscall(SYS_waitid, ID_PIDFD, c->pidfd, info, WEXITED | WNOHANG, usage);
	if (c->pidfd < 0 || (r < 0 && errno == EINVAL))
		r = syscall(SYS_waitid, P_PID, c->pid, info, WEXITED | WNOHANG, usage);
	return r;
}

bool command_ended(struct command *c)
{
	struct rusage usage;
	siginfo_t info = {0};

	if (c->ended)
		return true;
	if (reap(c, &info, &usage) < 0) {
		/* ECHILD: the calling program ignores SIGCHLD, or reaps any child. */
		c->ended = errno == ECHILD;
		c->status = c->ended ? status_after_reaping(c) : -1;
		return c->ended;
	}
	if (!info.si_pid)
		return false;
	c->ended = c->has_times = true;
	c->user = to_ns(&usage.ru_utime);
	c->system = to_ns(&usage.ru_stime);
	c->status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return true;
}

static void send_signal(const struct command *c, int number)
{
	if (c->pidfd < 0)
		kill(c->pid, number);
	else
		syscall(SYS_pidfd_send_signal, c->pidfd, number, NULL, 0);
}

static void close_fds(struct command *c)
{
	if (c->go_fd >= 0)
		close(TAKE_FD(c->go_fd)); /* still held: the child exits */
	if (c->failure_fd >= 0)
		close(TAKE_FD(c->failure_fd));
}

void command_disown(struct command *c)
{
	close_fds(c);
	if (c->pidfd >= 0)
		close(TAKE_FD(c->pidfd));
	c->pid = 0;
}

void command_end(struct command *c)
{
	bool held = command_is_held(c);

	if (!c->pid)
		return;
	close_fds(c);
	if (!held && !command_ended(c))
		send_signal(c, SIGTERM);
	for (int ms = 0; ms < 1000 && !command_ended(c); ms += 5)
		poll(NULL, 0, 5);
	if (!command_ended(c))
		send_signal(c, SIGKILL);
	while (!command_ended(c))
		poll(NULL, 0, 5);
}

void command_done(struct command *c)
{
	if (!c->pid)
		return;
	command_end(c);
	command_disown(c);
}
