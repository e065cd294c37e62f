/* SPDX-License-Identifier: MIT */
#include "attar/private/pairs.h"
#include "lib/held_command.h"

bool held_command_find(struct held_command *held, const struct attar_run *run, pid_t tid)
{
	if (!held->pid)
		held->pid = attar_run_command_pid(run);
	held->is_over = !held->pid;
	return held->pid && tid == held->pid;
}

/* The first name that the process gets is from an exec. After a loss, it may have been one. */
bool held_command_ends(
	struct held_command *held, const struct attar_run *run, const struct attar_event *ev)
{
	const struct attar_record *record = ev->record;

	if (held->is_over)
		return false;
	if (record->type == PERF_RECORD_LOST)
		held->is_over = true;
	if (record->type != PERF_RECORD_COMM ||
		!held_command_find(held, run, (pid_t)record->comm.tid))
		return false;
	held->is_over = true;
	return true;
}

const struct attar_start *held_command_end_pair(
	struct attar_pairs *pairs, const void *key, size_t size, const struct attar_stamp *at)
{
	return pairs_find_open(pairs, key, size) ? attar_pairs_end(pairs, key, size, at) : NULL;
}
