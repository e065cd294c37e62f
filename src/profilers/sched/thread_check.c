/* SPDX-License-Identifier: MIT */
#include "sched/thread_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = 8192, COMM_BYTES = 16 };

/* Shares of the time of a report. */
static const double limit = 0.05;

/* ns: the kernel adds the time of a thread on a CPU at ticks. */
static const uint64_t tick_ns = 10000000;

static const char *const time_names[CHECK_TIMES] = {"running", "waiting for a CPU", "off the CPU"};

/* ---- the kernel's counts ---- */

/* "cpu0 user nice system idle iowait irq softirq steal" */
static int read_taken(struct thread_counts *counts)
{
	const uint64_t tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	FILE *file = fopen("/proc/stat", "re");
	char line[512];
	int r = 0;

	while (file && r == 0 && fgets(line, sizeof(line), file)) {
		unsigned long long irq = 0, soft = 0, steal = 0;
		uint64_t *more;
		unsigned cpu;

		if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %llu %llu %llu", &cpu, &irq, &soft,
			    &steal) < 2 ||
			cpu >= CPUS_MAX)
			continue;
		if (cpu >= counts->cpus) {
			more = realloc(counts->taken, (cpu + 1) * sizeof(*more));
			if (!more) {
				r = -ENOMEM;
				break;
			}
			memset(more + counts->cpus, 0, (cpu + 1 - counts->cpus) * sizeof(*more));
			counts->taken = more;
			counts->cpus = cpu + 1;
		}
		counts->taken[cpu] = (irq + soft + steal) * tick;
	}
	if (file)
		fclose(file);
	return r;
}

static void counts_done(struct thread_counts *counts)
{
	thread_scheds_done(&counts->scheds);
	free(counts->taken);
	*counts = (struct thread_counts){0};
}

static int counts_read(struct attar_run *run, struct thread_counts *ret_counts)
{
	int r;

	*ret_counts = (struct thread_counts){0};
	r = thread_scheds_read(run, &ret_counts->scheds);
	return r == 0 ? read_taken(ret_counts) : r;
}

int thread_check_turn(struct attar_run *run, struct thread_check *check)
{
	return check->began.scheds.time ? 0 : counts_read(run, &check->began);
}

/* Once for each end of a report. */
static int check_read(struct attar_run *run, struct thread_check *check)
{
	const uint64_t until = attar_run_until(run);
	int r;

	if (!attar_run_is_live(run)) {
		counts_done(&check->began);
		counts_done(&check->now);
		r = thread_scheds_recorded(run, false, &check->began.scheds);
		return r == 0 ? thread_scheds_recorded(run, true, &check->now.scheds) : r;
	}
	if (check->until == until)
		return 0;
	counts_done(&check->last);
	check->last = check->now;
	check->last_until = check->until;
	check->until = until;
	return counts_read(run, &check->now);
}

void thread_check_done(struct thread_check *check)
{
	counts_done(&check->began);
	counts_done(&check->last);
	counts_done(&check->now);
}

/* ---- differences ---- */

struct difference {
	pid_t tid;
	enum thread_check_time time;
	uint64_t seen, counted, of;
	uint64_t slack; /* how wrong `counted` may be */
};

/* What is compared. */
struct comparison {
	struct attar_run *run;
	const struct thread_counts *from, *to;
	uint64_t since, until; /* ns */
	uint64_t taken;        /* ns: at most, from a thread on a CPU */
	unsigned times;
	struct difference *found; /* with room for CHECK_TIMES for each thread */
	size_t n;
};

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static uint64_t most_taken(const struct thread_counts *from, const struct thread_counts *to)
{
	uint64_t most = 0;

	for (size_t cpu = 0; cpu < from->cpus && cpu < to->cpus; cpu++)
		if (to->taken[cpu] > from->taken[cpu] && to->taken[cpu] - from->taken[cpu] > most)
			most = to->taken[cpu] - from->taken[cpu];
	return most;
}

/* The counts were read somewhat earlier or later than the report begins and ends. */
static uint64_t scaled(uint64_t counted, uint64_t of, uint64_t read)
{
	return read ? (uint64_t)((double)counted * (double)of / (double)read) : counted;
}

/* From its start, or its first reading. False: unknown. */
static bool change_of(const struct attar_run *run, const struct thread_scheds *from,
	const struct thread_sched *to, uint64_t since, uint64_t until,
	struct thread_sched *ret_change, struct thread_counted *counted)
{
	const struct attar_thread *thread = attar_run_thread(run, to->tid);
	const struct thread_sched *first = thread_scheds_find(from, to->tid);

	counted->of = until - since;
	counted->slack = tick_ns + distance(to->time, until);
	if (first) {
		counted->slack += distance(first->time, since);
		return thread_scheds_between(first, to, ret_change);
	}
	if (!thread || thread->started < since || thread->started >= until ||
		thread->started >= to->time)
		return false;
	counted->of = until - thread->started;
	*ret_change = *to;
	ret_change->time = to->time - thread->started;
	return true;
}

bool thread_check_counted(const struct attar_run *run, const struct thread_scheds *from,
	const struct thread_scheds *to, uint64_t since, uint64_t until, pid_t tid,
	struct thread_counted *ret_counted)
{
	const struct thread_sched *last = thread_scheds_find(to, tid);
	struct thread_sched change;
	uint64_t busy;

	if (!last || !change_of(run, from, last, since, until, &change, ret_counted) ||
		(!change.turns && !change.ran)) /* one wait, which has no end yet */
		return false;
	ret_counted->turns = change.turns;
	ret_counted->times[CHECK_RUNNING] = scaled(change.ran, ret_counted->of, change.time);
	ret_counted->times[CHECK_READY] = scaled(change.delay, ret_counted->of, change.time);
	busy = ret_counted->times[CHECK_RUNNING] + ret_counted->times[CHECK_READY];
	ret_counted->times[CHECK_OFF] = ret_counted->of > busy ? ret_counted->of - busy : 0;
	return true;
}

