/* SPDX-License-Identifier: MIT */
/* --pull: the recording that another attar pushes, while it is made. */
#ifndef RUN_INPUT_PULL_H
#define RUN_INPUT_PULL_H

#include "attar/run.h"
#include "run/run.h"
#include "perfdata/recording.h"

struct receiver;

struct run_pull {
	struct receiver *receiver; /* NULL: nothing is pulled */
	uint64_t reached;          /* ns: all events before this time were delivered; 0: unknown */
};

SHARED_STATE(pull_of, struct run_pull, PULL)

/* Checks the option, which takes the place of --input. */
int pull_prepare(struct attar_run *run);

/* Connects, and reads the recording up to its first records. */
int pull_open(struct attar_run *run, struct recording **ret_recording);

/*
 * After events were delivered: begins the run, makes the report that is due and ends the run by the
 * time up to which the sender has sent all events. Without it, they would wait for an event.
 */
int pull_follow(struct attar_run *run);

/* After the recording was closed. */
void pull_close(struct attar_run *run);

/* Adds remarks about the other machine. */
void pull_remark(const struct attar_run *run, struct attar_report *report);

#endif
