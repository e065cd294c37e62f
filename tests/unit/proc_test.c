/* SPDX-License-Identifier: MIT */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/proc.h"
#include "base/proc_tree.h"

enum { THREADS = 300, STOP = 7 };

struct seen {
	int searched; /* this number */
	int times, n; /* it was seen, and all numbers */
	pid_t kill;   /* process to end at the first number; 0: none */
};

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static int see(void *ctx, int number)
{
	struct seen *seen = ctx;

	seen->n++;
	seen->times += number == seen->searched;
	if (seen->kill && seen->n == 1)
		end_process(seen->kill);
	return 0;
}

static int stop(void *ctx, int number)
{
	struct seen *seen = ctx;

	seen->n++;
	return STOP;
}

static void *wait_forever(void *unused)
{
	for (;;)
		pause();
	return unused;
}

/* A child with that many threads besides the first. */
static pid_t start_child(int threads)
{
	int ready[2];
	char c;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t thread;

		for (int i = 0; i < threads; i++)
			if (pthread_create(&thread, NULL, wait_forever, NULL))
				_exit(1);
		if (write(ready[1], "", 1) == 1)
			wait_forever(NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void test_lists(void **state)
{
	struct seen process = {.searched = getpid()}, thread, fd;
	pid_t pid = start_child(3);

	assert_int_equal(proc_each_process(see, &process), 0);
	assert_int_equal(process.times, 1);
	thread = (struct seen){.searched = pid};
	assert_int_equal(proc_each_thread(pid, see, &thread), 0);
	assert_int_equal(thread.times, 1);
	assert_int_equal(thread.n, 4);
	fd = (struct seen){.searched = dup(0)};
	assert_int_equal(proc_each_fd(getpid(), see, &fd), 0);
	assert_int_equal(fd.times, 1);
	close(fd.searched);
	end_process(pid);
}

static void test_a_result_ends_the_walk(void **state)
{
	struct seen seen = {0};

	assert_int_equal(proc_each_process(stop, &seen), STOP);
	assert_int_equal(seen.n, 1);
}

/* More threads than one getdents64(2) returns, so that the walk meets the dead process. */
static void test_a_process_that_ends_ends_the_walk(void **state)
{
	pid_t pid = start_child(THREADS);
	struct seen seen = {.kill = pid}, again = {0};

	assert_int_equal(proc_each_thread(pid, see, &seen), 0);
	assert_in_range(seen.n, 1, THREADS + 1);
	assert_int_equal(proc_each_thread(pid, see, &again), -ENOENT);
	assert_int_equal(again.n, 0);
	assert_non_null(strstr(attar_error(), "/task"));
}

static void *wait_for_main(void *ready)
{
	while (proc_is_running(getpid()))
		sched_yield();
	if (write(*(int *)ready, "", 1) == 1)
		wait_forever(NULL);
	return NULL;
}

/* A child whose main thread has exited while another one runs. */
static void test_running_thread(void **state)
{
	int ready[2];
	pid_t pid, thread;
	char c;

	assert_int_equal(proc_running_thread(getpid()), getpid());
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		pthread_t other;

		if (pthread_create(&other, NULL, wait_for_main, &ready[1]))
			_exit(1);
		pthread_exit(NULL);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(proc_state(pid), 'Z');
	thread = proc_running_thread(pid);
	assert_true(thread > 0 && thread != pid && proc_is_running(thread));
	assert_int_equal(proc_with_memory(pid), thread);
	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	assert_int_equal(proc_running_thread(pid), 0); /* not reaped yet */
	assert_int_equal(proc_with_memory(pid), pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_running_thread(pid), 0);
	close(ready[0]);
	close(ready[1]);
}

/* A child with a child of its own, which another thread than the first has created. */
static void *start_grandchild(void *ready)
{
	pid_t pid = fork();

	if (pid == 0)
		wait_forever(NULL);
	if (write(*(int *)ready, &pid, sizeof(pid)) == sizeof(pid))
		wait_forever(NULL);
	return NULL;
}

static void test_descendants(void **state)
{
	int (*const add[])(parse_ints *) = {proc_add_descendants, proc_add_descendants_by_parents};
	pid_t child, grandchild;
	int ready[2];

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		pthread_t other;

		if (pthread_create(&other, NULL, start_grandchild, &ready[1]) == 0)
			wait_forever(NULL);
		_exit(1);
	}
	assert_int_equal(read(ready[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	for (size_t i = 0; i < ARRAY_SIZE(add); i++) {
		parse_ints tree = {0}, of_parent = {0};

		assert_int_equal(vec_push(&tree, child), 0);
		for (int times = 0; times < 2; times++) {
			assert_int_equal(add[i](&tree), 0);
			assert_int_equal(tree.n, 2);
			assert_int_equal(tree.at[1], grandchild);
		}
		/* not this process, although it is a child, and nothing below it */
		assert_int_equal(vec_push(&of_parent, getppid()), 0);
		assert_int_equal(add[i](&of_parent), 0);
		assert_false(parse_ints_have(&of_parent, getpid()));
		assert_false(parse_ints_have(&of_parent, child));
		assert_false(parse_ints_have(&of_parent, grandchild));
		vec_done(&tree);
		vec_done(&of_parent);
	}
	assert_int_equal(proc_parent(grandchild), child);
	assert_int_equal(proc_parent(child), getpid());
	kill(grandchild, SIGKILL);
	end_process(child);
	close(ready[0]);
	close(ready[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_a_result_ends_the_walk),
		cmocka_unit_test(test_a_process_that_ends_ends_the_walk),
		cmocka_unit_test(test_running_thread),
		cmocka_unit_test(test_descendants),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