/* The difference is larger than what the moments of the readings explain. */
static void compare_thread(struct comparison *c, pid_t tid, const struct thread_seen *seen)
{
	struct thread_counted counted;

	if (!thread_check_counted(
		    c->run, &c->from->scheds, &c->to->scheds, c->since, c->until, tid, &counted))
		return;
	counted.times[CHECK_READY] += seen->queued;
	counted.times[CHECK_OFF] -=
		seen->queued < counted.times[CHECK_OFF] ? seen->queued : counted.times[CHECK_OFF];
	for (unsigned time = 0; time < CHECK_TIMES; time++) {
		uint64_t allowed = (uint64_t)(limit * (double)(c->until - c->since));

		allowed = allowed > counted.slack ? allowed : counted.slack;
		if (!(c->times & 1U << time) ||
			(c->times & CHECK_ONLY_MORE && seen->times[time] < counted.times[time]))
			continue;
		/* of a thread on a CPU, they are not counted as its time */
		if ((time == CHECK_RUNNING) == (seen->times[time] > counted.times[time]))
			allowed += c->taken;
		if (distance(seen->times[time], counted.times[time]) <= allowed)
			continue;
		c->found[c->n++] = (struct difference){tid, time, seen->times[time],
			counted.times[time], counted.of, counted.slack};
	}
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_seen *x = a, *y = b;

	return (x->tid > y->tid) - (x->tid < y->tid);
}

static int by_size(const void *a, const void *b)
{
	const struct difference *x = a, *y = b;
	uint64_t of_x = distance(x->seen, x->counted), of_y = distance(y->seen, y->counted);

	return of_x != of_y ? (of_x < of_y) - (of_x > of_y) : (x->tid > y->tid) - (x->tid < y->tid);
}

/* Both are sorted by tid. */
static void compare_threads(struct comparison *c, const struct thread_seen *seen, size_t n)
{
	const struct thread_scheds *scheds = &c->to->scheds;
	size_t at = 0;

	for (size_t i = 0; i < scheds->n; i++) {
		struct thread_seen sum = {.tid = scheds->at[i].tid};

		while (at < n && seen[at].tid < sum.tid)
			at++;
		for (; at < n && seen[at].tid == sum.tid; at++) {
			sum.queued += seen[at].queued;
			for (int time = 0; time < CHECK_TIMES; time++)
				sum.times[time] += seen[at].times[time];
		}
		compare_thread(c, sum.tid, &sum);
	}
	if (c->n)
		qsort(c->found, c->n, sizeof(*c->found), by_size);
}

/* ---- the table ---- */

/* A thread of the system that had no event is not known. */
static void add_name(struct attar_section *table, const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);
	char path[64], comm[COMM_BYTES] = "";
	FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)tid);
	if (!thread && attar_run_is_live(run))
		file = fopen(path, "re");
	if (file && fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
	attar_cell_text(table, thread ? thread->comm : comm);
}

static void add_table(const struct comparison *c, struct attar_report *report)
{
	struct attar_section *table =
		attar_report_table(report, "times that differ from the kernel's counts");

	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "tid", ATTAR_UNIT_ID);
	attar_section_column(table, "time", ATTAR_UNIT_TEXT);
	attar_section_column(table, "by events", ATTAR_UNIT_NS);
	attar_section_column(table, "counted", ATTAR_UNIT_NS);
	attar_section_column(table, "+/-", ATTAR_UNIT_NS);
	attar_section_column(table, "of", ATTAR_UNIT_NS);
	for (size_t i = 0; i < c->n; i++) {
		attar_section_row(table);
		add_name(table, c->run, c->found[i].tid);
		attar_cell_i64(table, c->found[i].tid);
		attar_cell_text(table, time_names[c->found[i].time]);
		attar_cell_u64(table, c->found[i].seen);
		attar_cell_u64(table, c->found[i].counted);
		attar_cell_u64(table, c->found[i].slack);
		attar_cell_u64(table, c->found[i].of);
	}
}

/* Times on some CPUs only cannot be compared. */
static bool has_all_cpus(struct attar_run *run)
{
	return attar_run_is_cpu_selected(run, -1) > 0;
}

int thread_check_report(struct attar_run *run, struct thread_check *check,
	struct attar_report *report, enum attar_scope scope, struct thread_seen *seen, size_t n,
	unsigned times)
{
	const bool is_interval = scope == ATTAR_SCOPE_INTERVAL;
	struct comparison c = {.run = run, .times = times, .until = attar_run_until(run)};
	int r;

	if (!times || !has_all_cpus(run) || (is_interval && !attar_run_is_live(run)))
		return 0;
	r = check_read(run, check);
	if (r < 0)
		return r;
	c.from = is_interval && check->last_until ? &check->last : &check->began;
	c.since = is_interval && check->last_until ? check->last_until : attar_run_began(run);
	c.to = &check->now;
	if (!c.from->scheds.time || !c.to->scheds.n || c.until <= c.since)
		return 0;
	c.taken = most_taken(c.from, c.to);
	c.found = calloc(c.to->scheds.n, CHECK_TIMES * sizeof(*c.found));
	if (!c.found)
		return -ENOMEM;
	if (n)
		qsort(seen, n, sizeof(*seen), by_tid);
	compare_threads(&c, seen, n);
	if (c.n)
		add_table(&c, report);
	free(c.found);
	return 0;
}
