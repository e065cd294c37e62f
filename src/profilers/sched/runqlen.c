/* SPDX-License-Identifier: MIT */
/*
 * runqlen: how many tasks wait for each CPU. The queues are followed by wakeups, switches and
 * migrations, and their lengths are sampled by a timer.
 */
#include <errno.h>
#include <stdlib.h>

#include "attar/run.h"
#include "lib/prev_state.h"

enum { CPUS_MAX = 8192, TASKS_MAX = 1 << 20, DEFAULT_FREQ = 99 };
enum { WAITING, STATES };

struct runqlen {
	uint64_t freq;
	bool per_cpu;

	struct attar_states *tasks;   /* by tid; the block is the CPU that the task waits for */
	uint32_t waiting[CPUS_MAX];   /* tasks, by CPU */
	uint64_t running[CPUS_MAX];   /* the task that was switched in last */
	struct attar_keytable *table; /* samples: by CPU, or all with the key 0 */
};

/* ---- the queues ---- */

static struct attar_state *find(const struct runqlen *q, uint64_t tid)
{
	return attar_states_get(q->tasks, &tid, sizeof(tid));
}

static void leave(struct runqlen *q, struct attar_state *task)
{
	uint32_t cpu = *(const uint32_t *)task->value;

	if (task->state == WAITING && q->waiting[cpu])
		q->waiting[cpu]--;
}

/* The task runs, sleeps or ends. */
static int stop_waiting(struct runqlen *q, const struct attar_event *ev, uint64_t tid)
{
	const struct attar_stamp at = {.time = ev->time, .task = ATTAR_NO_TASK};
	struct attar_state *task = find(q, tid);

	if (!task)
		return 0;
	leave(q, task);
	return attar_states_exit(q->tasks, &tid, sizeof(tid), &at);
}

static int wait_for(struct runqlen *q, const struct attar_event *ev, uint64_t tid, uint64_t cpu)
{
	const struct attar_stamp at = {.time = ev->time, .task = ATTAR_NO_TASK};
	struct attar_state *task = find(q, tid);

	/* A task can be woken up before it is switched out: it continues to run. */
	if (!tid || cpu >= CPUS_MAX || q->running[cpu] == tid)
		return 0;
	if (task)
		leave(q, task);
	task = attar_states_set_u64(q->tasks, tid, WAITING, &at);
	if (!task)
		return -ENOMEM;
	*(uint32_t *)task->value = (uint32_t)cpu;
	q->waiting[cpu]++;
	return 0;
}

enum { PREV_PID, PREV_STATE, NEXT_PID };

static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct runqlen *q = self;
	uint64_t prev = attar_arg_u64(ev, PREV_PID);
	bool preempted = prev_is_runnable(attar_arg_u64(ev, PREV_STATE));
	int r;

	if (ev->cpu < CPUS_MAX)
		q->running[ev->cpu] = attar_arg_u64(ev, NEXT_PID);
	r = preempted ? wait_for(q, ev, prev, ev->cpu) : 0;
	return r < 0 ? r : stop_waiting(q, ev, attar_arg_u64(ev, NEXT_PID));
}

enum { PID, TARGET_CPU };

static int on_wakeup(struct attar_run *run, void *self, const struct attar_event *ev)
{
	return wait_for(self, ev, attar_arg_u64(ev, PID), attar_arg_u64(ev, TARGET_CPU));
}

/* A task that sleeps is moved when it is woken up, and waits only from then on. */
static int on_migrate(struct attar_run *run, void *self, const struct attar_event *ev)
{
	uint64_t tid = attar_arg_u64(ev, PID);

	return find(self, tid) ? wait_for(self, ev, tid, attar_arg_u64(ev, TARGET_CPU)) : 0;
}

