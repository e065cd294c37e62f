/* SPDX-License-Identifier: MIT */
/*
 * attar under the name perf-prof, as docs/from-perf-prof.md describes: for command lines and
 * scripts that were written for perf-prof.
 */
#ifndef CLI_PERF_PROF_H
#define CLI_PERF_PROF_H

#include "attar/run.h"

/* To be called first: remembers whether the program has the name. */
void perf_prof_begin(const char *program);

bool perf_prof_is_on(void);

/* Whether this log line is a remark, which the name suppresses, and not what an option asks for. */
bool perf_prof_hides(const char *text);

/*
 * Before the options of the command line are set: those that perf-prof has by default. 0 or a
 * negative errno.
 */
int perf_prof_set_defaults(struct attar_run *run);

#endif
