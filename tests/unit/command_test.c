/* SPDX-License-Identifier: MIT */
/* A launched command waits for its start, says why it cannot, and may end before it. */
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/command.h"

static struct command forked(const char *const *argv)
{
	struct command c;

	if (command_fork(&c, (char *const *)(uintptr_t)argv, NULL) < 0)
		fail_msg("%s", attar_error());
	return c;
}

/* Waits for its end without reaping it. */
static void await_end(const struct command *c)
{
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOWAIT), 0);
}

static void test_a_start_lets_it_run(void **state)
{
	struct command c = forked((const char *[]){"sh", "-c", "exit 23", NULL});

	assert_int_equal(command_start(&c), 0);
	await_end(&c);
	assert_true(command_ended(&c));
	assert_int_equal(c.status, 23);
	command_done(&c);
}

static void test_one_that_is_never_started_runs_nothing(void **state)
{
	struct command c;
	int told[2];
	char byte;

	assert_int_equal(pipe(told), 0);
	dup2(told[1], 100);
	close(told[1]);
	c = forked((const char *[]){"sh", "-c", "echo >&100", NULL});
	close(100);
	command_done(&c);
	assert_int_equal(read(told[0], &byte, 1), 0);
	close(told[0]);
}

/* As a Ctrl-C at the terminal does before everything is open: its end is told, and nothing else dies of it. */
static void test_one_that_was_killed_before_its_start(void **state)
{
	struct command c = forked((const char *[]){"true", NULL});

	kill(c.pid, SIGKILL);
	await_end(&c);
	assert_int_equal(command_start(&c), 0);
	assert_true(command_ended(&c));
	assert_int_equal(c.status, 128 + SIGKILL);
	command_done(&c);
}

static void test_what_cannot_be_executed_is_told(void **state)
{
	struct command c = forked((const char *[]){"/nowhere/at/all", NULL});

	assert_int_equal(command_start(&c), -ENOENT);
	command_done(&c);
	c = forked((const char *[]){"/", NULL});
	assert_int_equal(command_start(&c), -ENOEXEC);
	assert_string_equal(attar_error(), "cannot run '/': it is a directory");
	command_done(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_start_lets_it_run),
		cmocka_unit_test(test_one_that_is_never_started_runs_nothing),
		cmocka_unit_test(test_one_that_was_killed_before_its_start),
		cmocka_unit_test(test_what_cannot_be_executed_is_told),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
