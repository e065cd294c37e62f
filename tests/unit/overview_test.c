/* SPDX-License-Identifier: MIT */
/* The limits of attar overview: a finding at the limit, none below it, and their order. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "profilers/overview/overview.h"

enum { PID = 4194000, MS = 1000000 };

static const uint64_t second = 1000000000;

struct fixture {
	struct overview overview;
	struct overview_process process;
	struct overview_sums sums;
	struct overview_finding findings[FINDINGS_MAX];
	size_t n;
};

static void new_table(struct attar_keytable **ret_table)
{
	const struct attar_keytable_opts opts = {
		.size = sizeof(opts), .sums = PLACE_SUMS, .key_max = sizeof(struct overview_place)};

	assert_int_equal(attar_keytable_new(&opts, ret_table), 0);
}

/* Ten seconds of two CPUs and one process. */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	new_table(&f->overview.places);
	f->overview.cpus = 2;
	f->overview.has_selection = true;
	f->process = (struct overview_process){.pid = PID, .comm = "worker", .threads = 1};
	f->sums = (struct overview_sums){.overview = &f->overview,
		.elapsed = 10 * second,
		.scale = 1,
		.processes = &f->process,
		.n_processes = 1};
	assert_int_equal(attar_run_new("overview", &f->sums.run), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	attar_run_free(f->sums.run);
	attar_keytable_free(f->overview.places);
	free(f);
	return 0;
}

static void find(struct fixture *f)
{
	memset(f->findings, 0, sizeof(f->findings));
	f->n = overview_find(&f->sums, f->findings);
}

static bool finds(struct fixture *f, const char *name)
{
	find(f);
	for (size_t i = 0; i < f->n; i++)
		if (!strcmp(f->findings[i].name, name))
			return true;
	return false;
}

/* The rest of 10 s of active time is in small parts, which are below the limit. */
static void set_part(struct fixture *f, enum overview_part part, uint64_t time)
{
	memset(f->sums.parts, 0, sizeof(f->sums.parts));
	f->sums.active = 10 * second;
	f->sums.parts[part] = f->process.parts[part] = time;
}

static void test_shares(void **state)
{
	struct fixture *f = *state;

	for (int part = 0; part < ACTIVE_PARTS; part++) {
		set_part(f, part, 2 * second);
		assert_true(finds(f, overview_part_names[part]));
		assert_int_equal(f->n, 1);
		assert_string_equal(f->findings[0].value_text, "20.0 %");
		assert_non_null(strstr(f->findings[0].evidence, "worker (pid 4194000, 1 thread) "));
		assert_non_null(strstr(f->findings[0].evidence, "for 20 % of the time"));
		set_part(f, part, 2 * second - second / 100);
		assert_false(finds(f, overview_part_names[part]));
	}
	set_part(f, PART_IDLE, 9 * second);
	find(f);
	assert_int_equal(f->n, 0);
}

/* A share of little time is none; that of a whole system must be larger. */
static void test_least_time(void **state)
{
	struct fixture *f = *state;

	set_part(f, PART_LOCK, second / 2);
	f->sums.active = second;
	assert_true(finds(f, "lock"));
	f->sums.parts[PART_LOCK]--;
	f->sums.active = second;
	assert_false(finds(f, "lock"));
	f->overview.has_selection = false;
	set_part(f, PART_LOCK, 5 * second / 2);
	assert_true(finds(f, "lock"));
	f->sums.parts[PART_LOCK]--;
	assert_false(finds(f, "lock"));
}

/* Sleep does not make waits for locks less. */
static void test_locks_beside_sleep(void **state)
{
	struct fixture *f = *state;

	set_part(f, PART_LOCK, second);
	f->sums.parts[PART_SLEEP] = f->process.parts[PART_SLEEP] = 5 * second;
	assert_true(finds(f, "lock"));
	assert_string_equal(f->findings[0].value_text, "20.0 %");
	f->sums.parts[PART_LOCK] -= second / 100;
	assert_false(finds(f, "lock"));
	f->sums.parts[PART_SLEEP] = 19 * second / 2;
	f->sums.parts[PART_LOCK] = second / 2;
	assert_true(finds(f, "lock"));
	assert_string_equal(f->findings[0].name, "lock");
	assert_string_equal(f->findings[0].value_text, "100 %");
	f->sums.parts[PART_LOCK]--; /* too little time */
	assert_false(finds(f, "lock"));
}

