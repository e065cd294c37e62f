/* SPDX-License-Identifier: MIT */
/* percpu-stat: a fixed table of what happens on each CPU: scheduling, interrupts, memory, I/O. */
#include <errno.h>
#include <stdlib.h>

#include "attar/builtin.h"
#include "attar/run.h"

struct percpu_stat {
	bool syscalls;
};

/* The counters, by their events and filters. Kernels lack some of them: these have no column. */
static const char *const events[] = {
	"context-switches//alias=switches/",
	"cpu-migrations//alias=migrations/",
	"minor-faults//alias=minflt/",
	"major-faults//alias=majflt/",
	"sched:sched_wakeup//alias=wakeups/",
	"sched:sched_process_fork//alias=forks/",
	"sched:sched_process_exec//alias=execs/",
	"sched:sched_process_exit//alias=exits/",
	"irq:irq_handler_entry//alias=irqs/",
	"timer:timer_expire_entry//alias=timers/",
	"timer:hrtimer_expire_entry//alias=hrtimers/",
	"irq:softirq_entry/vec==1/alias=TIMER/",
	"irq:softirq_entry/vec==2/alias=NET_TX/",
	"irq:softirq_entry/vec==3/alias=NET_RX/",
	"irq:softirq_entry/vec==4/alias=BLOCK/",
	"irq:softirq_entry/vec==6/alias=TASKLET/",
	"irq:softirq_entry/vec==7/alias=SCHED/",
	"irq:softirq_entry/vec==9/alias=RCU/",
	"workqueue:workqueue_execute_start//alias=works/",
	"kmem:mm_page_alloc//alias=pages/",
	"block:block_rq_issue//alias=blkreqs/",
	"net:netif_receive_skb//alias=rx/",
	"net:net_dev_xmit//alias=tx/",
	"net:napi_gro_receive_entry//alias=gro/",
	"compaction:mm_compaction_migratepages//alias=compact/",
	"vmscan:mm_vmscan_direct_reclaim_begin//alias=reclaim/",
	"migrate:mm_migrate_pages//alias=migrate/",
	"kvm:kvm_exit//alias=kvm-exits/",
};

static int percpu_stat_add(struct attar_run *run, const char *event)
{
	int r = attar_run_count(run, event);

	if ((r != -EINVAL && r != -ENOENT && r != -EOPNOTSUPP) || !attar_run_is_live(run))
		return r;
	attar_error_clear();
	return 0;
}

static int percpu_stat_open(struct attar_run *run, void *self)
{
	struct percpu_stat *s = self;
	int r = run_watch_cpus(run);

	if (r == 0)
		r = attar_run_count_by(run, ATTAR_COUNT_BY_CPU);
	for (size_t i = 0; r == 0 && i < sizeof(events) / sizeof(events[0]); i++)
		r = percpu_stat_add(run, events[i]);
	if (r == 0 && s->syscalls)
		r = attar_run_count(run, "raw_syscalls:sys_enter//alias=syscalls/");
	return r;
}

static void columns(const struct attar_run *run, struct attar_section *table)
{
	const struct attar_run_counter *c;

	for (size_t i = 0; (c = attar_run_get_counter(run, i)); i++)
		attar_section_column(table, c->spec->alias, ATTAR_UNIT_COUNT);
}

static bool is_counted(const struct attar_run_counter *c, const struct attar_value *value)
{
	return !c->refused && value->quality != ATTAR_QUALITY_NOT_COUNTED &&
	       value->quality != ATTAR_QUALITY_ERROR;
}

static int percpu_stat_report(
	struct attar_run *run, void *self, struct attar_report *report, enum attar_scope scope)
{
	struct attar_section *total = attar_report_table(report, "total"),
			     *table = attar_report_table(report, "cpus");
	const struct attar_count_row *rows;
	const struct attar_run_counter *c;
	size_t n;
	int r = attar_run_count_rows(run, scope, &rows, &n);

	if (r < 0)
		return r;
	columns(run, total);
	attar_section_column(table, "cpu", ATTAR_UNIT_ID);
	columns(run, table);
	attar_section_row(total);
	for (size_t i = 0; (c = attar_run_get_counter(run, i)); i++) {
		uint64_t sum = 0;

		for (size_t k = 0; k < n; k++)
			sum += rows[k].counts[i].sum.value;
		if (c->refused)
			attar_cell_none(total);
		else
			attar_cell_u64(total, sum);
	}
	for (size_t k = 0; k < n; k++) {
		attar_section_row(table);
		attar_cell_u64(table, (uint64_t)rows[k].number);
		for (size_t i = 0; (c = attar_run_get_counter(run, i)); i++) {
			if (is_counted(c, &rows[k].counts[i].sum))
				attar_cell_u64(table, rows[k].counts[i].sum.value);
			else
				attar_cell_none(table);
		}
	}
	return 0;
}

static const struct attar_option options[] = {
	ATTAR_FLAG(struct percpu_stat, syscalls, 0, "syscalls",
		"also count system calls, which makes each of them a little slower"),
	{0}};

static const struct attar_example examples[] = {
	{"percpu-stat -i 1s", "counts for each CPU, each second"},
	{"percpu-stat --syscalls -C 0-3 -- make", "four CPUs while a command runs"}, {0}};

const struct attar_profiler profiler_percpu_stat = {
	.name = "percpu-stat",
	.group = "Counting",
	.summary = "counts for each CPU: switches, faults, interrupts, timers, I/O",
	.uses = ATTAR_USES_INPUT,
	.needs = "perf events, whole system, tracefs!",
	.self_size = sizeof(struct percpu_stat),
	.options = options,
	.examples = examples,
	.open = percpu_stat_open,
	.report = percpu_stat_report,
};
