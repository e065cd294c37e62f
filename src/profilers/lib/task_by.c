/* SPDX-License-Identifier: MIT */
#include "lib/task_by.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attar/builtin.h"

static const struct {
	const char *name;
	enum run_name kind; /* from BY_USER on */
	const char *none;   /* of tasks that are in none */
} kinds[BY_KINDS] = {
	[BY_THREAD] = {"thread", 0, ""},
	[BY_PROCESS] = {"process", 0, ""},
	[BY_USER] = {"user", RUN_NAME_USER, "[unknown]"},
	[BY_CGROUP] = {"cgroup", RUN_NAME_CGROUP, "[unknown]"},
	[BY_UNIT] = {"unit", RUN_NAME_UNIT, "[none]"},
	[BY_CONTAINER] = {"container", RUN_NAME_CONTAINER, "[none]"},
	[BY_POD] = {"pod", RUN_NAME_POD, "[none]"},
};

int task_by_parse(struct attar_run *run, const char *text, enum task_by *ret_by)
{
	for (int i = 0; text && i < BY_KINDS; i++) {
		if (strcmp(text, kinds[i].name) != 0)
			continue;
		*ret_by = (enum task_by)i;
		return task_by_has_id(*ret_by) ? 0 : run_want_names(run);
	}
	return text ? attar_fail(-EINVAL, "--by: '%s' is not " TASK_BY_HELP, text) : 0;
}

void task_by_stacks(struct attar_run *run, enum task_by by, struct attar_stacks *stacks)
{
	if (!task_by_has_id(by))
		run_group_stacks(run, stacks, kinds[by].kind, kinds[by].none);
}

/* An id can be reused: the upper half tells tasks apart by the time at which they began. */
static uint64_t task_number(pid_t id, uint64_t started)
{
	return id < 0 ? (uint64_t)id : (started ^ started >> 31) << 33 >> 1 | (uint32_t)id;
}

uint64_t task_by_life(const struct attar_thread *thread)
{
	return thread ? task_number(thread->tid, thread->started) : 0;
}

uint64_t task_by_number(
	const struct attar_run *run, enum task_by by, const struct attar_thread *thread)
{
	if (!thread)
		return 0;
	if (by == BY_THREAD)
		return (uint64_t)thread->tid;
	if (by == BY_PROCESS)
		return thread->process ? task_number(thread->process->pid, thread->process->started)
				       : 0;
	return run_name_of(run, kinds[by].kind, thread);
}

struct task_key_of task_by_other(const char *name)
{
	struct task_key_of key = {.id = -1};

	strncpy(key.name, name, sizeof(key.name) - 1);
	return key;
}

struct task_key_of task_by_key(
	const struct attar_run *run, enum task_by by, pid_t tid, const char name[TASK_NAME_BYTES])
{
	struct task_key_of key = {.id = tid};
	const struct attar_thread *thread = attar_run_thread(run, tid);

	if (by == BY_THREAD && thread)
		key.id = (int64_t)task_by_life(thread);
	else if (by != BY_THREAD && (thread || !task_by_has_id(by)))
		key.id = (int64_t)task_by_number(run, by, thread);
	if (by == BY_PROCESS && thread && thread->process && thread->process->comm)
		strncpy(key.name, thread->process->comm, sizeof(key.name) - 1);
	else if (task_by_has_id(by))
		memcpy(key.name, name, sizeof(key.name));
	return key;
}

void task_by_columns(enum task_by by, struct attar_section *table, const char *prefix)
{
	char name[64];

	if (!task_by_has_id(by)) {
		snprintf(name, sizeof(name), "%s%s", prefix, kinds[by].name);
		attar_section_column(table, name, ATTAR_UNIT_TEXT);
		return;
	}
	snprintf(name, sizeof(name), "%s%s", prefix, by == BY_THREAD ? "tid" : "pid");
	attar_section_column(table, name, ATTAR_UNIT_ID);
	snprintf(name, sizeof(name), "%scomm", prefix);
	attar_section_column(table, name, ATTAR_UNIT_TEXT);
}

static const char *text_of(
	const struct attar_run *run, enum task_by by, const struct task_key_of *key)
{
	const char *text;

	if (key->id < 0 || task_by_has_id(by))
		return key->name;
	text = run_name_text(run, kinds[by].kind, (uint32_t)key->id);
	return *text ? text : kinds[by].none;
}

void task_by_cells(const struct attar_run *run, enum task_by by, struct attar_section *table,
	const struct task_key_of *key)
{
	if (task_by_has_id(by) && key && key->id >= 0)
		attar_cell_i64(table, task_by_id(key->id));
	else if (task_by_has_id(by))
		attar_cell_none(table);
	attar_cell_text(table, key ? text_of(run, by, key) : "[others]");
}