static void fill(struct attar_hist *hist, uint64_t n, uint64_t value)
{
	attar_hist_reset(hist);
	attar_hist_add_n(hist, value, n);
}

static void test_run_delay(void **state)
{
	struct fixture *f = *state;
	struct attar_hist hist = {0};

	set_part(f, PART_READY, second / 2);
	f->sums.latencies[LATENCY_RUN] = &hist;
	fill(&hist, 100, 21 * MS);
	assert_true(finds(f, "run delay"));
	fill(&hist, 99, 21 * MS);
	assert_false(finds(f, "run delay"));
	fill(&hist, 100, 19 * MS);
	assert_false(finds(f, "run delay"));
	fill(&hist, 100, 21 * MS);
	f->sums.parts[PART_READY]--;
	assert_false(finds(f, "run delay"));
	attar_hist_done(&hist);
}

static void test_block_latency(void **state)
{
	struct fixture *f = *state;
	struct attar_hist hist = {0};

	f->sums.latencies[LATENCY_BLOCK] = &hist;
	fill(&hist, 10, 51 * MS);
	assert_true(finds(f, "block latency"));
	assert_string_equal(f->findings[0].command, "attar biolatency -D");
	fill(&hist, 9, 51 * MS);
	assert_false(finds(f, "block latency"));
	fill(&hist, 10, 49 * MS);
	assert_false(finds(f, "block latency"));
	attar_hist_done(&hist);
}

/* Rates, over ten seconds. */
static void test_counts(void **state)
{
	static const struct {
		enum overview_count count;
		uint64_t limit;
		const char *name;
	} cases[] = {{COUNT_MAJOR, 500, "major faults"}, {COUNT_MIGRATIONS, 10000, "migrations"},
		{COUNT_ERRORS, 10000, "failing calls"},
		{COUNT_SWITCHES, 400000, "context switches"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		f->sums.counts[cases[i].count] = cases[i].limit;
		assert_true(finds(f, cases[i].name));
		assert_int_equal(f->n, 1);
		f->sums.counts[cases[i].count]--;
		assert_false(finds(f, cases[i].name));
	}
	memset(f->sums.counts, 0, sizeof(f->sums.counts));
	f->sums.elapsed = second / 100; /* a limit of a second must be reached, too */
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		f->sums.counts[cases[i].count] = cases[i].limit / 10;
		assert_true(finds(f, cases[i].name));
		assert_int_equal(f->n, 1);
		f->sums.counts[cases[i].count]--;
		assert_false(finds(f, cases[i].name));
	}
	f->sums.elapsed = 10 * second;
	f->sums.counts[COUNT_FAULTS] = UINT32_MAX; /* has no limit: its time has one */
	find(f);
	assert_int_equal(f->n, 0);
}

static void test_system(void **state)
{
	struct fixture *f = *state;

	f->sums.system.steal = 0.1;
	assert_true(finds(f, "steal"));
	f->sums.system.steal = 0.099;
	assert_false(finds(f, "steal"));
	f->sums.system.memory = 0.1;
	assert_true(finds(f, "memory pressure"));
	f->sums.system.memory = 0.099;
	assert_false(finds(f, "memory pressure"));
	assert_false(finds(f, "OOM kill"));
	f->sums.system.oom_kills = 1;
	assert_true(finds(f, "OOM kill"));
}

