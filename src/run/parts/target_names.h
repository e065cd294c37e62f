/* SPDX-License-Identifier: MIT */
/*
 * Targets as people name them: --comm, --container, --pod, --unit and --port. Processes that match
 * when the run begins are watched like processes of --pids. Profilers that select tasks from the
 * events of the whole system, and runs that read a recording, also select those that match later.
 */
#ifndef RUN_PARTS_TARGET_NAMES_H
#define RUN_PARTS_TARGET_NAMES_H

#include "attar/run.h"

/* Finds the processes, and sets the option pids. 0 or a negative errno. */
int target_names_find(struct attar_run *run);

/* Fails if no process matches, and none is looked for later. */
int target_names_check(const struct attar_run *run);

/* Whether a process matches now. */
bool target_names_have(const struct attar_run *run, struct attar_process *process);

#endif
