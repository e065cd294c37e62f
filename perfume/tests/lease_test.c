/* SPDX-License-Identifier: CC0-1.0 */
/*
 * Collectors that do not renew their lease: a program disables their events after three seconds.
 * These tests only wait, so they are a separate program, which runs in parallel with others.
 */
#include "rings.h"

#include <signal.h>
#include <sys/wait.h>

/* A killed collector is forgotten by the program when its lease expires; the next one is served. */
static void a_killed_collector_expires_with_its_lease(void **state)
{
	struct program program = start("until_left", 5, NULL);
	struct perfume_collector *collector;
	pid_t pid;

	await_word(&program, "ready");
	pid = fork();
	if (!pid) {
		collector = collector_for("ring_tick", program.pid);
		perfume_collector_scan(collector);
		READ_UNTIL(collector, got.ticks > 3);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	await_word(&program, "left");
	await_word(&program, "ready");
	collector = collector_for("ring_tick", program.pid);
	perfume_collector_scan(collector);
	await_word(&program, "done");
	READ_UNTIL(collector, got.ticks == 1);
	/* Events that were written before are not delivered. */
	assert_int_equal(got.last_i, 77);
	end_of(&program);
	READ_UNTIL(collector, stats_of(collector).writers == 0);
	assert_int_equal(stats_of(collector).written, 1);
	expect_balance(collector);
	perfume_collector_free(collector);
}

/* It keeps no event enabled in a program that only tests whether there is a listener. */
static void polling_notices_a_killed_collector(void **state)
{
	struct program program = start("polling", 0, NULL);
	pid_t pid;

	await_word(&program, "ready");
	pid = fork();
	if (!pid) {
		perfume_collector_scan(collector_for("ring_*", program.pid));
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	await_word(&program, "heard");
	await_word(&program, "left");
	await_word(&program, "left");
	end_of(&program);
}

static void a_stopped_collector_reports_disabled_events(void **state)
{
	struct program program = start("until_left", 5, NULL);
	struct perfume_collector *collector = collector_for("ring_tick", program.pid);

	await_word(&program, "ready");
	perfume_collector_scan(collector);
	read_all(collector, 0);
	/* As if stopped: no poll until the program has dropped this collector. */
	await_word(&program, "left");
	await_word(&program, "ready");
	READ_UNTIL(collector, got.last_i == 77);
	assert_int_equal(stats_of(collector).lapses, 1);
	await_word(&program, "done");
	end_of(&program);
	perfume_collector_free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_killed_collector_expires_with_its_lease),
		CASE(polling_notices_a_killed_collector),
		CASE(a_stopped_collector_reports_disabled_events),
	};

	live_alone();
	setenv("PERFUME_RING", "1", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
