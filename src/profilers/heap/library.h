/* SPDX-License-Identifier: MIT */
/*
 * The library that is preloaded into a command, libperfume-heap.so, and which programs can load it.
 */
#ifndef PROFILERS_HEAP_LIBRARY_H
#define PROFILERS_HEAP_LIBRARY_H

#include "attar/run.h"

struct library_opts {
	const char *path; /* NULL: where it was installed */
	uint64_t sample;  /* bytes */
	bool maps;        /* watch mappings, too */
};

/*
 * Makes the command of the run load the library, in its environment. -EOPNOTSUPP: the command is a
 * program that cannot load it; -ENOENT: there is no library. Only from open().
 */
int library_preload(struct attar_run *run, const struct library_opts *opts);

/*
 * The processes of the option --pids were started with the library: *ret_sample is the sample of
 * their environment, bytes. -EOPNOTSUPP: one was not; -EINVAL: the options select no processes.
 */
int library_find(struct attar_run *run, uint64_t *ret_sample);

#endif
