/* SPDX-License-Identifier: MIT */
/* --input of a database, for profilers that query it: such a run has no events and ends at once. */
#ifndef RUN_INPUT_DATABASE_H
#define RUN_INPUT_DATABASE_H

#include "attar/run.h"

bool run_database_is_input(const struct attar_run *run);

/* Checks that the profiler and the options allow it. 0 or -EINVAL. */
int run_database_open(struct attar_run *run);

/* In place of opening events. */
int run_database_start(struct attar_run *run);

#endif
