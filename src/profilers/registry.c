/* SPDX-License-Identifier: MIT */
/* All profilers except presets, one per line, in alphabetical order (a unit test checks it). */
#include "attar/run.h"

#define PROFILERS(X)                                                                               \
	X(multi_trace)                                                                             \
	X(profile)                                                                                 \
	X(record)                                                                                  \
	X(stat)                                                                                    \
	X(task_state)                                                                              \
	X(top)                                                                                     \
	X(trace)

#define DECLARE(name) extern const struct attar_profiler profiler_##name;
#define ADDRESS(name) &profiler_##name,

PROFILERS(DECLARE)

static const struct attar_profiler *const all[] = {PROFILERS(ADDRESS) NULL};

const struct attar_profiler *const *attar_builtin_profilers(void)
{
	return all;
}
