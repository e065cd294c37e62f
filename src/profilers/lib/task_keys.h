/* SPDX-License-Identifier: MIT */
/* Which task an event of the scheduler concerns, for profilers whose keys are thread IDs. */
#ifndef PROFILERS_LIB_TASK_KEYS_H
#define PROFILERS_LIB_TASK_KEYS_H

#include "attar/event.h"

struct task_key {
	const char *key;  /* a field */
	const char *role; /* which events start or end a delay, as the attribute role=; NULL: all */
};

/*
 * Of an event that starts delays, or does not: a switch concerns the task that is switched out in
 * the first case and remains runnable, otherwise the one that is switched in. False: the event has
 * no such field.
 */
bool task_key_get(const struct attar_event_spec *spec, bool is_start, struct task_key *ret_key);

#endif
