/* SPDX-License-Identifier: MIT */
/* The events of a run that are counted and read, as opposed to sampled and delivered. */
#ifndef RUN_COUNTS_COUNTS_H
#define RUN_COUNTS_COUNTS_H

#include "attar/run.h"
#include "run/run.h"
#include "base/vec.h"
#include "run/counts/rows.h"
#include "run/input/replay_counts.h"

/* One event. The members of a group are adjacent. */
struct counted {
	struct attar_run_counter pub;
	/* owned by the group's first member; NULL in the others, and if the kernel refused it */
	struct attar_group *group;
	/* of selected tasks, or of a PMU with its own CPU list; NULL: the run's target */
	struct attar_target *own_target;
	struct attar_counter *counter; /* of pub */
	struct attar_value *values, *recent;
	struct recorded_count recorded; /* of --input */
	char *refused;
	bool leads;
	bool of_selected; /* see run_count_selected() */
	bool is_left_out; /* matched by a pattern and refused: see event/skipped_events.h */
};

typedef VEC(struct counted) counted_list;

struct counts {
	counted_list list;
	struct count_rows rows;
	bool each_cpu;  /* threads are counted separately on each CPU */
	bool user_only; /* no permission to count kernel code */
};

SHARED_STATE(counts_of, struct counts, COUNTS)

/* Opens all counted events, disabled. */
int counts_open(struct attar_run *run);

/*
 * Closes all counted events, so that they can be opened again. -ECANCELED: attar_run_stop() was
 * called, and some events are still open.
 */
int counts_close(struct attar_run *run);
int counts_enable(struct attar_run *run);
int counts_disable(struct attar_run *run);

/* Reads all counted events: one system call for each instance of a counter or group. */
int counts_read(struct attar_run *run);

#endif
