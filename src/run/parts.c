/* SPDX-License-Identifier: MIT */
#include "run/parts.h"

const struct run_part *const run_parts[PART_COUNT] = {
	[PART_SWITCH_CHECK] = &part_switch_check,
	[PART_SELECT] = &part_select,
	[PART_OVERHEAD] = &part_overhead,
	[PART_FLIGHT] = &part_flight,
	[PART_PROBE_FILES] = &part_probe_files,
	[PART_COUNTS] = &part_counts,
	[PART_REPLAY] = &part_replay,
	[PART_HOSTS] = &part_hosts,
	[PART_EMITTERS] = &part_emitters,
	[PART_PROGRAMS] = &part_programs,
	[PART_GROUPS] = &part_groups,
	[PART_RENEWAL] = &part_renewal,
	[PART_PUSH] = &part_push,
	[PART_RECORDER] = &part_recorder,
	[PART_RECORDED_EVENTS] = &part_recorded_events,
	[PART_SPANS] = &part_spans,
	[PART_USER_STACKS] = &part_user_stacks,
};
