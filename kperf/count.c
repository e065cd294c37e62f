/* SPDX-License-Identifier: MIT */
/* Counting: rows are differences of counts since PmuEnable() or the previous PmuRead(). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"
#include "forks.h"
#include "task.h"
#include "topology.h"

enum {
	MOST_MEMBERS = 512,       /* of a group, see attar_group_open() */
	NAMES_PERIOD = 100000000, /* ns, between reads of the names of processes */
};

/* The first line of a file of a thread in /proc, without its newline; "": it has ended. */
static void read_line(pid_t tid, const char *name, const char *prefix, char *line, int size)
{
	char path[64];
	FILE *file;

	*line = '\0';
	snprintf(path, sizeof(path), "/proc/%d/%s", tid, name);
	file = fopen(path, "re");
	while (file && fgets(line, size, file) && strncmp(line, prefix, strlen(prefix)) != 0)
		*line = '\0';
	if (file)
		fclose(file);
	line[strcspn(line, "\n")] = '\0';
}

pid_t kp_thread_names(pid_t tid, char *ret_comm, size_t size)
{
	char line[256];

	read_line(tid, "status", "Tgid:", line, sizeof(line));
	read_line(tid, "comm", "", ret_comm, (int)size);
	return *line ? atoi(line + strlen("Tgid:")) : tid;
}

int kp_thread_read(struct kp_origin *origin, pid_t tid, struct kp_thread *ret)
{
	char comm[256];

	if (tid == 0)
		tid = gettid();
	ret->tid = tid;
	ret->pid = kp_thread_names(tid, comm, sizeof(comm));
	ret->comm = kp_origin_text(origin, comm);
	return ret->comm ? SUCCESS : kp_fail(COMMON_ERR_NOMEM, "out of memory");
}

/* Reads all counts into the counters' `now`. */
static int read_all(struct kp_task *task)
{
	for (size_t i = 0; i < task->n_counters; i++) {
		struct kp_counter *c = &task->counters[i];
		size_t n = c->n;
		int r = 0;

		if (c->group)
			continue;
		for (size_t at = 0; at < n && r == 0; at++)
			r = task->self_read && n == 1
				    ? attar_counter_read_self(c->counter, c->now)
				    : attar_counter_read_at(c->counter, at, &c->now[at]);
		if (r < 0)
			return kp_fail_errno(r, UNKNOWN_ERROR);
	}
	return SUCCESS;
}

/* The counters from first on are the members of a group. Returns their number, or -1. */
static int read_group(struct kp_counter *first, size_t room)
{
	size_t members = 0;
	struct attar_value values[MOST_MEMBERS];

	while (members < MOST_MEMBERS && members < room && first[members].group == first->group)
		members++;
	for (size_t at = 0; at < first->n; at++) {
		int r = attar_group_read_at(first->group, at, values);

		if (r < 0)
			return kp_fail_errno(r, UNKNOWN_ERROR), -1;
		for (size_t i = 0; i < members; i++)
			first[i].now[at] = values[i];
	}
	return (int)members;
}

static int read_counts(struct kp_task *task)
{
	int r = read_all(task);

	for (size_t i = 0; i < task->n_counters && r == SUCCESS;) {
		int members = task->counters[i].group
				      ? read_group(&task->counters[i], task->n_counters - i)
				      : 1;

		if (members < 0)
			return Perrorno();
		i += (size_t)members;
	}
	return r;
}

static void keep_counts(struct kp_counter *c)
{
	struct attar_value *before = c->before;

	c->before = c->now;
	c->now = before;
}

