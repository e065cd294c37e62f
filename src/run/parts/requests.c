/* SPDX-License-Identifier: MIT */
#include "run/parts/requests.h"

#include <stdio.h>

#include "attar/builtin.h"
#include "attar/private/report.h"
#include "base/check_arg.h"
#include "run/run.h"
#include "run/events/open.h"

enum { MARKER_MAX = 1024 };

struct run_requests {
	int report;           /* a report is requested; atomic */
	const char *marker;   /* of that report, owned by the run; NULL: none */
	bool expects_queries; /* see attar_run_query() */
};

PART_STATE(requests_of, struct run_requests, PART_REQUESTS)

void attar_run_request_report(struct attar_run *run)
{
	if (run && is_own_process(run)) /* no error is set: see attar_run_stop() */
		__atomic_store_n(&requests_of(run)->report, 1, __ATOMIC_RELEASE);
}

int run_mark(struct attar_run *run, const char *text)
{
	CHECK_OWN(run, "run");
	CHECK_ARG(text, "text");

	char cut[MARKER_MAX + 1];

	snprintf(cut, sizeof(cut), "%s", text);
	requests_of(run)->marker = intern_text(&run->texts, cut);
	if (!requests_of(run)->marker)
		return base_oom();
	attar_run_request_report(run);
	return 0;
}

bool requests_take(struct attar_run *run)
{
	struct run_requests *requests = requests_of(run);

	return unlikely(__atomic_load_n(&requests->report, __ATOMIC_RELAXED)) &&
	       __atomic_exchange_n(&requests->report, 0, __ATOMIC_ACQUIRE);
}

void requests_mark(struct attar_run *run, struct attar_report *report)
{
	struct run_requests *requests = requests_of(run);

	if (requests->marker)
		report_remark_first(report, "marker: %s", requests->marker);
	requests->marker = NULL;
}

int run_expect_queries(struct attar_run *run)
{
	CHECK_OPENING(run);

	requests_of(run)->expects_queries = true;
	return 0;
}

bool run_expects_queries(const struct attar_run *run)
{
	return requests_of(run)->expects_queries;
}

const struct run_part part_requests = {.size = sizeof(struct run_requests)};
