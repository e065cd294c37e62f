/* SPDX-License-Identifier: MIT */
#ifndef RUN_SOURCE_INPUTS_H
#define RUN_SOURCE_INPUTS_H

#include "run/events/sources.h"

/* The same for a source that appears during the run: ignores its events if it lacks a field. */
void run_bind_late(struct source *s, const struct attar_input *input);

#endif
