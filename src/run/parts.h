/* SPDX-License-Identifier: MIT */
/* The list of all parts of a run, see run/part.h. */
#ifndef RUN_PARTS_H
#define RUN_PARTS_H

#include "run/part.h"

extern const struct run_part *const run_parts[PART_COUNT];

#define PART_DECLARED(id, part) extern const struct run_part part;
RUN_PARTS(PART_DECLARED, PART_DECLARED)

#endif
