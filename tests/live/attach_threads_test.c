/* SPDX-License-Identifier: MIT */
/*
 * A process that creates threads all the time while counters are opened on it: each thread has each
 * counter once, whether counters are opened enabled or not.
 */
#include "live.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attar/event.h"

enum { ROUNDS = 24, THREADS_MAX = 400, EARLY = 5, CALLS = 7, SPIN = 20000 };

/* ---- the process ---- */

static int calls_fd; /* at its end, each thread makes its calls */

static void *live(void *unused)
{
	char byte;

	if (read(calls_fd, &byte, 1) < 0)
		_exit(1);
	live_getppid(CALLS);
	return NULL;
}

/*
 * Creates threads until the test writes to `stop`. Writes to `made`: a byte when it has some, and
 * their number in the end.
 */
static void create_threads(int stop, int made)
{
	pthread_t threads[THREADS_MAX];
	pthread_attr_t attr;
	uint32_t n = 0;
	char byte;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	while (read(stop, &byte, 1) < 0)
		if (n < THREADS_MAX && pthread_create(&threads[n], &attr, live, NULL) == 0) {
			if (++n == EARLY && write(made, "", 1) < 0)
				_exit(1);
			for (volatile int i = 0; i < SPIN; i++)
				;
		}
	if (write(made, &n, sizeof(n)) < 0)
		_exit(1);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	_exit(0);
}

struct process {
	pid_t pid;
	int stop, made, calls; /* the ends of pipes, for the test */
};

/* Returns when it creates threads. */
static struct process process_start(void)
{
	int stop[2], made[2], calls[2];
	struct process p;
	char byte;

	assert_int_equal(pipe2(stop, O_CLOEXEC), 0);
	assert_int_equal(pipe2(made, O_CLOEXEC), 0);
	assert_int_equal(pipe2(calls, O_CLOEXEC), 0);
	p = (struct process){fork(), stop[1], made[0], calls[1]};
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		fcntl(stop[0], F_SETFL, O_NONBLOCK);
		close(stop[1]);
		close(calls[1]);
		calls_fd = calls[0];
		create_threads(stop[0], made[1]);
	}
	close(stop[0]);
	close(made[1]);
	close(calls[0]);
	assert_int_equal(read(p.made, &byte, 1), 1);
	return p;
}

/* It creates no more threads. Returns how many it has made. */
static uint32_t process_stop(const struct process *p)
{
	uint32_t n = 0;

	assert_int_equal(write(p->stop, "", 1), 1);
	assert_int_equal(read(p->made, &n, sizeof(n)), sizeof(n));
	return n;
}

/* All threads make their calls and end. */
static void process_end(const struct process *p)
{
	int status;

	close(p->calls);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	assert_int_equal(status, 0);
	close(p->stop);
	close(p->made);
}

/* ---- what is counted ---- */

struct watch {
	struct attar_symbols *symbols;
	struct attar_target *target;
	struct attar_counter *counter;
	struct attar_stream *stream;
	uint64_t by_thread[THREADS_MAX];
	pid_t tids[THREADS_MAX];
	uint32_t n;
};

static void open_counter(struct watch *w, pid_t pid, bool enabled)
{
	struct perf_event_attr attr = live_tracepoint("syscalls/sys_enter_getppid");
	struct attar_target_opts opts = {.size = sizeof(opts)};
	char text[16];

	live_need_root("watch other processes");
	snprintf(text, sizeof(text), "%d", pid);
	opts.pids = text;
	attr.sample_period = 1;
	attar_stream_attr(&attr, false);
	attr.disabled = !enabled;
	if (attar_target_new(&opts, &w->target) < 0 ||
		attar_counter_open(w->target, &attr, "getppid", 0, &w->counter) < 0)
		fail_msg("%s", attar_error());
}

static void add(struct watch *w, pid_t tid)
{
	uint32_t i = 0;

	while (i < w->n && w->tids[i] != tid)
		i++;
	assert_true(i < THREADS_MAX);
	if (i == w->n)
		w->tids[w->n++] = tid;
	w->by_thread[i]++;
}

static void check_stream(bool enabled, bool track)
{
	const struct attar_stream_opts opts = {.size = sizeof(opts), .track = track};
	struct process p = process_start();
	struct watch w = {0};
	struct attar_event ev;
	uint32_t made;

	assert_int_equal(attar_symbols_new(NULL, &w.symbols), 0);
	open_counter(&w, p.pid, enabled);
	if (attar_stream_live(w.target, &w.counter, 1, w.symbols, &opts, &w.stream) < 0)
		fail_msg("%s", attar_error());
	made = process_stop(&p);
	assert_int_equal(attar_stream_start(w.stream), 0);
	process_end(&p);
	assert_int_equal(attar_stream_stop(w.stream), 0);
	while (attar_stream_next(w.stream, &ev) > 0)
		if (ev.record->type == PERF_RECORD_SAMPLE)
			add(&w, ev.thread->tid);
	assert_int_equal(w.n, made);
	for (uint32_t i = 0; i < w.n; i++)
		assert_int_equal(w.by_thread[i], CALLS);
	attar_stream_free(w.stream);
	attar_counter_close(w.counter);
	attar_target_free(w.target);
	attar_symbols_free(w.symbols);
}

static void test_opened_enabled(void **state)
{
	for (int i = 0; i < ROUNDS; i++)
		check_stream(true, true);
}

static void test_opened_disabled(void **state)
{
	for (int i = 0; i < ROUNDS; i++)
		check_stream(false, true);
}

static void test_without_side_band(void **state)
{
	for (int i = 0; i < ROUNDS; i++)
		check_stream(i % 2, false);
}

static void test_counts(void **state)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct process p = process_start();
		struct attar_value value;
		struct watch w = {0};
		uint32_t made;

		open_counter(&w, p.pid, i % 2);
		made = process_stop(&p);
		assert_int_equal(attar_counter_enable(w.counter), 0);
		process_end(&p);
		assert_int_equal(attar_counter_read(w.counter, &value), 0);
		assert_int_equal(value.value, made * CALLS);
		attar_counter_close(w.counter);
		attar_target_free(w.target);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opened_enabled),
		cmocka_unit_test(test_opened_disabled),
		cmocka_unit_test(test_without_side_band),
		cmocka_unit_test(test_counts),
	};

	return cmocka_run_group_tests_name("attach threads", tests, NULL, NULL);
}