static void test_order(void **state)
{
	static const char *const names[] = {
		"OOM kill", "disk", "user code", "failing calls", "major faults", "steal"};
	static char program[] = "./slow", argument[] = "it's";
	static char *const command[] = {program, argument, NULL};
	struct fixture *f = *state;

	attar_run_command(f->sums.run, command);
	set_part(f, PART_USER, 3 * second);
	f->sums.parts[PART_DISK] = f->process.parts[PART_DISK] = 5 * second;
	f->sums.counts[COUNT_MAJOR] = 1000;
	f->sums.counts[COUNT_ERRORS] = 30000;
	f->sums.system.steal = 0.1;
	f->sums.system.oom_kills = 2;
	find(f);
	assert_int_equal(f->n, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(f->findings[i].name, names[i]);
	assert_string_equal(f->findings[0].value_text, "2 processes");
	assert_string_equal(f->findings[0].command, "attar oomkill -a -- ./slow 'it'\\''s'");
	/* the process is none of this machine, and its command must run again */
	assert_string_equal(f->findings[1].command, "attar offcpu -D -- ./slow 'it'\\''s'");
	assert_string_equal(f->findings[3].command, "attar syscalls -- ./slow 'it'\\''s'");
	assert_string_equal(f->findings[5].command, "attar cpu-util -i 1s -a -- ./slow 'it'\\''s'");
}

/* Short times are in microseconds. */
static void test_short_waits(void **state)
{
	struct fixture *f = *state;
	struct attar_hist hist = {0};

	f->sums.latencies[LATENCY_RUN] = &hist;
	set_part(f, PART_READY, 3 * second);
	fill(&hist, 10, 900);
	assert_true(finds(f, "run queue"));
	assert_non_null(
		strstr(f->findings[0].evidence, "; at a time 0.9 us at p50, 0.9 us at p99"));
	fill(&hist, 10, 7 * MS);
	find(f);
	assert_non_null(strstr(f->findings[0].evidence, " ms at p50, "));
	attar_hist_done(&hist);
}

static bool says(const struct fixture *f, const char *words)
{
	for (size_t i = 0; i < f->n; i++)
		if (strstr(f->findings[i].evidence, words))
			return true;
	return false;
}

/* Requests and waits during pauses are not among those that are shown. */
static void test_observed(void **state)
{
	struct fixture *f = *state;
	struct attar_hist hist = {0};

	f->sums.latencies[LATENCY_BLOCK] = f->sums.latencies[LATENCY_RUN] = &hist;
	set_part(f, PART_READY, 3 * second);
	f->sums.parts[PART_DISK] = f->process.parts[PART_DISK] = 3 * second;
	fill(&hist, 312, 60 * MS);
	find(f);
	assert_true(says(f, "; 312 requests of "));
	assert_true(says(f, "; 312 requests, the longest"));
	assert_true(says(f, "; 312 waits, the longest"));
	f->sums.scale = 2;
	find(f);
	assert_true(says(f, "; 312 requests observed of "));
	assert_true(says(f, "; 312 requests observed, the longest"));
	assert_true(says(f, "; 312 waits observed, the longest"));
	attar_hist_done(&hist);
}

/* A time may be wrong by a tenth of all, whether or not there is another finding. */
static void test_doubt(void **state)
{
	struct fixture *f = *state;

	f->sums.scale = 20;
	set_part(f, PART_SLEEP, second / 10);
	assert_false(finds(f, "unreliable"));
	f->sums.doubt[PART_PEER] = 0.99e9;
	f->sums.doubt[PART_IDLE] = 9e9; /* of no finding */
	assert_false(finds(f, "unreliable"));
	f->sums.doubt[PART_PEER] = 1.01e9;
	assert_true(finds(f, "unreliable"));
	assert_int_equal(f->n, 1);
	assert_true(says(f, "the load changed while attar did not watch it"));
	assert_true(says(f, "5 % of the time was watched"));
	set_part(f, PART_LOCK, 9 * second);
	assert_true(finds(f, "unreliable"));
	assert_int_equal(f->n, 2);
	f->sums.lost = 0.5;
	assert_true(finds(f, "unreliable"));
	assert_true(says(f, "of the events were lost"));
}

/* The times of threads that have no process are in no process. */
static void test_one_process_is_not_spread(void **state)
{
	struct fixture *f = *state;

	set_part(f, PART_LOCK, 5 * second);
	f->process.parts[PART_LOCK] = second;
	assert_true(finds(f, "lock"));
	assert_true(says(f, "worker (pid"));
	assert_false(says(f, "spread over"));
}

/* A thread that is in one reading only, or has the number of an earlier one, is unknown. */
static void test_thread_scheds(void **state)
{
	struct thread_sched before[] = {{2, 10, 20, 3}, {4, 10, 20, 3}, {5, 10, 20, 3},
		{6, 10, 20, 3}, {7, 10, 20, 3}},
			    after[] = {{3, 11, 22, 4}, {4, 11, 22, 7}, {5, 9, 22, 7},
				    {6, 11, 19, 7}, {7, 11, 22, 2}};
	const struct thread_scheds from = {1, before, 5}, to = {2, after, 5}, none = {0};
	struct thread_sched change;

	(void)state;
	for (pid_t tid = 1; tid <= 8; tid++)
		assert_int_equal(thread_scheds_change(&from, &to, tid, &change), tid == 4);
	assert_true(thread_scheds_change(&from, &to, 4, &change));
	assert_int_equal(change.tid, 4);
	assert_int_equal(change.ran, 1);
	assert_int_equal(change.delay, 2);
	assert_int_equal(change.turns, 4);
	assert_false(thread_scheds_change(&none, &to, 4, &change));
}

static void check_command(struct fixture *f, const char *options)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "attar locks%s", options);
	find(f);
	assert_string_equal(f->findings[0].command, expected);
}

