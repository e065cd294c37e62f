/* SPDX-License-Identifier: MIT */
#include "run/lines.h"

#include "base/check.h"
#include "run/run.h"

struct attar_section *attar_run_lines(
	struct attar_run *run, const char *name, void (*columns)(struct attar_section *section))
{
	CHECK_ARG_OR(run, "run", NULL);
	CHECK_ARG_OR(name, "name", NULL);
	CHECK_ARG_OR(columns, "columns", NULL);

	if (run->lines.report)
		return run->lines.section;
	run->lines.report = attar_report_new(run->profiler->name);
	if (!run->lines.report) {
		base_oom();
		return NULL;
	}
	run->lines.section = attar_report_events(run->lines.report, name);
	columns(run->lines.section);
	return run->lines.section;
}

bool attar_run_wants_lines(const struct attar_run *run)
{
	CHECK_ARG_OR(run, "run", false);

	return run->hooks.report && !run->hooks.no_line_output;
}

int lines_show(struct attar_run *run)
{
	int r = 0;

	if (!run->lines.report)
		return 0;
	if (run->hooks.report) {
		attar_report_span(run->lines.report, attar_run_realtime(run, run_now(run)), 0);
		r = run->hooks.report(run->hooks.ctx, run->lines.report, ATTAR_SCOPE_INTERVAL);
	}
	run->lines.report = attar_report_free(run->lines.report);
	return r;
}
