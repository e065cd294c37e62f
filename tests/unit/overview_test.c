/* SPDX-License-Identifier: MIT */
/* The limits of attar overview: a finding at the limit, none below it, and their order. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "attar/private/hist.h"
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

static bool says(const struct fixture *f, const char *words)
{
	for (size_t i = 0; i < f->n; i++)
		if (strstr(f->findings[i].evidence, words))
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

/* Nor does it make less what a thread does for half of the time. */
static void test_a_busy_thread_beside_sleep(void **state)
{
	struct fixture *f = *state;

	set_part(f, PART_KERNEL, 3 * second);
	f->sums.parts[PART_USER] = f->process.parts[PART_USER] = 2 * second;
	f->sums.parts[PART_SLEEP] = f->process.parts[PART_SLEEP] = 45 * second;
	f->sums.active = 50 * second;
	assert_true(finds(f, "kernel"));
	assert_string_equal(f->findings[0].name, "kernel");
	assert_string_equal(f->findings[0].value_text, "60.0 %");
	assert_string_equal(f->findings[1].name, "user code");
	assert_true(says(f, "the value is the share of the time without sleep"));
	f->sums.parts[PART_USER] -= second / 100;
	assert_false(finds(f, "kernel"));
}

static void fill(struct attar_hist *hist, uint64_t n, uint64_t value)
{
	hist_reset(hist);
	hist_add_n(hist, value, n);
}

static void test_run_delay(void **state)
{
	struct fixture *f = *state;
	struct attar_hist hist = {0};

	set_part(f, PART_READY, second / 2);
	f->sums.latencies[LATENCY_RUN] = &hist;
	fill(&hist, 100, 21 * MS);
	assert_true(finds(f, "run delay"));
	assert_non_null(strstr(f->findings[0].evidence, "; 100 waits, the longest 21.0 ms"));
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
	f->sums.parts[PART_DISK] = second / 2;
	fill(&hist, 10, 51 * MS);
	assert_true(finds(f, "block latency"));
	assert_string_equal(f->findings[0].command, "attar biolatency -D");
	fill(&hist, 9, 51 * MS);
	assert_false(finds(f, "block latency"));
	fill(&hist, 10, 49 * MS);
	assert_false(finds(f, "block latency"));
	fill(&hist, 10, 51 * MS);
	f->sums.parts[PART_DISK]--; /* the requests are of others */
	assert_false(finds(f, "block latency"));
	f->overview.has_selection = false;
	assert_true(finds(f, "block latency"));
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
	assert_false(finds(f, "swap"));
	f->sums.system.swap_ins = 1000;
	assert_true(finds(f, "swap"));
	f->sums.system.swap_ins = 999;
	assert_false(finds(f, "swap"));
	f->sums.system.drops = 10;
	assert_true(finds(f, "dropped packets"));
	f->sums.system.drops = 9;
	assert_false(finds(f, "dropped packets"));
	f->sums.system.hot = 1;
	assert_true(finds(f, "thermal throttling"));
}

/* Messages of the kernel, and whom it killed. */
static void test_kernel_log(void **state)
{
	struct fixture *f = *state;

	assert_false(finds(f, "kernel log"));
	f->overview.log = (struct kernel_log){.errors = 1, .error = "I/O error, dev sda"};
	assert_true(finds(f, "kernel log"));
	assert_string_equal(
		f->findings[0].evidence, "message about errors; the first one: I/O error, dev sda");
	f->overview.log = (struct kernel_log){.killed = "7 (java)"};
	f->sums.system.oom_kills = 1;
	f->overview.has_selection = false;
	assert_true(finds(f, "OOM kill"));
	assert_non_null(strstr(f->findings[0].evidence, "; the last one was process 7 (java)"));
}

/* Locks of a database that are held while their holders wait for disks are no cause. */
static void test_locks_beside_disks(void **state)
{
	struct fixture *f = *state;

	f->overview.peers = (struct peers){
		.n = 1, .looks = 100, .waiting_backends = 300, .at = {{.pid = PID, .seen = 100}}};
	set_part(f, PART_DISK, 4 * second);
	find(f);
	assert_string_equal(f->findings[0].name, "database lock");
	set_part(f, PART_DISK, 6 * second);
	find(f);
	assert_string_equal(f->findings[0].name, "disk");
	assert_string_equal(f->findings[1].name, "database lock");
}

