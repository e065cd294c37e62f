/* SPDX-License-Identifier: MIT */
/*
 * The sources of a run for events that programs emit: in shared memory and in the kernel
 * (stream/user_events.h), or by USDT probes (event/usdt_search.h).
 */
#ifndef RUN_SOURCE_USER_SOURCES_H
#define RUN_SOURCE_USER_SOURCES_H

#include "attar/run.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "run/source/sources.h"
#include "stream/user_events.h"

struct user_sources {
	struct user_events events;
	VEC(struct attar_event_spec *) usdt_specs; /* of sources that are USDT probes */
	size_t n_opened;                           /* sources that existed at the start */
	struct map unshared; /* pids of processes that have the probe but no shared memory */
	bool stacks;         /* their samples have stacks */
	struct attar_expr_opts expr;
};

int run_list_processes(const struct attar_run *run, parse_ints *pids); /* of --pids and --tids */

/* Whether only the command is watched. */
bool run_only_command(const struct attar_run *run);

int run_user_open(struct attar_run *run);
void run_user_close(struct attar_run *run);
void user_sources_done(struct user_sources *user);

/* Delivers a sample that is converted or filtered in user space. */
int run_user_deliver(struct attar_run *run, struct source *s, const struct attar_event *ev);

#endif
