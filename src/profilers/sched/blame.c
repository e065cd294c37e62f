/* SPDX-License-Identifier: MIT */
/*
 * blame: what ran while tasks waited for a CPU. A wakeup or a preemption begins a wait, and the
 * switch to the task ends it, as for rundelay; the time in between is the time of what ran on the
 * CPU on whose queue the task was.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/private/pairs.h"
#include "lib/cgroups.h"
#include "lib/held_command.h"
#include "lib/list_options.h"
#include "lib/prev_state.h"
#include "lib/steal_times.h"
#include "lib/task_by.h"
#include "sched/cpu_history.h"

enum {
	COMM_BYTES = 16,
	QUEUES_MAX = 6,    /* of a wait; later ones count as the last one */
	CULPRITS_MAX = 64, /* of a wait, with a sum of their own until it ends */
	ROWS_MAX = 65536,
	IDLE_NS = 1000000, /* a CPU does not need so long to leave the idle state */
	LIMITED_MAX = 256, /* processes of which it is known whether they have a limit */
};

/* Sums of a row, beside the histogram of the time in each wait. */
enum { SUM_TOTAL, SUM_PREEMPTED, SUMS };

/* Stored with the start of a wait: the CPUs on whose queues the task is. */
struct wait {
	uint32_t n;
	bool is_preempted; /* it ran before */
	struct {
		uint64_t from; /* ns */
		uint32_t cpu;
	} queues[QUEUES_MAX];
};

/* The key of a row. Padded with zeros. */
struct pair {
	struct task_key_of victim, culprit;
};

/* What a culprit did in the wait that ends. */
struct share {
	struct task_key_of who;
	uint64_t time;
	bool has_preempted;
};

/* Whether the control group of a process has been stopped because of a limit of CPU time. */
struct limited {
	pid_t pid;
	bool is_limited;
};

struct blame {
	const char *filter, *by_text;
	uint64_t than;
	bool irqs, steal;

	enum task_by by;
	bool selects, selects_cpus; /* tasks; --cpus, by the end of a wait */
	struct held_command held;
	struct attar_pairs *waits;
	struct attar_keytable *pairs, *culprits;
	struct cpu_history history;
	struct share shares[CULPRITS_MAX]; /* of the wait that ends */
	size_t n_shares;
	struct limited limited[LIMITED_MAX];
	size_t n_limited;
	uint64_t idle_waits; /* in which the CPU was idle for longer than it needs to wake up */
	pid_t idle_victim;   /* of the longest one */
	struct steal_times stolen; /* since the start, of a live run */
	uint64_t idle_longest;
};

/* ---- which tasks ---- */

static bool is_selected(const struct blame *b, const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *thread;

	if (!b->selects && !b->filter)
		return true;
	thread = attar_run_thread(run, tid);
	if (!thread || (b->filter && !names_match(b->filter, thread->comm)))
		return false;
	return !b->selects || attar_run_is_selected(run, thread);
}

static void read_comm(const struct attar_event *ev, unsigned field, char ret_comm[TASK_NAME_BYTES])
{
	size_t n;
	const char *comm = attar_arg_text(ev, field, &n);

	memset(ret_comm, 0, TASK_NAME_BYTES);
	if (comm)
		memcpy(ret_comm, comm, n < COMM_BYTES ? n : COMM_BYTES - 1);
}

/* ---- waits ---- */

static void begin_wait(
	struct blame *b, pid_t tid, const struct attar_stamp *at, uint32_t cpu, bool is_preempted)
{
	struct attar_start *start = attar_pairs_start_u64(b->waits, (uint64_t)tid, at);
	struct wait *wait;

	if (!start)
		return;
	wait = start->payload;
	wait->n = 1;
	wait->is_preempted = is_preempted;
	wait->queues[0].from = at->time;
	wait->queues[0].cpu = cpu;
}

