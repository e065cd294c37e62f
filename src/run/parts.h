/* SPDX-License-Identifier: MIT */
/* The list of all parts of a run, see run/part.h. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H

#include "run/part.h"

extern const struct run_part *const run_parts[PART_COUNT];

extern const struct run_part part_counts, part_emitters, part_flight, part_groups, part_hosts,
	part_overhead, part_probe_files, part_push, part_recorded_events, part_recorder,
	part_renewal, part_replay, part_select, part_spans, part_switch_check, part_programs,
	part_user_stacks;

#endif
