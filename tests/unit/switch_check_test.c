/* SPDX-License-Identifier: MIT */
/*
 * Switches that were not delivered are counted for each CPU; losses and other records are not. They
 * are made from the kernel's records of switches.
 */
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "unit.h"

#include "perf/ring.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/input/replay.h"
#include "run/parts/switch_check.h"
#include "run/events/sources.h"
#include "stream/stream.h"

enum { CPUS = 2 };

static struct switch_cpu cpus[CPUS];
static struct switch_check check;
static struct attar_run run = {.select.keeps_own = true};

static int begin(void **state)
{
	check = (struct switch_check){.cpus = cpus, .n_cpus = CPUS, .prev = 8, .next = 16};
	memset(cpus, 0, sizeof(cpus));
	part_switch_check.toggled(&run, &check, check.source, true);
	return 0;
}

static void switched(uint32_t cpu, int prev, int next, uint32_t raw_size)
{
	int raw[5] = {0, 0, prev, 0, next};
	struct attar_record record = {
		.type = PERF_RECORD_SAMPLE, .sample = {.raw = raw, .raw_size = raw_size}};
	struct attar_event ev = {.record = &record, .cpu = cpu};

	assert_int_equal(part_switch_check.sample(&run, &check, &ev), 0);
}

static void record(struct attar_record record, uint32_t cpu)
{
	struct attar_event ev = {.record = &record, .cpu = cpu};

	assert_int_equal(part_switch_check.record(&run, &check, &ev), 0);
}

static void see(uint32_t cpu, int prev, int next)
{
	switched(cpu, prev, next, 5 * sizeof(int));
}

static void missing_are(uint64_t first, uint64_t second)
{
	assert_int_equal(cpus[0].missing, first);
	assert_int_equal(cpus[1].missing, second);
}

static void test_complete_switches(void **state)
{
	see(0, 1, 2);
	see(1, 7, 0);
	see(0, 2, 0);
	see(1, 0, 7);
	see(0, 0, 1);
	missing_are(0, 0);
}

static void test_missing_switches(void **state)
{
	see(1, 7, 0);
	see(0, 1, 2);
	for (int i = 0; i < 23; i++) /* those from the idle task are missing */
		see(1, 7, 0);
	see(0, 2, 1);
	see(0, 3, 2);
	missing_are(1, 23);
}

static void test_after_a_loss(void **state)
{
	see(0, 1, 2);
	see(1, 1, 2);
	record((struct attar_record){.type = PERF_RECORD_LOST}, 0);
	see(0, 5, 6);
	see(1, 5, 6);
	missing_are(0, 1);
	part_switch_check.toggled(&run, &check, check.source, true);
	see(0, 1, 2);
	see(1, 1, 2);
	missing_are(0, 1);
}

/* Thread 5 takes the tid of its process, 4. The CPU of the second exec has no known task. */
static void test_exec_of_another_thread(void **state)
{
	const struct attar_record exec = {
		.type = PERF_RECORD_COMM, .comm = {.exec = true, .tid = 4}};

	see(0, 1, 5);
	record(exec, 0);
	record(exec, 1);
	record(exec, CPUS);
	see(0, 4, 2);
	see(1, 5, 6);
	missing_are(0, 0);
}

static void test_records_that_do_not_fit(void **state)
{
	see(0, 1, 2);
	see(CPUS, 1, 2);
	see((uint32_t)-1, 1, 2);
	switched(0, 5, 6, 4 * sizeof(int));
	see(0, 2, 1);
	missing_are(0, 0);
}

/* ---- samples that are made ---- */

static const char format_text[] =
	"name: sched_switch\n"
	"ID: 321\n"
	"format:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
	"\n"
	"print fmt: \"\"\n";

struct raw_switch {
	uint16_t type, unused;
	int32_t common_pid;
	char prev_comm[16];
	int32_t prev_pid, prev_prio;
	int64_t prev_state;
	char next_comm[16];
	int32_t next_pid, next_prio;
};

enum { A = 4000001, B = 4000002 }; /* no threads of this machine */

static struct {
	struct attar_run run;
	struct attar_stream stream;
	struct attar_symbols *symbols;
	struct attar_event_spec spec;
	struct attar_format *format;
	size_t made;
	struct raw_switch last;
	struct attar_event event;
	struct attar_ring ring[CPUS], *rings[CPUS];
	struct counter_table counts[CPUS];
	struct cursor cursors[CPUS];
	uint32_t number;
} m;

static int on_made(struct attar_run *r, void *self, const struct attar_event *ev)
{
	assert_int_equal(ev->record->type, PERF_RECORD_SAMPLE);
	assert_int_equal(ev->record->sample.raw_size, sizeof(m.last));
	memcpy(&m.last, ev->record->sample.raw, sizeof(m.last));
	m.event = *ev;
	m.made++;
	return 0;
}