static int add_share(struct blame *b, const struct task_key_of *victim, const struct share *share)
{
	const struct pair key = {*victim, share->who};
	struct attar_keyrow *row = attar_keytable_at(b->culprits, &share->who, sizeof(share->who));
	int r = row ? attar_hist_add(&row->interval.hists[0], share->time) : -ENOMEM;

	if (r < 0)
		return r;
	row->interval.sums[SUM_TOTAL] += share->time;
	row->interval.sums[SUM_PREEMPTED] += share->has_preempted;
	row = attar_keytable_at(b->pairs, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	row->interval.sums[SUM_TOTAL] += share->time;
	row->interval.sums[SUM_PREEMPTED] += share->has_preempted;
	return attar_hist_add(&row->interval.hists[0], share->time);
}

/* One of too many culprits makes room for another one. */
static int share_of(struct blame *b, const struct task_key_of *victim,
	const struct task_key_of *who, struct share **ret_share)
{
	int r = 0;

	for (size_t i = b->n_shares; i-- > 0;)
		if (!memcmp(&b->shares[i].who, who, sizeof(*who))) {
			*ret_share = &b->shares[i];
			return 0;
		}
	if (b->n_shares == CULPRITS_MAX)
		r = add_share(b, victim, &b->shares[--b->n_shares]);
	b->shares[b->n_shares] = (struct share){.who = *who};
	*ret_share = &b->shares[b->n_shares++];
	return r;
}

static void note_idle(struct blame *b, pid_t tid, uint64_t time)
{
	if (time < IDLE_NS)
		return;
	b->idle_waits++;
	if (time > b->idle_longest) {
		b->idle_longest = time;
		b->idle_victim = tid;
	}
}

/* Its files are read once: for the first wait of the process beside an idle CPU. */
static bool is_limited(struct blame *b, const struct attar_run *run, pid_t tid)
{
	const struct attar_thread *thread = attar_run_thread(run, tid);
	pid_t pid = thread && thread->process ? thread->process->pid : tid;
	struct cpu_limit limit;

	if (!attar_run_is_live(run))
		return false;
	for (size_t i = 0; i < b->n_limited; i++)
		if (b->limited[i].pid == pid)
			return b->limited[i].is_limited;
	if (b->n_limited == LIMITED_MAX)
		return false;
	b->limited[b->n_limited] = (struct limited){pid, cgroups_cpu_limit(pid, &limit)};
	return b->limited[b->n_limited++].is_limited;
}

/* A task that is not run although its CPU is idle is held back by the limit of its group. */
static struct task_key_of culprit_of(
	struct blame *b, const struct attar_run *run, pid_t tid, const struct ran *piece)
{
	if (piece->tid == 0 && piece->to - piece->from >= IDLE_NS && is_limited(b, run, tid))
		return task_by_other("[CPU limit]");
	return piece->who;
}

/* From its end to its begin. */
static int divide_wait(struct blame *b, const struct attar_run *run,
	const struct task_key_of *victim, pid_t tid, const struct wait *wait, uint64_t end)
{
	struct share *share = NULL;
	struct ran piece;
	int r = 0;

	b->n_shares = 0;
	for (uint32_t i = wait->n; i-- > 0;) {
		struct ran_at at = {wait->queues[i].cpu, wait->queues[i].from, end, 0};

		while (r == 0 && history_before(&b->history, &at, &piece)) {
			const struct task_key_of who = culprit_of(b, run, tid, &piece);

			r = share_of(b, victim, &who, &share);
			share->time += piece.to - piece.from;
			if (piece.tid == 0)
				note_idle(b, tid, piece.to - piece.from);
		}
		end = wait->queues[i].from;
	}
	if (share && wait->is_preempted) /* the one that ran first */
		share->has_preempted = true;
	for (size_t i = 0; r == 0 && i < b->n_shares; i++)
		r = add_share(b, victim, &b->shares[i]);
	return r;
}

static int end_wait(struct blame *b, struct attar_run *run, const struct attar_event *ev, pid_t tid,
	unsigned comm_field)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const uint64_t key = (uint64_t)tid;
	struct task_key_of victim;
	const struct attar_start *start;
	char comm[TASK_NAME_BYTES];

	if (held_command_is(&b->held, run, tid)) {
		held_command_end_pair(b->waits, &key, sizeof(key), &at);
		return 0;
	}
	start = attar_pairs_end_u64(b->waits, key, &at);
	if (!start || ev->time - start->time <= b->than ||
		(b->selects_cpus && !attar_run_is_cpu_selected(run, (int)ev->cpu)))
		return 0;
	read_comm(ev, comm_field, comm);
	victim = task_by_key(run, b->by, tid, comm);
	return divide_wait(b, run, &victim, tid, start->payload, ev->time);
}