/* Which tasks still wait is unknown after a loss: the queues start empty. */
static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct runqlen *q = self;
	struct attar_state *task;

	while ((task = attar_states_next(q->tasks, NULL))) {
		const struct attar_stamp at = {.time = ev->time, .task = ATTAR_NO_TASK};
		uint64_t tid = *(const uint64_t *)task->key;

		leave(q, task);
		if (attar_states_exit(q->tasks, &tid, sizeof(tid), &at) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- samples ---- */

static int on_timer(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct runqlen *q = self;
	struct attar_keyrow *row;

	if (ev->cpu >= CPUS_MAX)
		return 0;
	row = attar_keytable_at_u64(q->table, q->per_cpu ? ev->cpu : 0);
	return row ? attar_hist_add(&row->interval.hists[0], q->waiting[ev->cpu]) : -ENOMEM;
}

/* A bucket for each length. */
static void add_rows(struct attar_section *table, const struct runqlen *q,
	const struct attar_keyrow *row, enum attar_scope scope)
{
	const struct attar_hist *hist = &attar_keyrow_sums(row, scope)->hists[0];
	struct attar_hist_bucket bucket = {0};

	while (attar_hist_next(hist, &bucket)) {
		attar_section_row(table);
		if (q->per_cpu)
			attar_cell_u64(table, row->number);
		attar_cell_u64(table, bucket.low);
		attar_cell_u64(table, bucket.count);
		attar_cell_double(table, 100 * (double)bucket.count / (double)hist->count);
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct attar_keyrow *x = *(struct attar_keyrow *const *)a,
				  *y = *(struct attar_keyrow *const *)b;

	return (x->number > y->number) - (x->number < y->number);
}

static int runqlen_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct runqlen *q = self;
	struct attar_section *table = attar_report_table(report, "runqlen");
	int r = attar_keytable_end_interval(q->table);
	size_t n = attar_keytable_keys(q->table), used = 0;
	struct attar_keyrow **rows = malloc((n + 1) * sizeof(struct attar_keyrow *)), *row = NULL;

	if (r < 0 || !rows) {
		free(rows);
		return -ENOMEM;
	}
	while ((row = attar_keytable_next(q->table, row)))
		rows[used++] = row;
	qsort(rows, used, sizeof(struct attar_keyrow *), compare_rows);
	if (q->per_cpu)
		attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	attar_section_column(table, "waiting", ATTAR_UNIT_ID);
	attar_section_column(table, "samples", ATTAR_UNIT_COUNT);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	for (size_t i = 0; i < used; i++)
		add_rows(table, q, rows[i], scope);
	free(rows);
	return 0;
}

/* ---- life ---- */

static const struct attar_input inputs[] = {
	{.event = "sched:sched_switch",
		.fields = {"prev_pid", "prev_state", "next_pid"},
		.on_event = on_switch},
	{.event = "sched:sched_wakeup", .fields = {"pid", "target_cpu"}, .on_event = on_wakeup},
	{.event = "sched:sched_wakeup_new", .fields = {"pid", "target_cpu"}, .on_event = on_wakeup},
	{.event = "sched:sched_migrate_task",
		.fields = {"pid", "dest_cpu"},
		.on_event = on_migrate},
	{0}};

static int runqlen_open(struct attar_run *run, void *self)
{
	struct runqlen *q = self;
	const struct attar_states_opts tasks = {.size = sizeof(tasks),
		.states = STATES,
		.value_size = sizeof(uint64_t),
		.keys_max = TASKS_MAX,
		.groups_max = 8};
	const struct attar_keytable_opts table = {.size = sizeof(table), .hists = 1};
	const struct attar_timer timer = {
		.period = 1000000000 / (q->freq ? q->freq : DEFAULT_FREQ), .on_event = on_timer};
	int r = attar_run_timer(run, &timer);

	attar_run_all_cpus(run, true); /* tasks are woken up and moved by other CPUs */
	if (r == 0)
		r = attar_run_inputs(run, inputs);
	if (r == 0)
		r = attar_states_new(&tasks, &q->tasks);
	return r == 0 ? attar_keytable_new(&table, &q->table) : r;
}

static void runqlen_close(void *self)
{
	struct runqlen *q = self;

	attar_states_free(q->tasks);
	attar_keytable_free(q->table);
}

static const struct attar_option options[] = {
	ATTAR_COUNT(struct runqlen, freq, 'F', "freq", "HZ",
		"samples of each CPU per second (default 99)", .min = 1, .max = 100000),
	ATTAR_FLAG(struct runqlen, per_cpu, 0, "perins", "show each CPU separately"), {0}};

static const struct attar_example examples[] = {
	{"runqlen -d 10s", "how many tasks wait for a CPU, over ten seconds"},
	{"runqlen --perins -i 1s", "the queue of each CPU, each second"}, {0}};

const struct attar_profiler profiler_runqlen = {
	.name = "runqlen",
	.group = "Scheduling",
	.summary = "number of tasks that wait for a CPU, by sampling",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct runqlen),
	.options = options,
	.examples = examples,
	.open = runqlen_open,
	.lost = on_lost,
	.report = runqlen_report,
	.close = runqlen_close,
};