static void name(pid_t tid, const char *comm)
{
	procs_name(&m.stream.procs, procs_thread(&m.stream.procs, tid, tid), comm);
}

static int begin_with_format(void **state, const char *format)
{
	static struct source_use use;
	struct source s = {.spec = &m.spec, .use = &use};

	use = (struct source_use){.fn = on_made};
	memset(&m, 0, sizeof(m));
	assert_int_equal(parts_init(&m.run.parts, run_parts), 0);
	begin(state);
	assert_int_equal(attar_format_parse("sched", format, strlen(format), &m.format), 0);
	m.spec = (struct attar_event_spec){.format = m.format};
	assert_int_equal(attar_symbols_new(NULL, &m.symbols), 0);
	procs_init(&m.stream.procs, m.symbols, false);
	for (int i = 0; i < CPUS; i++) {
		m.ring[i].cpu = i;
		m.rings[i] = &m.ring[i];
		m.cursors[i].counts = &m.counts[i];
	}
	m.stream.numbers = &m.number;
	m.stream.n_counters = 1;
	m.stream.rings = m.rings;
	m.stream.cursors = m.cursors;
	m.stream.n_rings = CPUS;
	m.run.stream = &m.stream;
	m.run.clock.began = 1;
	m.run.clock.tick = UINT64_MAX;
	m.run.select.keeps_own = true;
	assert_int_equal(vec_push(&m.run.sources.list, s), 0);
	m.run.replay = calloc(1, sizeof(*m.run.replay)); /* for the source of an input */
	use.input = &(const struct attar_input){.fields = {"next_prio"}};
	assert_int_equal(
		switch_records_begin(&check.records, &m.run, &m.run.sources.list.at[0]), 0);
	free(m.run.replay);
	m.run.replay = NULL;
	assert_non_null(check.records.raw);
	name(A, "a");
	name(B, "b");
	return 0;
}

static int begin_making(void **state)
{
	return begin_with_format(state, format_text);
}

static int end_making(void **state)
{
	switch_records_done(&check.records);
	vec_done(&m.run.sources.list);
	parts_done(&m.run.parts);
	procs_done(&m.stream.procs);
	attar_symbols_free(m.symbols);
	attar_format_free(m.format);
	return 0;
}

/* A sample of the tracepoint. */
static void sample(uint32_t cpu, int prev, int next)
{
	switched(cpu, prev, next, 5 * sizeof(int));
}

/* As the kernel writes them; `why` of a switch out. */
static void put(uint32_t cpu, bool out, int tid, int other, bool preempt)
{
	struct attar_record rec = {.type = PERF_RECORD_SWITCH_CPU_WIDE,
		.pid = (uint32_t)tid,
		.tid = (uint32_t)tid,
		.cpu = cpu,
		.time = 77,
		.context_switch = {(uint32_t)other, (uint32_t)other, out, preempt}};
	struct attar_event ev = {.record = &rec, .cpu = cpu, .time = 77};

	assert_int_equal(part_switch_check.record(&m.run, &check, &ev), 0);
	if (m.made && m.event.cpu == cpu) /* as the part does for a source */
		cpus[cpu].task = m.last.next_pid;
}

static void test_delivered_switches_are_not_made(void **state)
{
	sample(0, A, B);
	put(0, true, A, B, false);
	put(0, false, B, A, false);
	sample(0, B, 0);
	put(0, true, B, 0, false);
	put(0, false, 0, B, false);
	assert_int_equal(m.made, 0);
	assert_false(check.lacks_some);
}

static void test_switch_from_the_idle_task(void **state)
{
	sample(1, A, 0);
	put(1, false, B, 0, false); /* the record of the idle task did not arrive either */
	assert_int_equal(m.made, 1);
	assert_int_equal(m.last.type, 321);
	assert_int_equal(m.last.common_pid, 0);
	assert_string_equal(m.last.prev_comm, "swapper/1");
	assert_int_equal(m.last.prev_pid, 0);
	assert_int_equal(m.last.prev_prio, 120);
	assert_int_equal(m.last.prev_state, 0);
	assert_string_equal(m.last.next_comm, "b");
	assert_int_equal(m.last.next_pid, B);
	assert_int_equal(m.event.time, 77);
	assert_int_equal(m.event.cpu, 1);
	assert_int_equal(m.event.thread->tid, 0);
	assert_true(check.lacks_some);
	assert_int_equal(m.counts[1].arrived, 1); /* it is not missing */
	assert_int_equal(m.counts[0].arrived, 0);
}