/* ---- events ---- */

enum { PREV_PID, PREV_STATE, PREV_COMM, NEXT_PID, NEXT_COMM };

static struct runs runs_of(const struct blame *b, const struct attar_run *run,
	const struct attar_event *ev, unsigned pid_field, unsigned comm_field)
{
	struct runs runs = {.tid = (pid_t)attar_arg_i64(ev, pid_field)};
	char comm[TASK_NAME_BYTES];

	read_comm(ev, comm_field, comm);
	runs.who = runs.tid ? task_by_key(run, b->by, runs.tid, comm) : task_by_other("[idle]");
	return runs;
}

/* One that is not runnable any more waits for nothing: it was woken up while it ran. */
static void switch_out(
	struct blame *b, const struct attar_run *run, const struct attar_event *ev, pid_t tid)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	const uint64_t key = (uint64_t)tid;

	if (prev_is_runnable(attar_arg_u64(ev, PREV_STATE)))
		begin_wait(b, tid, &at, ev->cpu, true);
	else
		attar_pairs_drop(b->waits, &key, sizeof(key));
	(void)run;
}

static int on_switch(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blame *b = self;
	const struct runs prev = runs_of(b, run, ev, PREV_PID, PREV_COMM),
			  next = runs_of(b, run, ev, NEXT_PID, NEXT_COMM);
	bool is_prev = prev.tid && is_selected(b, run, prev.tid),
	     is_next = next.tid && is_selected(b, run, next.tid);
	int r = history_switch(&b->history, ev->cpu, ev->time, &prev, &next);

	if (is_prev)
		switch_out(b, run, ev, prev.tid);
	if (r == 0 && is_next)
		r = end_wait(b, run, ev, next.tid, NEXT_COMM);
	if (!is_prev && !is_next)
		attar_run_pass_over(run);
	return r;
}

enum { PID, TARGET_CPU };

static int on_wakeup(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	pid_t tid = (pid_t)attar_arg_i64(ev, PID);
	struct blame *b = self;
	uint32_t cpu = attar_arg_exists(ev, TARGET_CPU) ? (uint32_t)attar_arg_u64(ev, TARGET_CPU)
							: ev->cpu;

	if (!is_selected(b, run, tid)) {
		attar_run_pass_over(run);
		return 0;
	}
	begin_wait(b, tid, &at, cpu, false);
	return 0;
}

/* The open wait of a task; its payload may be changed. NULL: there is none. */
static struct wait *open_wait(struct blame *b, pid_t tid)
{
	const uint64_t key = (uint64_t)tid;
	const struct attar_start *start = pairs_find_open(b->waits, &key, sizeof(key));

	return start ? start->payload : NULL;
}

enum { DEST_CPU = 1 };

static int on_migrate(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct wait *wait = open_wait(self, (pid_t)attar_arg_i64(ev, PID));
	uint32_t i;

	(void)run;
	if (!wait || wait->n == QUEUES_MAX)
		return 0;
	i = wait->queues[wait->n - 1].from == ev->time ? wait->n - 1 : wait->n++;
	wait->queues[i].from = ev->time;
	wait->queues[i].cpu = (uint32_t)attar_arg_u64(ev, DEST_CPU);
	return 0;
}

enum { IRQ, IRQ_NAME };

static int on_irq(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blame *b = self;
	char name[2 * TASK_NAME_BYTES];
	size_t n;
	const char *text = attar_arg_text(ev, IRQ_NAME, &n);

	(void)run;
	n = n < COMM_BYTES ? n : COMM_BYTES - 1;
	snprintf(name, sizeof(name), "[irq %.*s]", text ? (int)n : 0, text ? text : "");
	return history_interrupt(&b->history, ev->cpu, ev->time, name);
}