int kp_count_enable(struct kp_task *task)
{
	int r = read_counts(task);

	if (r == UNKNOWN_ERROR)
		return kp_fail(LIBPERF_ERR_FAILED_PMU_ENABLE, "%s", attar_error());
	for (size_t i = 0; i < task->n_counters && r == SUCCESS; i++) {
		struct kp_counter *c = &task->counters[i];
		int failed;

		keep_counts(c);
		if (c->group && c->member > 0)
			continue;
		failed = attar_counter_resume(c->counter);
		if (failed < 0)
			r = kp_fail(LIBPERF_ERR_FAILED_PMU_ENABLE, "%s", attar_error());
	}
	return r == SUCCESS ? kp_forks_switch(task->forks, true) : r;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static const struct kp_thread *thread_of(const struct kp_task *task, pid_t tid)
{
	static const struct kp_thread all = {.tid = -1, .pid = -1, .comm = ""};

	for (size_t i = 0; i < task->n_threads; i++)
		if (task->threads[i].tid == tid || tid == 0)
			return &task->threads[i];
	return &all;
}

void kp_warn_not_counted(const struct kp_task *task, const struct kp_counter *c)
{
	kp_warn(LIBPERF_WARN_NOT_COUNTED,
		"'%s' was not counted: other events use the counters of its PMU",
		task->events[c->event].name);
}

void kp_count_set(struct PmuData *row, const struct attar_value *value)
{
	row->count = value->value;
	row->countPercent = value->time_running > 0
				    ? (double)value->time_running / (double)value->time_enabled
				    : -1;
}

struct PmuData *kp_count_row(const struct kp_task *task, const struct kp_counter *c,
	const struct kp_thread *thread, int64_t ts, struct kp_list *list)
{
	struct PmuData *row = kp_list_add(list);

	if (!row)
		return NULL;
	row->evt = task->events[c->event].name;
	row->ts = ts;
	row->pid = thread->pid;
	row->tid = thread->tid;
	row->comm = thread->comm;
	row->cpu = -1;
	row->cpuTopo = kp_topology(-1);
	row->groupId = c->group ? task->events[c->event].attr.groupId : -1;
	return row;
}

/* What was counted since `before`, in place of it. */
static void subtract(struct kp_counter *c)
{
	for (size_t i = 0; i < c->n; i++)
		c->before[i] = attar_value_since(&c->now[i], &c->before[i]);
	if (c->n > 1)
		attar_values_settle(c->counter, c->before);
}

const char *kp_cgroup_of(const struct kp_task *task, const struct attar_counter_instance *at)
{
	return at->cgroup >= 0 && (size_t)at->cgroup < task->n_cgroups ? task->cgroups[at->cgroup]
								       : NULL;
}

/*
 * An entry such as "sched:*" or "hisi_sccl1_ddrc/flux_rd/" stands for several events. Its rows are
 * their sums: one for all devices, otherwise one for each CPU and thread. Returns the row of
 * instance i among the n of the entry; these are in the order of the instances, unless some have
 * ended. NULL: there is none yet.
 */
static struct PmuData *row_of_entry(const struct kp_task *task, const struct kp_counter *c,
	size_t i, struct PmuData *rows, size_t n)
{
	const struct attar_counter_instance *at = &c->instances[i];
	int tid = thread_of(task, at->tid)->tid;

	if (task->events[c->event].specs->at[0].system_wide)
		return n > 0 ? rows : NULL;
	for (size_t tries = 0; tries < n; tries++) {
		struct PmuData *row = &rows[(i + tries) % n];

		if (row->cpu == at->cpu && row->tid == tid &&
			row->cgroupName == kp_cgroup_of(task, at))
			return row;
	}
	return NULL;
}

void kp_count_add(struct PmuData *row, const struct attar_value *value)
{
	struct PmuData other;

	kp_count_set(&other, value);
	row->count += other.count;
	if (row->countPercent < 0)
		row->countPercent = other.countPercent;
}

/* The counts of a counter: new rows, or added to the rows of its entry from `first` on. */
static int add_rows(
	struct kp_task *task, struct kp_counter *c, int64_t ts, size_t first, struct kp_list *list)
{
	bool is_sum = task->events[c->event].specs->n > 1;

	for (size_t i = 0; i < c->n; i++) {
		const struct attar_counter_instance *at = &c->instances[i];
		struct PmuData *row =
			is_sum ? row_of_entry(task, c, i, &list->rows[first], list->n - first)
			       : NULL;

		if (c->before[i].quality == ATTAR_QUALITY_NOT_COUNTED)
			kp_warn_not_counted(task, c);
		if (row) {
			kp_count_add(row, &c->before[i]);
			continue;
		}
		row = kp_count_row(task, c, thread_of(task, at->tid), ts, list);
		if (!row)
			return kp_fail(COMMON_ERR_NOMEM, "out of memory");
		row->cpu = at->cpu;
		row->cpuTopo = kp_topology(at->cpu);
		row->cgroupName = kp_cgroup_of(task, at);
		kp_count_set(row, &c->before[i]);
	}
	keep_counts(c);
	return SUCCESS;
}

/* After an exec, a process has another name than at the open. Other threads do not exec. */
static void rename_processes(struct kp_task *task)
{
	char line[64];

	for (size_t i = 0; i < task->n_threads; i++) {
		struct kp_thread *thread = &task->threads[i];
		const char *name;

		if (thread->tid != thread->pid)
			continue;
		read_line(thread->tid, "comm", "", line, sizeof(line));
		if (!*line || strcmp(line, thread->comm) == 0)
			continue;
		pthread_mutex_lock(&task->origin->lock);
		name = kp_origin_text(task->origin, line);
		pthread_mutex_unlock(&task->origin->lock);
		if (name)
			thread->comm = name;
	}
}

int kp_count_read(struct kp_task *task, struct kp_list *list)
{
	int64_t ts = now_ns();
	int r;

	kp_forks_read(task->forks);
	r = read_counts(task);
	/* Reading names takes longer than reading counts. */
	if (task->by_exec || ts - task->renamed_at >= NAMES_PERIOD) {
		rename_processes(task);
		task->renamed_at = ts;
	}
	for (size_t i = 0; i < task->n_counters && r == SUCCESS; i++)
		subtract(&task->counters[i]);
	if (r == SUCCESS)
		kp_forks_take(task->forks);
	for (unsigned event = 0; event < task->n_events && r == SUCCESS; event++) {
		size_t first = list->n;

		for (size_t i = 0; i < task->n_counters && r == SUCCESS; i++)
			if (task->counters[i].event == event)
				r = add_rows(task, &task->counters[i], ts, first, list);
	}
	return r == SUCCESS ? kp_forks_rows(task->forks, ts, list) : r;
}
