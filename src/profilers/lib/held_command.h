/* SPDX-License-Identifier: MIT */
/*
 * Before its exec, the command is a copy of this process that waits for its start: neither that
 * wait nor the time until exec is attributed to the command. For profilers that follow tasks by
 * events of the whole system.
 */
#ifndef PROFILERS_LIB_HELD_COMMAND_H
#define PROFILERS_LIB_HELD_COMMAND_H

#include "attar/run.h"

struct held_command {
	pid_t pid;    /* 0: not known yet */
	bool is_over; /* its exec was seen, or there is no command */
};

/* The slow path of held_command_is(). */
bool held_command_find(struct held_command *held, const struct attar_run *run, pid_t tid);

/* Whether a thread is the command before its exec. */
static inline bool held_command_is(
	struct held_command *held, const struct attar_run *run, pid_t tid)
{
	return !held->is_over && held_command_find(held, run, tid);
}

/*
 * For attar_profiler.record: true for the record of the exec of the command, which then runs on the
 * CPU of the event.
 */
bool held_command_ends(
	struct held_command *held, const struct attar_run *run, const struct attar_event *ev);

/* Ends an open pair of the command. Without one, there is no end that could lack a start: NULL. */
const struct attar_start *held_command_end_pair(
	struct attar_pairs *pairs, const void *key, size_t size, const struct attar_stamp *at);

#endif
