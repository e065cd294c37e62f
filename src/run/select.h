/* SPDX-License-Identifier: MIT */
#ifndef RUN_SELECT_H
#define RUN_SELECT_H

#include "base/parse.h"

/* Tasks that the profiler selects from the events of the whole system. */
struct run_select {
	bool is_on;            /* attar_run_select_tasks() was called */
	bool keeps_own;        /* attar_run_keep_own() was called */
	parse_ints pids, tids; /* of --pids and --tids */
};

void select_done(struct run_select *select);

#endif