static int on_softirq(struct attar_run *run, void *self, const struct attar_event *ev)
{
	static const char *const names[] = {"hi", "timer", "net_tx", "net_rx", "block", "irq_poll",
		"tasklet", "sched", "hrtimer", "rcu"};
	uint64_t vec = attar_arg_u64(ev, 0);
	struct blame *b = self;
	char name[TASK_NAME_BYTES];

	(void)run;
	snprintf(name, sizeof(name), "[softirq %s]",
		vec < sizeof(names) / sizeof(*names) ? names[vec] : "?");
	return history_interrupt(&b->history, ev->cpu, ev->time, name);
}

static int on_return(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blame *b = self;

	(void)run;
	return history_return(&b->history, ev->cpu, ev->time);
}

enum { RAN_PID, RUNTIME };

static uint64_t stolen_of(void *ctx, uint32_t cpu)
{
	return steal_times_of(&((struct blame *)ctx)->stolen, cpu);
}

/* Of real-time threads, older kernels have no such event: nothing is known of them. */
static int on_ran(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blame *b = self;

	(void)run;
	return history_ran(&b->history, ev->cpu, ev->time, (pid_t)attar_arg_i64(ev, RAN_PID),
		attar_arg_u64(ev, RUNTIME), "[steal]");
}

/* At its exec, the wait of the command begins. */
static int on_record(struct attar_run *run, void *self, const struct attar_event *ev)
{
	const struct attar_stamp at = attar_event_get_stamp(ev);
	struct blame *b = self;
	struct wait *wait, kept;

	if (!held_command_ends(&b->held, run, ev))
		return 0;
	wait = open_wait(b, (pid_t)ev->record->comm.tid);
	if (!wait)
		return 0;
	kept = *wait;
	begin_wait(b, (pid_t)ev->record->comm.tid, &at, kept.queues[kept.n - 1].cpu, false);
	return 0;
}

/* One that leaves its control group. */
static int on_exited(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blame *b = self;

	(void)run;
	if (ev->thread && ev->record->type != PERF_RECORD_EXIT) {
		const uint64_t key = (uint64_t)ev->thread->tid;

		attar_pairs_drop(b->waits, &key, sizeof(key));
	}
	return 0;
}

static int on_lost(struct attar_run *run, void *self, const struct attar_event *ev)
{
	struct blame *b = self;

	(void)run;
	attar_pairs_lost(b->waits, (int)ev->cpu, ev->lost_from, ev->lost_to);
	history_lost(&b->history, ev->cpu, ev->lost_to);
	return 0;
}

/* ---- reporting ---- */

static void value_columns(struct attar_section *table)
{
	attar_section_column(table, "total", ATTAR_UNIT_NS);
	attar_section_main(table);
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	attar_section_column(table, "waits", ATTAR_UNIT_COUNT);
	attar_section_column(table, "longest", ATTAR_UNIT_NS);
	attar_section_column(table, "preempted", ATTAR_UNIT_COUNT);
}

static void value_cells(struct attar_section *table, const struct attar_keysums *sums, uint64_t all)
{
	const struct attar_hist *times = &sums->hists[0];

	attar_cell_u64(table, sums->sums[SUM_TOTAL]);
	if (all)
		attar_cell_double(table, 100 * (double)sums->sums[SUM_TOTAL] / (double)all);
	else
		attar_cell_none(table);
	attar_cell_u64(table, times->count);
	attar_cell_u64(table, times->count ? times->max : 0);
	attar_cell_u64(table, sums->sums[SUM_PREEMPTED]);
}

static int add_table(const struct blame *b, struct attar_run *run, struct attar_report *report,
	struct attar_keytable *rows_of, enum attar_scope scope)
{
	bool has_victims = rows_of == b->pairs;
	struct attar_section *table =
		attar_report_table(report, has_victims ? "blame" : "culprits");
	struct attar_keyrow **rows;
	uint64_t all = 0;
	size_t n;
	int r = attar_keytable_end_interval(rows_of);

