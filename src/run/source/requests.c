/* SPDX-License-Identifier: MIT */
#include "run/source/requests.h"

#include <stdio.h>

#include "base/check_arg.h"
#include "run/run.h"

enum { MARKER_MAX = 1024 };

void attar_run_request_report(struct attar_run *run)
{
	if (run && is_own_process(run)) /* no error is set: see attar_run_stop() */
		__atomic_store_n(&run->requests.report, 1, __ATOMIC_RELEASE);
}

int attar_run_mark(struct attar_run *run, const char *text)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");

	char cut[MARKER_MAX + 1];

	snprintf(cut, sizeof(cut), "%s", text);
	run->requests.marker = intern_text(&run->texts, cut);
	if (!run->requests.marker)
		return base_oom();
	attar_run_request_report(run);
	return 0;
}

bool requests_take(struct run_requests *requests)
{
	return unlikely(__atomic_load_n(&requests->report, __ATOMIC_RELAXED)) &&
	       __atomic_exchange_n(&requests->report, 0, __ATOMIC_ACQUIRE);
}

void requests_mark(struct run_requests *requests, struct attar_report *report)
{
	if (requests->marker)
		attar_report_remark(report, "marker: %s", requests->marker);
	requests->marker = NULL;
}
