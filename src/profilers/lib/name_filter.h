/* SPDX-License-Identifier: MIT */
/* --kernel-filter: lets the kernel drop the scheduler's events of threads with other names. */
#ifndef PROFILERS_LIB_NAME_FILTER_H
#define PROFILERS_LIB_NAME_FILTER_H

#include "attar/run.h"

/*
 * Sets a filter of the names (of --filter) for each source from `first` on that is an event of the
 * scheduler with the names of its threads, except untraced ones. An event passes if one of its
 * threads has such a name; events for which the kernel cannot do it are not filtered. Only from
 * open(). 0 or a negative errno.
 */
int name_filter_set(struct attar_run *run, uint32_t first, const char *names);

#endif