	if (r == 0)
		r = attar_keytable_rows(rows_of, scope, SUM_TOTAL, &rows, &n);
	if (r < 0)
		return r;
	if (has_victims)
		task_by_columns(b->by, table, "");
	task_by_columns(b->by, table, "culprit_");
	value_columns(table);
	for (size_t i = 0; i < n; i++)
		all += attar_keyrow_sums(rows[i], scope)->sums[SUM_TOTAL];
	for (size_t i = 0; i < n; i++) {
		const struct pair *pair = rows[i]->key;
		const struct task_key_of *culprit = has_victims ? &pair->culprit : rows[i]->key;

		attar_section_row(table);
		if (has_victims)
			task_by_cells(run, b->by, table, pair ? &pair->victim : NULL);
		task_by_cells(run, b->by, table, pair ? culprit : NULL);
		value_cells(table, attar_keyrow_sums(rows[i], scope), all);
	}
	free(rows);
	attar_report_evicted(report, rows_of, has_victims ? "pairs of tasks" : "tasks");
	return 0;
}

/* A task that is not run although its CPU is idle is held back by the limit of a group. */
static void remark_on_idle(
	const struct blame *b, const struct attar_run *run, struct attar_report *report)
{
	const struct attar_thread *thread = attar_run_thread(run, b->idle_victim);
	struct cpu_limit limit;

	if (!b->idle_waits || !attar_run_is_live(run) || !thread || !thread->process ||
		!cgroups_cpu_limit(thread->process->pid, &limit))
		return;
	attar_report_remark(report,
		"waits in which the CPU was idle for 1 ms or longer: %llu; the control group %s, "
		"of %s (%d), may use %.3g CPUs, and was stopped in %llu of %llu periods so far",
		(unsigned long long)b->idle_waits, limit.group, thread->comm, (int)thread->tid,
		limit.cpus, (unsigned long long)limit.throttled, (unsigned long long)limit.periods);
}

static void add_remarks(const struct blame *b, const struct attar_run *run,
	struct attar_report *report, enum attar_scope scope)
{
	struct attar_pairs_stats stats;

	if (scope == ATTAR_SCOPE_INTERVAL)
		attar_pairs_get_interval(b->waits, &stats);
	else
		attar_pairs_get_stats(b->waits, &stats);
	/* wakeups of tasks that run, or wait already */
	stats.unpaired[ATTAR_UNPAIRED_REPLACED] = stats.unpaired[ATTAR_UNPAIRED_DROPPED] = 0;
	attar_report_unpaired(report, &stats, "waits for a CPU");
	if (b->history.missing)
		attar_report_remark(report,
			"times in which the culprit is unknown because context switches are "
			"missing: %llu",
			(unsigned long long)b->history.missing);
	remark_on_idle(b, run, report);
}

static int blame_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct blame *b = self;
	int r = add_table(b, run, report, b->culprits, scope);

	if (r == 0)
		r = add_table(b, run, report, b->pairs, scope);
	if (r == 0)
		add_remarks(b, run, report, scope);
	return r;
}

/* ---- life ---- */

#define WAKEUP .fields = {"pid", "?target_cpu"}, .on_event = on_wakeup

static const struct attar_input inputs[] = {
	{.event = "sched:sched_switch",
		.fields = {"prev_pid", "prev_state", "prev_comm", "next_pid", "next_comm"},
		.on_event = on_switch},
	{.event = "sched:sched_wakeup", WAKEUP},
	{.event = "sched:sched_wakeup_new", WAKEUP, .optional = true},
	{.event = "sched:sched_migrate_task",
		.fields = {"pid", "dest_cpu"},
		.on_event = on_migrate,
		.optional = true},
	{0}};

static const struct attar_input interrupts[] = {
	{.event = "irq:irq_handler_entry", .fields = {"irq", "name"}, .on_event = on_irq},
	{.event = "irq:irq_handler_exit", .fields = {"irq"}, .on_event = on_return},
	{.event = "irq:softirq_entry", .fields = {"vec"}, .on_event = on_softirq},
	{.event = "irq:softirq_exit", .fields = {"vec"}, .on_event = on_return}, {0}};