/* Of both records, the first one is used, and says why. */
static void test_switch_between_tasks(void **state)
{
	static const struct {
		bool preempt;
		int64_t state;
	} whys[] = {{true, 0}, {false, 1}};

	for (size_t i = 0; i < ARRAY_SIZE(whys); i++) {
		m.made = 0;
		sample(0, B, A);
		put(0, true, A, B, whys[i].preempt);
		put(0, false, B, A, false);
		assert_int_equal(m.made, 1);
		assert_int_equal(m.last.prev_pid, A);
		assert_int_equal(m.last.common_pid, A);
		assert_string_equal(m.last.prev_comm, "a");
		assert_int_equal(m.last.prev_state, whys[i].state);
		assert_int_equal(m.last.next_pid, B);
		assert_int_equal(m.event.thread->tid, A);
	}
}

/* This process has another priority than most. */
static void test_priorities(void **state)
{
	const pid_t own = getpid();
	int before = getpriority(PRIO_PROCESS, 0);

	assert_int_equal(setpriority(PRIO_PROCESS, 0, 7), 0);
	check.records.needs_prio = true;
	sample(0, A, 0);
	put(0, false, own, 0, false);
	assert_int_equal(m.last.next_prio, 127);
	assert_int_equal(m.last.prev_prio, 120);
	if (setpriority(PRIO_PROCESS, 0, before) == 0 && geteuid() == 0) {
		assert_int_equal(sched_setscheduler(0, SCHED_RR, &(struct sched_param){3}), 0);
		sample(0, A, 0);
		put(0, false, own, 0, false);
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
		assert_int_equal(m.last.next_prio, 96);
	}
}

static void test_what_is_not_made(void **state)
{
	sample(0, A, 0);
	m.run.clock.began = 0; /* records of a recording can begin before its samples */
	put(0, false, B, 0, false);
	m.run.clock.began = 1;
	part_switch_check.toggled(&m.run, &check, check.source, false);
	put(0, false, B, 0, false);
	put(CPUS, false, B, 0, false);
	put(0, false, -1, 0, false);
	put(0, true, A, -1, false);
	part_switch_check.toggled(&m.run, &check, check.source, true);
	m.run.select.keeps_own = false; /* samples in this process are left out */
	put(0, true, getpid(), A, false);
	assert_int_equal(m.made, 0);
	put(0, false, B, 0, false);
	assert_int_equal(m.made, 1);
	assert_false(check.lacks_some); /* after a pause, or a loss, the task was unknown */
}

/* A recording can have any format. */
static void test_names_of_odd_sizes(void **state)
{
	static const struct {
		const char *size, *name;
	} sizes[] = {{"0", ""}, {"1", ""}, {"2", "b"}};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		char text[sizeof(format_text)], *at;

		memcpy(text, format_text, sizeof(text));
		at = strstr(strstr(text, "next_comm"), "size:16") + strlen("size:");
		at[0] = '0';
		at[1] = *sizes[i].size;
		begin_with_format(state, text);
		sample(1, A, 0);
		put(1, false, B, 0, false);
		assert_int_equal(m.made, 1);
		assert_string_equal(m.last.next_comm, sizes[i].name);
		assert_int_equal(m.last.next_pid, B);
		end_making(state);
	}
}

/* Records are not needed where enough switches from the idle task arrive. */
static void test_trust(void **state)
{
	for (int i = 0; i < 1000; i++) {
		assert_false(cpus[0].is_trusted);
		sample(0, A, 0);
		sample(0, 0, A);
	}
	assert_true(cpus[0].is_trusted);
	assert_false(cpus[1].is_trusted);
	sample(1, A, B);
	sample(1, A, B); /* the switch back is missing */
	assert_true(check.lacks_some);
	assert_false(cpus[0].is_trusted);
	for (int i = 0; i < 1000; i++) {
		sample(0, A, 0);
		sample(0, 0, A);
	}
	assert_false(cpus[0].is_trusted);
}

#define MAKING(test) cmocka_unit_test_setup_teardown(test, begin_making, end_making)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_complete_switches, begin),
		cmocka_unit_test_setup(test_missing_switches, begin),
		cmocka_unit_test_setup(test_after_a_loss, begin),
		cmocka_unit_test_setup(test_exec_of_another_thread, begin),
		cmocka_unit_test_setup(test_records_that_do_not_fit, begin),
		MAKING(test_delivered_switches_are_not_made),
		MAKING(test_switch_from_the_idle_task),
		MAKING(test_switch_between_tasks),
		MAKING(test_priorities),
		MAKING(test_what_is_not_made),
		MAKING(test_trust),
		cmocka_unit_test(test_names_of_odd_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