/* A process of the whole system; otherwise the target is that of the user. */
static void test_running_process(void **state)
{
	struct fixture *f = *state;
	char options[32];

	f->process.pid = getpid();
	f->overview.has_selection = false;
	set_part(f, PART_LOCK, 9 * second);
	snprintf(options, sizeof(options), " -p %d", (int)getpid());
	check_command(f, options);
	assert_int_equal(attar_run_set(f->sums.run, "cpus", "0"), 0);
	snprintf(options, sizeof(options), " -C 0 -p %d", (int)getpid());
	check_command(f, options);
}

static void test_target_of_the_user(void **state)
{
	struct fixture *f = *state;
	char pids[32], options[64];

	f->process.pid = getpid();
	set_part(f, PART_LOCK, 9 * second);
	assert_int_equal(attar_run_set(f->sums.run, "pids", "7"), 0);
	snprintf(pids, sizeof(pids), "%d", (int)getpid()); /* a child */
	snprintf(options, sizeof(options), " -p %s", pids);
	check_command(f, options);
	assert_int_equal(attar_run_set(f->sums.run, "pids", pids), 0);
	snprintf(options, sizeof(options), " -p 7,%s", pids);
	check_command(f, options);
	assert_int_equal(attar_run_set(f->sums.run, "tids", "7,8"), 0);
	snprintf(options, sizeof(options), " -p 7,%s -t 7,8", pids);
	check_command(f, options);
}

/* The sources are paused in it, once; those of a recording never. */
static void test_turn_that_does_not_end(void **state)
{
	struct fixture *f = *state;
	struct duty duty = {.share = 0.004, .is_live = true}, recorded = {.share = 0.004};
	uint64_t from, to, paused_at;

	for (int i = 0; i < DUTY_TURN_MAX; i++)
		assert_int_equal(duty_event(&duty, f->sums.run), 0);
	assert_int_equal(duty.paused_at, 0);
	assert_int_equal(duty_event(&duty, f->sums.run), 0);
	paused_at = duty.paused_at;
	assert_true(paused_at);
	assert_int_equal(duty_event(&duty, f->sums.run), 0);
	assert_int_equal(duty.paused_at, paused_at);
	assert_int_equal(duty_turn(&duty, f->sums.run, 0, &from, &to), DUTY_PAUSED);
	assert_int_equal(duty.in_turn, 0);
	assert_int_equal(duty_turn(&duty, f->sums.run, 0, &from, &to), DUTY_RESUMES);
	assert_int_equal(from, paused_at);
	for (int i = 0; i < 2 * DUTY_TURN_MAX; i++)
		assert_int_equal(duty_event(&recorded, f->sums.run), 0);
	assert_int_equal(recorded.paused_at, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {TEST(test_shares), TEST(test_least_time),
		TEST(test_locks_beside_sleep), TEST(test_run_delay), TEST(test_block_latency),
		TEST(test_counts), TEST(test_system), TEST(test_order), TEST(test_short_waits),
		TEST(test_observed), TEST(test_doubt), TEST(test_turn_that_does_not_end),
		TEST(test_one_process_is_not_spread), TEST(test_thread_scheds),
		TEST(test_running_process), TEST(test_target_of_the_user)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
