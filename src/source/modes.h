/* SPDX-License-Identifier: MIT */
/* The modes (perf/modes.h) that the event of a source is requested in. */
#ifndef SOURCE_MODES_H
#define SOURCE_MODES_H

#include "perf/modes.h"
#include "source/source.h"

/*
 * Whether --exclude-user and --exclude-kernel do not concern an event: tracepoints and probes
 * happen in the code that they are in. spec may be NULL.
 */
bool modes_are_of_code(const struct attar_event_spec *spec);

/* Those that the text of an event requests. */
unsigned modes_of_spec(const struct attar_event_spec *spec);

unsigned modes_of_source(const struct source *s);

#endif
