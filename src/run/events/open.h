/* SPDX-License-Identifier: MIT */
/* Opens the target, events and stream of a run. */
#ifndef RUN_SOURCE_OPEN_H
#define RUN_SOURCE_OPEN_H

#include "attar/run.h"
#include "run/run.h"

enum { PROGRESS_NS = 1000000000 }; /* between two lines of progress */

struct run_opening {
	bool by_profiler;                /* inside the profiler's open() */
	uint64_t shown;                  /* ns, when the progress of opening events is shown next */
	const struct attar_input *input; /* whose events are being added; NULL: none */
};

SHARED_STATE(opening_of, struct run_opening, OPENING)

/* Opens everything. To be called for each run of the command; closes what the last one opened. */
int open_all(struct attar_run *run);

/* The files of the stream and of its side-band event. */
size_t run_stream_files(const struct attar_run *run);

/*
 * Before event number `done` is opened: shows the progress. -ECANCELED: attar_run_stop() was
 * called.
 */
int run_opening(struct attar_run *run, size_t done);

/* Returns -EINVAL from a public function that is not called from the profiler's open(). */
#define CHECK_OPENING(run)                                                                         \
	do {                                                                                       \
		if (!opening_of(run)->by_profiler)                                                 \
			return run_not_opening(__func__);                                          \
	} while (0)
int run_not_opening(const char *function);

#endif
