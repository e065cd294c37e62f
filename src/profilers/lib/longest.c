/* SPDX-License-Identifier: MIT */
#include "lib/longest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/task_snoop.h"

enum { RUNNING_MAX = 1 << 14 };

int longest_init(struct longest *l)
{
	const struct attar_pairs_opts opts = {.size = sizeof(opts),
		.payload_size = sizeof(struct longest_program),
		.open_max = RUNNING_MAX};

	l->at = calloc(LONGEST_MAX, sizeof(*l->at));
	return l->at ? attar_pairs_new(&opts, &l->running) : -ENOMEM;
}

/* Keeps the list in order. */
static void longest_insert(struct longest *l, const struct longest_program *program)
{
	size_t i = l->n < LONGEST_MAX ? l->n++ : LONGEST_MAX - 1;

	if (i == LONGEST_MAX - 1 && l->at[i].pid && l->at[i].duration >= program->duration)
		return;
	for (; i > 0 && l->at[i - 1].duration < program->duration; i--)
		l->at[i] = l->at[i - 1];
	l->at[i] = *program;
}

void longest_end(struct longest *l, const struct attar_event *ev, int64_t pid)
{
	struct attar_stamp at = task_stamp_of(ev);
	const struct attar_start *start = attar_pairs_end_u64(l->running, (uint64_t)pid, &at);
	struct longest_program program;

	if (!start)
		return;
	program = *(const struct longest_program *)start->payload;
	program.duration = at.time - start->time;
	longest_insert(l, &program);
}

void longest_begin(struct longest *l, const struct attar_event *ev, int64_t pid, int64_t parent,
	const char *file, const char *arguments)
{
	struct attar_stamp at = task_stamp_of(ev);
	struct longest_program program = {.pid = pid, .parent = parent};
	struct attar_start *start;

	longest_end(l, ev, pid); /* another program in the same process */
	snprintf(program.comm, sizeof(program.comm), "%s", ev->thread->comm);
	snprintf(program.command, sizeof(program.command), "%s%s%s", file, *arguments ? " " : "",
		arguments);
	start = attar_pairs_start_u64(l->running, (uint64_t)pid, &at);
	if (start)
		*(struct longest_program *)start->payload = program;
}

static void add_row(struct attar_section *table, const struct longest_program *program)
{
	attar_section_row(table);
	attar_cell_u64(table, program->duration);
	attar_cell_text(table, program->comm);
	task_add_number(table, program->pid);
	task_add_number(table, program->parent);
	attar_cell_text(table, program->is_running ? "runs" : "ended");
	attar_cell_text(table, program->command);
}

int longest_report(struct longest *l, struct attar_run *run, struct attar_report *report)
{
	struct attar_section *table = attar_report_table(report, "longest");
	struct longest all = {.at = calloc(LONGEST_MAX, sizeof(*all.at)), .n = l->n};
	const struct attar_start *open = NULL;
	uint64_t now = attar_run_until(run);

	if (!all.at)
		return -ENOMEM;
	memcpy(all.at, l->at, l->n * sizeof(*l->at));
	while ((open = attar_pairs_next_open(l->running, open))) {
		struct longest_program program = *(const struct longest_program *)open->payload;

		program.is_running = true;
		program.duration = now > open->time ? now - open->time : 0;
		longest_insert(&all, &program);
	}
	attar_section_column(table, "duration", ATTAR_UNIT_NS);
	attar_section_column(table, "comm", ATTAR_UNIT_TEXT);
	attar_section_column(table, "pid", ATTAR_UNIT_ID);
	attar_section_column(table, "ppid", ATTAR_UNIT_ID);
	attar_section_column(table, "state", ATTAR_UNIT_TEXT);
	attar_section_column(table, "command", ATTAR_UNIT_TEXT);
	attar_section_main(table);
	for (size_t i = 0; i < all.n; i++)
		add_row(table, &all.at[i]);
	free(all.at);
	return 0;
}

void longest_done(struct longest *l)
{
	attar_pairs_free(l->running);
	free(l->at);
}
