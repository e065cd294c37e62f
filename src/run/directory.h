/* SPDX-License-Identifier: MIT */
/* Where a run finds other profilers, which are in a higher layer. */
#ifndef RUN_DIRECTORY_H
#define RUN_DIRECTORY_H

#include "attar/run.h"

struct run_directory {
	/* All profilers, in alphabetical order, ending with NULL. */
	const struct attar_profiler *const *(*list)(void);

	/*
	 * -ENOENT, with an error message, if the profiler is a preset that hides the option with
	 * this name or letter of the profiler that it runs; otherwise 0. name may be NULL, and
	 * letter 0.
	 */
	int (*check_option)(const struct attar_profiler *profiler, const char *name, char letter);
};

/* As attar_run_from(). The directory is borrowed. */
int run_create(const struct attar_profiler *profiler, const struct run_directory *directory,
	struct attar_run **ret_run);

#endif
