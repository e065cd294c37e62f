/* SPDX-License-Identifier: MIT */
/* A launched command waits for its start, reports why it cannot run, and may exit before it. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/command.h"

/* Linux 5.2: without pidfds. */
static bool is_old_kernel;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
	if (is_old_kernel && number == SYS_pidfd_open) {
		errno = ENOSYS;
		return -1;
	}
	return __real_syscall(number, a, b, c, d, e);
}

static struct command forked(const char *const *argv)
{
	struct command c;

	if (command_fork(&c, (char *const *)(uintptr_t)argv, &(struct command_setup){0}) < 0)
		fail_msg("%s", attar_error());
	return c;
}

/* Waits for its end without reaping it. */
static void await_end(const struct command *c)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
}

static void test_start_runs_the_command(void **state)
{
	struct command c = forked((const char *[]){"sh", "-c", "exit 23", NULL});

	assert_int_equal(command_start(&c), 0);
	await_end(&c);
	assert_true(command_ended(&c));
	assert_int_equal(c.status, 23);
	command_done(&c);
}

static void test_unstarted_command_does_not_run(void **state)
{
	struct command c;
	int pipe_fds[2];
	char byte;

	assert_int_equal(pipe(pipe_fds), 0);
	dup2(pipe_fds[1], 100);
	close(pipe_fds[1]);
	c = forked((const char *[]){"sh", "-c", "echo >&100", NULL});
	close(100);
	command_done(&c);
	assert_int_equal(read(pipe_fds[0], &byte, 1), 0);
	close(pipe_fds[0]);
}

/*
 * Like a Ctrl-C at the terminal before everything is open: its end is reported, and no other
 * process is affected.
 */
static void test_command_killed_before_its_start_is_reported(void **state)
{
	struct command c = forked((const char *[]){"true", NULL});

	kill(c.pid, SIGKILL);
	await_end(&c);
	assert_int_equal(command_start(&c), 0);
	assert_true(command_ended(&c));
	assert_int_equal(c.status, 128 + SIGKILL);
	command_done(&c);
}

static void test_failed_exec_is_reported(void **state)
{
	struct command c = forked((const char *[]){"/nowhere/at/all", NULL});

	assert_int_equal(command_start(&c), -ENOENT);
	command_done(&c);
	c = forked((const char *[]){"/", NULL});
	assert_int_equal(command_start(&c), -ENOEXEC);
	assert_string_equal(attar_error(), "cannot run '/': it is a directory");
	command_done(&c);
}

static void reap_all(int number)
{
	int error = errno;

	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	errno = error;
}

/* False if its end was not noticed within 20 s. */
static bool ends(struct command *c)
{
	for (int ms = 0; ms < 20000 && !command_ended(c); ms++)
		poll(NULL, 0, 1);
	return command_ended(c);
}

/* A handler may run too late to reap it. PIDFD_GET_INFO has the status since Linux 6.15. */
static bool is_status_known(const struct command *c)
{
	return c->has_times || (c->pidfd >= 0 && c->status >= 0);
}

static void ends_though_reaped(const char *const *argv, int status)
{
	struct command c = forked(argv);

	assert_int_equal(command_start(&c), 0);
	assert_true(ends(&c));
	assert_int_equal(c.status, is_status_known(&c) ? status : -1);
	command_done(&c);
}

static void is_killed_though_reaped(void)
{
	struct command c = forked((const char *[]){"sleep", "1000", NULL});
	pid_t pid = c.pid;

	assert_int_equal(command_start(&c), 0);
	assert_false(command_ended(&c));
	command_done(&c);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void with_children_reaped_by(void (*handler)(int number), bool old_kernel)
{
	is_old_kernel = old_kernel;
	signal(SIGCHLD, handler);
	ends_though_reaped((const char *[]){"sh", "-c", "exit 23", NULL}, 23);
	ends_though_reaped((const char *[]){"sh", "-c", "kill -9 $$", NULL}, 128 + SIGKILL);
	is_killed_though_reaped();
	signal(SIGCHLD, SIG_DFL);
	is_old_kernel = false;
}

static void test_exit_is_noticed_with_sigchld_ignored(void **state)
{
	with_children_reaped_by(SIG_IGN, false);
	with_children_reaped_by(SIG_IGN, true);
}

static void test_exit_is_noticed_with_a_reaping_handler(void **state)
{
	with_children_reaped_by(reap_all, false);
	with_children_reaped_by(reap_all, true);
}

static void test_kernel_without_pidfds(void **state)
{
	is_old_kernel = true;
	test_start_runs_the_command(state);
	test_command_killed_before_its_start_is_reported(state);
	is_old_kernel = false;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_runs_the_command),
		cmocka_unit_test(test_unstarted_command_does_not_run),
		cmocka_unit_test(test_command_killed_before_its_start_is_reported),
		cmocka_unit_test(test_failed_exec_is_reported),
		cmocka_unit_test(test_exit_is_noticed_with_sigchld_ignored),
		cmocka_unit_test(test_exit_is_noticed_with_a_reaping_handler),
		cmocka_unit_test(test_kernel_without_pidfds),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
