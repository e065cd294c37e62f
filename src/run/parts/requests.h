/* SPDX-License-Identifier: MIT */
/* Reports that are requested during a run, also from signal handlers and other threads. */
#ifndef RUN_SOURCE_REQUESTS_H
#define RUN_SOURCE_REQUESTS_H

#include "attar/run.h"

/* Whether a report is requested; the request is then answered. */
bool requests_take(struct attar_run *run);

/* Adds the marker of the request, if there is one, to the report. */
void requests_mark(struct attar_run *run, struct attar_report *report);

#endif
