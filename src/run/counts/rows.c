/* SPDX-License-Identifier: MIT */
#include "run/counts/rows.h"

#include <stdio.h>

#include "attar/private/perf.h"
#include "base/check_arg.h"
#include "base/file.h"
#include "run/counts/counts.h"
#include "run/counts/exited.h"
#include "run/counts/threads.h"
#include "run/run.h"
#include "run/events/open.h"

int attar_run_count_by(struct attar_run *run, enum attar_count_by by)
{
	CHECK_OWN(run, "run");
	CHECK_OPENING(run);
	if ((unsigned)by > ATTAR_COUNT_BY_CGROUP)
		return check_range(__func__, "by", by, ATTAR_COUNT_BY_CGROUP + 1);

	counts_of(run)->rows.by = by;
	if (by == ATTAR_COUNT_BY_CPU || by == ATTAR_COUNT_BY_SOCKET)
		counts_of(run)->each_cpu = true;
	if (by == ATTAR_COUNT_BY_THREAD)
		run_count_each_thread(run);
	return 0;
}

static int socket_of(int cpu)
{
	char path[96];
	int64_t socket = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
		cpu);
	return file_read_i64(path, &socket) < 0 ? 0 : (int)socket;
}

static int key_of(enum attar_count_by by, const struct attar_counter_instance *instance)
{
	switch (by) {
	case ATTAR_COUNT_BY_CPU:
		return instance->cpu;
	case ATTAR_COUNT_BY_THREAD:
		return instance->tid;
	case ATTAR_COUNT_BY_SOCKET:
		return socket_of(instance->cpu);
	case ATTAR_COUNT_BY_CGROUP:
		return instance->cgroup;
	default:
		return 0;
	}
}

/* Adds all counters to the counts of their keys. recent: since the previous report. */
static int rows_fill(struct attar_run *run, struct count_table *t, bool recent)
{
	enum attar_count_by by = counts_of(run)->rows.by;

	t->n_events = counts_of(run)->list.n;
	for (size_t i = 0; i < counts_of(run)->list.n; i++) {
		const struct attar_run_counter *c = &counts_of(run)->list.at[i].pub;

		for (size_t p = 0; p < c->n_instances; p++) {
			struct attar_counter_instance instance =
				attar_counter_instance_at(c->counter, p);
			struct count_table_key *key = count_table_key(t, key_of(by, &instance));

			if (!key)
				return base_oom();
			attar_value_add(
				&key->counts[i].sum, recent ? &c->recent[p] : &c->values[p]);
		}
	}
	if (!recent && by == ATTAR_COUNT_BY_THREAD && thread_counts_fill(run, t) < 0)
		return -ENOMEM;
	thread_counts_mark(run, t, by == ATTAR_COUNT_BY_THREAD);
	return 0;
}

int count_rows_add_run(struct attar_run *run)
{
	struct count_table once = {0};
	int r = rows_fill(run, &once, false);

	if (r == 0)
		r = count_table_merge(&counts_of(run)->rows.whole, &once);
	count_table_done(&once);
	return r;
}

/* If the command exited before its name was read, its program name is used. */
static const char *comm_of(const struct attar_run *run, pid_t tid, const char *comm)
{
	if (comm && *comm)
		return comm;
	if (run->command.argv && tid == target_command_pid(run->target))
		return basename(run->command.argv[0]);
	return "[unknown]";
}

static int add_row(struct attar_run *run, const struct count_table_key *key)
{
	struct attar_count_row row = {.number = key->number, .comm = "", .counts = key->counts};
	const char *comm;

	if (counts_of(run)->rows.by == ATTAR_COUNT_BY_THREAD) {
		row.tid = thread_counts_name(run, key->number, &comm);
		row.comm = comm_of(run, row.tid, comm);
		row.number = 0;
	}
	return vec_push(&counts_of(run)->rows.rows, row);
}

/* The row [unassigned] is the first one, because tables are printed up to a number of rows. */
static void move_unassigned(struct count_rows *rows, int last_number)
{
	struct attar_count_row *at = rows->rows.at, row = at[rows->rows.n - 1];

	if (!thread_counts_is_unassigned(last_number))
		return;
	memmove(at + 1, at, (rows->rows.n - 1) * sizeof(*at));
	at[0] = row;
}

int attar_run_count_rows(struct attar_run *run, enum attar_scope scope,
	const struct attar_count_row **ret_rows, size_t *ret_n)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(ret_rows, "ret_rows");
	CHECK_ARG(ret_n, "ret_n");

	struct count_rows *rows = &counts_of(run)->rows;
	struct count_table *table = scope == ATTAR_SCOPE_WHOLE ? &rows->whole : &rows->recent;
	int r = 0;

	rows->rows.n = 0;
	count_table_done(&rows->recent);
	if (scope == ATTAR_SCOPE_INTERVAL)
		r = rows_fill(run, table, true);
	vec_each (&table->keys, key)
		if (r == 0)
			r = add_row(run, key);
	if (r < 0)
		return r;
	if (rows->by == ATTAR_COUNT_BY_THREAD && table->keys.n)
		move_unassigned(rows, table->keys.at[table->keys.n - 1].number);
	*ret_rows = rows->rows.at;
	*ret_n = rows->rows.n;
	return 0;
}

void count_rows_done(struct count_rows *rows)
{
	count_table_done(&rows->whole);
	count_table_done(&rows->recent);
	vec_done(&rows->rows);
}
