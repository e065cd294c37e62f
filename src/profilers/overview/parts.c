/* SPDX-License-Identifier: MIT */
/* Which part of the time something is, and the tables of places and system calls that have it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "overview/overview.h"

const char *const overview_part_names[PARTS] = {
	[PART_USER] = "user code",
	[PART_KERNEL] = "kernel",
	[PART_FAULT] = "page faults",
	[PART_IRQ] = "interrupts",
	[PART_SPIN] = "kernel spinlocks",
	[PART_UNDIVIDED] = "CPU, too few samples",
	[PART_READY] = "run queue",
	[PART_DISK] = "disk",
	[PART_LOCK] = "lock",
	[PART_SLEEP] = "sleep",
	[PART_PEER] = "other programs",
	[PART_BLOCKED] = "other waits",
	[PART_IDLE] = "idle",
};

enum overview_part overview_part_of(enum thread_state state)
{
	static const enum overview_part parts[THREAD_STATES] = {[THREAD_READY] = PART_READY,
		[THREAD_DISK] = PART_DISK,
		[THREAD_LOCK] = PART_LOCK,
		[THREAD_SLEEP] = PART_SLEEP,
		[THREAD_PEER] = PART_PEER,
		[THREAD_BLOCKED] = PART_BLOCKED,
		[THREAD_CONDITION] = PART_IDLE,
		[THREAD_WORK] = PART_IDLE};

	return parts[state];
}

/*
 * How long a wait is whose end was not seen is unknown, up to its limit; so is a sleep that began
 * before attar. A thread that waits for one that holds a lock is never idle.
 */
int overview_sum_of_wait(
	const struct attar_run *run, const struct overview *o, const struct thread_segment *segment)
{
	bool is_older = attar_run_is_live(run) && segment->since <= attar_run_began(run),
	     is_whole = segment->is_end && !(is_older && segment->state == THREAD_SLEEP);

	if (segment->state == THREAD_LOCK && segment->block->is_mutex)
		return -1;
	if (segment->to - segment->since > overview_long_wait(o, segment->state))
		return SUM_LONG;
	return is_whole ? -1 : SUM_OPEN;
}

attar_location overview_waiter(const struct thread_block *block)
{
	size_t n = 0;
	attar_location first;

	while (n < block->depth && attar_location_dso(block->stack[n]) == ATTAR_DSO_KERNEL)
		n++;
	if (n == block->depth)
		return block->syscall;
	first = block->stack[n];
	if (block->syscall && attar_location_dso(first) == ATTAR_DSO_LABEL) /* from /proc */
		return block->syscall;
	if (!block->syscall) /* a page fault, of the code itself */
		return first;
	for (; n < block->depth; n++)
		if (attar_location_dso(block->stack[n]) != attar_location_dso(first))
			return block->stack[n];
	return first;
}

int overview_add_place(struct attar_keytable *table, int32_t pid, enum overview_part part,
	attar_location location, uint64_t weight, bool is_sample)
{
	const struct overview_place place = {.pid = pid, .part = part, .location = location};
	struct attar_keyrow *row = attar_keytable_at(table, &place, sizeof(place));

	if (!row)
		return -ENOMEM;
	row->interval.sums[PLACE_SAMPLES] += is_sample;
	row->interval.sums[PLACE_TIME] += weight;
	return 0;
}

struct attar_keyrow *overview_call_at(
	struct overview *o, attar_location syscall, pid_t tid, enum thread_state state)
{
	const struct thread_scheds *scheds = o->scheds.time ? &o->scheds : &o->scheds_began;
	struct overview_call call = {.state = state};

	call.tid = thread_scheds_find(scheds, tid) ? tid : 0;
	strncpy(call.name, frames_syscall(o->times.frames, syscall), sizeof(call.name) - 1);
	return attar_keytable_at(o->calls, &call, sizeof(call));
}

bool overview_has_all_cpus(struct attar_run *run)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	for (int i = 0; i < n; i++)
		if (!attar_run_is_cpu_selected(run, i))
			return false;
	return true;
}
