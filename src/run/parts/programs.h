/* SPDX-License-Identifier: MIT */
/* The events of a run that programs emit, see source/programs.h. */
#ifndef RUN_PARTS_PROGRAMS_H
#define RUN_PARTS_PROGRAMS_H

#include "attar/run.h"
#include "base/parse.h"

struct source;
struct watched_programs;

int run_list_processes(const struct attar_run *run, parse_ints *pids); /* of --pids and --tids */

/* Whether only the command is watched. */
bool run_only_command(const struct attar_run *run);

/* Begins to look for them. */
int run_programs_open(struct attar_run *run);

/* The hooks of struct source_ops. */
int run_watched_programs(void *ctx, struct watched_programs *watched);
int run_add_program(void *ctx, const struct attar_event_spec *spec, uint32_t asked);
int run_program_discovered(void *ctx, struct source *s, uint32_t asked);

#endif