static void test_order(void **state)
{
	static const char *const names[] = {
		"OOM kill", "failing calls", "disk", "major faults", "user code", "steal"};
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
	assert_string_equal(f->findings[2].command, "attar offcpu -D -- ./slow 'it'\\''s'");
	assert_string_equal(f->findings[1].command, "attar syscalls -- ./slow 'it'\\''s'");
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
	f->sums.scale = 2;
	find(f);
	assert_true(says(f, "; 312 requests observed of "));
	assert_true(says(f, "; 312 requests observed, the longest"));
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

/* Less than the time that each finding needs, or sleeps of a service. */
static void test_doubt_that_changes_nothing(void **state)
{
	struct fixture *f = *state;

	f->sums.scale = 2;
	set_part(f, PART_PEER, second / 10);
	f->sums.active = second;
	f->sums.doubt[PART_PEER] = 0.49e9;
	assert_false(finds(f, "unreliable"));
	f->sums.doubt[PART_PEER] = 0.51e9;
	assert_true(finds(f, "unreliable"));
	f->sums.doubt[PART_PEER] = 0;
	f->sums.doubt[PART_SLEEP] = 9e9;
	assert_true(finds(f, "unreliable"));
	f->sums.is_service = true;
	assert_false(finds(f, "unreliable"));
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
	struct thread_sched before[] = {{2, 10, 10, 20, 3}, {4, 10, 10, 20, 3}, {5, 10, 10, 20, 3},
		{6, 10, 10, 20, 3}, {7, 10, 10, 20, 3}},
			    after[] = {{3, 11, 11, 22, 4}, {4, 11, 11, 22, 7}, {5, 9, 9, 22, 7},
				    {6, 11, 11, 19, 7}, {7, 11, 11, 22, 2}};
	const struct thread_scheds from = {1, before, 5}, to = {2, after, 5}, none = {0};
	struct thread_sched change;

	(void)state;
	for (pid_t tid = 1; tid <= 8; tid++)
		assert_int_equal(thread_scheds_change(&from, &to, tid, &change), tid == 4);
	assert_true(thread_scheds_change(&from, &to, 4, &change));
	assert_int_equal(change.tid, 4);
	assert_int_equal(change.time, 1);
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

/* ---- counts ---- */

/* The process is on a CPU for this time, by the events; they are read at the ends of the report. */
static void set_counts(struct fixture *f, uint64_t seen)
{
	static struct usage began, now;

	began = (struct usage){.pid = PID, .started = 7, .user = 50, .cpu = 100};
	now = (struct usage){.pid = PID, .started = 7, .user = 550, .cpu = 800};
	f->overview.usage.began = (struct usages){.time = -10 * second, .at = &began, .n = 1};
	f->overview.usage.now = (struct usages){.at = &now, .n = 1};
	f->sums.has_all_cpus = true;
	f->process.threads = 2;
	f->process.counts = (struct overview_counts){.threads = 1};
	set_part(f, PART_USER, seen);
}

/* utime and stime have 7 s, also of a thread that has ended. */
static void test_times_of_a_process(void **state)
{
	static const struct {
		uint64_t ms;
		bool is_said;
	} cases[] = {{7000, false}, {6470, false}, {6450, true}, {7530, false}, {7550, true}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_counts(f, cases[i].ms * MS);
		find(f);
		assert_int_equal(says(f, "; uncertain: the kernel counted 6.96 to 7.04 s on a CPU, "
					 "the events show "),
			cases[i].is_said);
	}
	assert_true(says(f, "the events show 7.55 s"));
	f->overview.usage.now.time = 100 * MS; /* for two threads */
	find(f);
	assert_false(says(f, "uncertain"));
	f->overview.usage.now.time = 0;
	f->sums.system.taken = 0.01; /* by interrupts, in one of both times only */
	find(f);
	assert_false(says(f, "uncertain"));
	f->sums.system.taken = 0;
	f->sums.has_all_cpus = false;
	find(f);
	assert_false(says(f, "uncertain"));
	f->sums.has_all_cpus = true;
	f->overview.usage.now.at[0].started = 8; /* another process with this number */
	find(f);
	assert_false(says(f, "uncertain"));
}

/* The counts of threads that still exist are more exact. */
static void test_times_of_threads(void **state)
{
	static const struct {
		enum overview_part part;
		enum thread_check_time time;
		const char *words;
	} cases[] = {{PART_USER, CHECK_RUNNING, "4.99 to 5.01 s on a CPU, the events show 4.40 s"},
		{PART_READY, CHECK_READY,
			"4.99 to 5.01 s waiting for a CPU, the events show 4.40 s"},
		{PART_LOCK, CHECK_OFF,
			"4.99 to 5.01 s neither on a CPU nor waiting for one, the "
			"events show 4.40 s"}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct overview_counts *counts = &f->process.counts;

		set_counts(f, 0);
		set_part(f, cases[i].part, 5 * second);
		f->process.threads = 1;
		*counts = (struct overview_counts){.threads = 1, .slack = 10 * MS};
		counts->counted[cases[i].time] = 5 * second;
		counts->seen[cases[i].time] = UINT64_C(4400) * MS;
		find(f);
		assert_true(says(f, cases[i].words));
		f->overview.usage.began.at[0].state = 'R'; /* in the run queue, or on a CPU */
		find(f);
		assert_int_equal(says(f, "uncertain"), cases[i].time != CHECK_READY);
		f->overview.usage.began.at[0].state = 'S';
		counts->queued = 200 * MS;
		find(f);
		assert_int_equal(says(f, "uncertain"), cases[i].time != CHECK_OFF);
		counts->counted[cases[i].time] = UINT64_C(4400) * MS;
		counts->seen[cases[i].time] = 5 * second;
		find(f);
		assert_int_equal(says(f, "uncertain"), cases[i].time != CHECK_READY);
		counts->counted[cases[i].time] = 5 * second;
		counts->seen[cases[i].time] = UINT64_C(4500) * MS;
		counts->queued = 0;
		find(f);
		assert_false(says(f, "uncertain"));
	}
}

/* 5 of 7 s are user code by the kernel's count. */
static void test_division_of_cpu_time(void **state)
{
	static const struct {
		uint64_t user, irq, samples, turns;
		bool is_said;
	} cases[] = {{5000, 0, 1000, 10, false}, {3000, 0, 1000, 10, true},
		{3000, 0, 20, 10, false}, {3000, 0, 1000, 700, false},
		{3000, 2000, 1000, 10, false}, {6900, 0, 1000, 10, true}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_counts(f, 0);
		f->sums.is_divided = true;
		f->process.threads = 1;
		f->process.counts = (struct overview_counts){.seen = {7 * second},
			.counted = {7 * second},
			.turns = cases[i].turns,
			.threads = 1,
			.samples = cases[i].samples,
			.sampled = cases[i].samples * 10 * MS};
		set_part(f, PART_USER, cases[i].user * MS);
		f->process.parts[PART_IRQ] = cases[i].irq * MS;
		f->process.parts[PART_KERNEL] = (7000 - cases[i].user - cases[i].irq) * MS;
		find(f);
		assert_int_equal(says(f, "the kernel counted 64 to 79 % of its CPU time as time of "
					 "user code, the samples show "),
			cases[i].is_said);
	}
	assert_true(says(f, "the samples show 99 %"));
}

/* Of 10 ms each. */
static void test_number_of_samples(void **state)
{
	static const struct {
		uint64_t n;
		bool is_said;
	} cases[] = {{700, false}, {535, false}, {525, true}, {865, false}, {885, true}};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		set_counts(f, 7 * second);
		f->sums.has_clock = true;
		f->process.counts.samples = cases[i].n;
		f->process.counts.sampled = cases[i].n * 10 * MS;
		find(f);
		assert_int_equal(says(f, "; uncertain: it has "), cases[i].is_said);
	}
	assert_true(says(f, "it has 885 samples, its time on a CPU makes 700"));
	f->sums.has_clock = false;
	find(f);
	assert_false(says(f, "uncertain"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {TEST(test_shares), TEST(test_least_time),
		TEST(test_locks_beside_sleep), TEST(test_a_busy_thread_beside_sleep),
		TEST(test_run_delay), TEST(test_block_latency), TEST(test_counts),
		TEST(test_system), TEST(test_kernel_log), TEST(test_locks_beside_disks),
		TEST(test_order), TEST(test_short_waits), TEST(test_observed), TEST(test_doubt),
		TEST(test_doubt_that_changes_nothing), TEST(test_turn_that_does_not_end),
		TEST(test_one_process_is_not_spread), TEST(test_thread_scheds),
		TEST(test_running_process), TEST(test_target_of_the_user),
		TEST(test_times_of_a_process), TEST(test_times_of_threads),
		TEST(test_division_of_cpu_time), TEST(test_number_of_samples)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
