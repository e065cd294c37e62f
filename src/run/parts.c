/* SPDX-License-Identifier: MIT */
#include "run/parts.h"

#define PART_ENTRY(id, part) [PART_##id] = &(part),

const struct run_part *const run_parts[PART_COUNT] = {RUN_PARTS(PART_ENTRY, PART_ENTRY)};
