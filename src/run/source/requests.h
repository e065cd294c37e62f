/* SPDX-License-Identifier: MIT */
/* Reports that are requested during a run, also from signal handlers and other threads. */
#ifndef RUN_SOURCE_REQUESTS_H
#define RUN_SOURCE_REQUESTS_H

#include "attar/run.h"

struct run_requests {
	int report;         /* a report is requested; atomic */
	const char *marker; /* of that report, owned by the run; NULL: none */
};

/* Whether a report is requested; the request is then answered. */
bool requests_take(struct run_requests *requests);

/* Adds the marker of the request, if there is one, to the report. */
void requests_mark(struct run_requests *requests, struct attar_report *report);

#endif
