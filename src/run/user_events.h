/* SPDX-License-Identifier: MIT */
/* Sources of the events that programs emit: user_events.c and usdt_source.c. */
#ifndef RUN_USER_EVENTS_H
#define RUN_USER_EVENTS_H

#include "attar/run.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/parse.h"
#include "base/vec.h"
#include "run/sources.h"

/* A source whose events may arrive through shared memory of user programs. */
struct user_source {
	uint32_t source;
	const char *pattern; /* borrowed from the source's spec */
};

struct user_events {
	VEC(struct user_source) sources;
	struct attar_shm_source *shm;              /* NULL: none */
	VEC(struct attar_event_spec *) specs;      /* of sources that were discovered later */
	VEC(struct attar_event_spec *) usdt_specs; /* of sources that are USDT probes */
	size_t n_opened;                           /* sources that existed at the start */
	struct map unshared; /* pids of processes that have the probe but no shared memory */
	struct intern noted; /* transports that have been logged */
	bool stacks;         /* their samples have stacks */
	bool may_come; /* user_events is supported, but a requested event is not registered yet */
};

/* -EOPNOTSUPP for a user event that the kernel does not have: only a stream delivers those. */
int run_user_refuse(const struct attar_event_spec *spec);

int run_user_source(struct attar_run *run, const struct attar_event_spec *spec);
int run_list_processes(const struct attar_run *run, parse_ints *pids); /* of --pids and --tids */
int run_user_open(struct attar_run *run);
void run_user_close(struct attar_run *run);
void run_user_started(struct attar_run *run);
/* Delivers a sample that is converted or filtered in user space. */
int run_user_deliver(struct attar_run *run, struct source *s, const struct attar_event *ev);
/* Opens user events that were registered with the kernel since the last call. */
int run_user_look(struct attar_run *run);
void run_user_ended(struct attar_run *run);
/* Variables for the environment of the command, terminated by NULL; at most 2. */
void run_user_environment(const struct attar_run *run, const char *environment[3]);

/* Adds a source for each USDT probe of the event in the files of the target; see usdt_source.c. */
int run_usdt_add(struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn);
/* The same for processes that share no memory with attar; finding none is not an error. */
int run_usdt_add_unshared(
	struct attar_run *run, const struct attar_event_spec *spec, attar_event_fn *fn);
/* Converts the record to one of the user event; false: do not deliver it. */
bool run_usdt_convert(struct attar_run *run, struct source *s, struct attar_record *record);

void user_events_done(struct user_events *user);

#endif
