/* SPDX-License-Identifier: MIT */
#include "report/diff.h"

#include "report/diff_parts.h"
#include "report/model.h"

const struct attar_section *diff_find(
	const struct attar_report *report, const char *name, enum attar_section_kind kind)
{
	report_each_section (report, it)
		if ((*it)->kind == kind && !strcmp(section_text(*it, (*it)->name), name))
			return *it;
	return NULL;
}

static bool is_in(const struct diff_side *side, const struct attar_section *like)
{
	vec_each (&side->reports, report)
		if (diff_find(*report, section_text(like, like->name), like->kind))
			return true;
	return false;
}

/* Whether an earlier report of the same side has the section. */
static bool is_known(const struct diff_side *side, size_t before, const struct attar_section *like)
{
	for (size_t i = 0; i < before; i++)
		if (diff_find(side->reports.at[i], section_text(like, like->name), like->kind))
			return true;
	return false;
}

static int compare(struct diff *d, const struct attar_section *like)
{
	switch (like->kind) {
	case ATTAR_SECTION_TABLE:
		return diff_table(d, like);
	case ATTAR_SECTION_HISTOGRAM:
		return diff_histogram(d, like);
	case ATTAR_SECTION_TREE:
		return diff_stacks(d, like);
	default:
		return 0;
	}
}

int diff_reports(const struct diff_side sides[2], const struct diff_opts *opts,
	struct attar_report *out, struct diff_result *ret_result)
{
	struct diff d = {.sides = sides, .opts = opts, .out = out};
	size_t compared = 0;
	int e = diff_find_files(&d);

	for (size_t i = 0; i < sides[BEFORE].reports.n; i++)
		report_each_section (sides[BEFORE].reports.at[i], it) {
			if (e < 0 || is_known(&sides[BEFORE], i, *it) || !is_in(&sides[AFTER], *it))
				continue;
			compared++;
			e = compare(&d, *it);
		}
	intern_done(&d.keys);
	intern_done(&d.files);
	map_done(&d.same_files);
	if (e < 0)
		return base_oom();
	if (!compared)
		return attar_fail(-EINVAL, "the two results have no section in common: compare "
					   "results of the same profiler");
	*ret_result = d.result;
	return 0;
}
