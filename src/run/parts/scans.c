/* SPDX-License-Identifier: MIT */
/* The time that profilers may take for reading open files and mappings of processes. */
#include "attar/builtin.h"
#include "base/scan_budget.h"
#include "run/parts.h"
#include "run/run.h"

enum { SCANS_USER_NS = 100000000 };

PART_STATE(scans_of, struct scan_budget, PART_SCANS)

bool run_scan_begin(struct attar_run *run, pid_t pid)
{
	return scan_budget_begin(scans_of(run), pid);
}

bool run_scan_goes_on(struct attar_run *run, pid_t pid)
{
	return scan_budget_goes_on(scans_of(run), pid);
}

void run_scan_end(struct attar_run *run, pid_t pid)
{
	scan_budget_end(scans_of(run), pid);
}

static int scans_create(struct attar_run *run, void *self)
{
	struct scan_budget *scans = self;

	*scans = (struct scan_budget){.user_ns = SCANS_USER_NS,
		.what = "open files and mappings",
		.effect = "some of them may not be known"};
	return 0;
}

const struct run_part part_scans = {
	.size = sizeof(struct scan_budget),
	.create = scans_create,
};
