/* SPDX-License-Identifier: MIT */
#include "lib/task_snoop.h"

uint64_t task_pid_of(const struct attar_event *ev)
{
	return (uint64_t)ev->thread->process->pid;
}

pid_t task_parent_of(const struct attar_event *ev)
{
	return ev->thread->process ? ev->thread->process->parent : 0;
}

struct attar_stamp task_stamp_of(const struct attar_event *ev)
{
	return (struct attar_stamp){.time = ev->time, .task = ATTAR_NO_TASK, .cpu = (int)ev->cpu};
}

void task_add_number(struct attar_section *lines, int64_t number)
{
	if (number > 0)
		attar_cell_u64(lines, (uint64_t)number);
	else
		attar_cell_none(lines);
}

void task_counts_add(struct task_counts *counts, bool failed)
{
	counts->seen++;
	counts->failed += failed;
}

void task_counts_report(struct task_counts *counts, struct attar_report *report,
	enum attar_scope scope, const char *section)
{
	struct attar_section *table = attar_report_table(report, section);
	bool is_whole = scope == ATTAR_SCOPE_WHOLE;

	counts->whole += counts->seen;
	counts->whole_failed += counts->failed;
	attar_section_column(table, section, ATTAR_UNIT_COUNT);
	attar_section_column(table, "failed", ATTAR_UNIT_COUNT);
	attar_section_row(table);
	attar_cell_u64(table, is_whole ? counts->whole : counts->seen);
	if (counts->misses_failed)
		attar_cell_none(table);
	else
		attar_cell_u64(table, is_whole ? counts->whole_failed : counts->failed);
	counts->seen = counts->failed = 0;
}