static const struct attar_input runtimes[] = {
	{.event = "sched:sched_stat_runtime", .fields = {"pid", "runtime"}, .on_event = on_ran},
	{0}};

/* When the oldest wait began that has not ended. */
static uint64_t oldest_wait(const void *ctx)
{
	const struct attar_start *start =
		attar_pairs_next_open(((const struct blame *)ctx)->waits, NULL);

	return start ? start->time : UINT64_MAX;
}

static int blame_open(struct attar_run *run, void *self)
{
	const struct attar_pairs_opts waits = {
		.size = sizeof(waits), .payload_size = sizeof(struct wait)};
	struct attar_keytable_opts table = {.size = sizeof(table),
		.sums = SUMS,
		.hists = 1,
		.key_max = sizeof(struct pair),
		.keys_max = ROWS_MAX,
		.rank = SUM_TOTAL};
	struct blame *b = self;
	int r = task_by_parse(run, b->by_text, &b->by);

	b->history.oldest = oldest_wait;
	b->history.ctx = b;
	if (b->steal && attar_run_is_live(run))
		b->history.stolen = stolen_of;
	if (r == 0)
		r = attar_run_select_tasks(run);
	if (r == 0)
		r = attar_run_keep_own(run);
	b->selects = !attar_run_is_selected(run, NULL);
	b->selects_cpus = attar_run_all_cpus(run, true) > 0;
	if (r == 0)
		r = attar_run_inputs(run, inputs);
	if (r == 0 && (b->irqs || b->steal)) /* some kernels do not count interrupts as runtime */
		r = attar_run_inputs(run, interrupts);
	if (r == 0 && b->steal)
		r = attar_run_inputs(run, runtimes);
	if (r == 0)
		r = attar_pairs_new(&waits, &b->waits);
	if (r == 0)
		r = attar_keytable_new(&table, &b->pairs);
	return r == 0 ? attar_keytable_new(&table, &b->culprits) : r;
}

static int blame_ended(struct attar_run *run, void *self)
{
	struct blame *b = self;

	(void)run;
	attar_pairs_close(b->waits);
	return 0;
}

static void blame_close(void *self)
{
	struct blame *b = self;

	attar_pairs_free(b->waits);
	attar_keytable_free(b->pairs);
	attar_keytable_free(b->culprits);
	history_done(&b->history);
	steal_times_done(&b->stolen);
}

static const struct attar_option options[] = {ATTAR_TEXT(struct blame, by_text, 0, "by", "WHAT",
						      "rows by " TASK_BY_HELP " (default thread)"),
	ATTAR_TIME(struct blame, than, 0, "than", "TIME", "only waits that take longer", .bare = 1),
	ATTAR_FLAG(struct blame, irqs, 0, "irqs",
		"interrupts are culprits of their own, not the task that they interrupt"),
	ATTAR_FLAG(struct blame, steal, 0, "steal",
		"the host of a virtual machine is a culprit of its own, not the task from which it "
		"takes the CPU; with --irqs"),
	ATTAR_JOINED(struct blame, filter, 0, "filter", "NAMES",
		"only waits of threads with these names, separated by commas; * and ? match"),
	{0}};

static const struct attar_example examples[] = {
	{"blame -p 1234 -d 10s", "what ran while the threads of a process waited for a CPU"},
	{"blame -p 1234 --than 10ms -i 1s", "only in long waits, each second"},
	{"blame --by process --irqs --steal", "of all processes, with interrupts and the host"},
	{0}};

const struct attar_profiler profiler_blame = {
	.name = "blame",
	.group = "Scheduling",
	.summary = "what ran while tasks waited for a CPU",
	.uses = ATTAR_USES_RINGS,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct blame),
	.options = options,
	.examples = examples,
	.open = blame_open,
	.lost = on_lost,
	.exited = on_exited,
	.record = on_record,
	.ended = blame_ended,
	.report = blame_report,
	.close = blame_close,
};
