/* SPDX-License-Identifier: MIT */
#include "lib/task_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attar/keytable.h"

enum { TASKS_MAX = 65536 };

int task_sums_open(struct attar_run *run, const char *by_text, struct attar_stacks *stacks,
	size_t n, struct task_sums *ret_sums)
{
	const struct attar_keytable_opts opts = {.size = sizeof(opts),
		.sums = n,
		.key_max = sizeof(struct task_key_of),
		.keys_max = TASKS_MAX};
	int r = task_by_parse(run, by_text, &ret_sums->by);

	if (r < 0 || !by_text)
		return r;
	if (stacks)
		task_by_stacks(run, ret_sums->by, stacks);
	ret_sums->n = n;
	return attar_keytable_new(&opts, &ret_sums->table);
}

int task_sums_add(const struct attar_run *run, struct task_sums *sums,
	const struct attar_thread *thread, const uint64_t *numbers)
{
	char comm[TASK_NAME_BYTES] = "";
	struct attar_keyrow *row;
	struct task_key_of key;

	if (!sums->table)
		return 0;
	strncpy(comm, thread->comm, sizeof(comm) - 1);
	key = task_by_key(run, sums->by, thread->tid, comm);
	row = attar_keytable_at(sums->table, &key, sizeof(key));
	if (!row)
		return -ENOMEM;
	for (size_t i = 0; i < sums->n; i++)
		row->interval.sums[i] += numbers[i];
	return 0;
}

int task_sums_report(const struct attar_run *run, const struct task_sums *sums,
	struct attar_report *report, enum attar_scope scope, const struct task_sum_column *columns)
{
	struct attar_section *table;
	struct attar_keyrow **rows;
	uint64_t all = 0;
	size_t n;
	int r = sums->table ? attar_keytable_end_interval(sums->table) : 0;

	if (r < 0 || !sums->table)
		return r;
	r = attar_keytable_rows(sums->table, scope, 0, &rows, &n);
	if (r < 0)
		return r;
	table = attar_report_table(report, "tasks");
	attar_section_column(table, "share", ATTAR_UNIT_PERCENT);
	for (size_t i = 0; i < sums->n; i++)
		if (columns[i].name)
			attar_section_column(table, columns[i].name, columns[i].unit);
	task_by_columns(sums->by, table, "");
	for (size_t i = 0; i < n; i++)
		all += attar_keyrow_sums(rows[i], scope)->sums[0];
	for (size_t i = 0; i < n; i++) {
		const uint64_t *row = attar_keyrow_sums(rows[i], scope)->sums;

		attar_section_row(table);
		attar_cell_double(table, all ? 100 * (double)row[0] / (double)all : 0);
		for (size_t j = 0; j < sums->n; j++)
			if (columns[j].name)
				attar_cell_u64(table, row[j]);
		task_by_cells(run, sums->by, table, rows[i]->key);
	}
	free(rows);
	attar_report_evicted(report, sums->table, "tasks");
	return 0;
}

void task_sums_close(struct task_sums *sums)
{
	attar_keytable_free(sums->table);
}
