/* SPDX-License-Identifier: MIT */
/* The list of all parts of a run, see run/part.h. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H

#include "run/part.h"

extern const struct run_part *const run_parts[PART_COUNT];

/* Each is defined in the file of its name. */
extern const struct run_part part_flight, part_overhead, part_probe_files, part_push,
	part_recorded_events, part_recorder, part_renewal, part_spans, part_switch_check,
	part_user_stacks;

#endif
