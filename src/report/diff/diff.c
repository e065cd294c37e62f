/* SPDX-License-Identifier: MIT */
#include "report/diff/parts.h"

#include "base/check_arg.h"
#include "base/option_struct.h"
#include "report/model/model.h"

const struct attar_section *diff_find(
	const struct attar_report *report, const char *name, enum attar_section_kind kind)
{
	report_each_section (report, it)
		if ((*it)->kind == kind && !strcmp(section_text(*it, (*it)->name), name))
			return *it;
	return NULL;
}

static bool is_in(const struct attar_diff_side *side, const struct attar_section *like)
{
	side_each(side, report) if (diff_find(*report, section_text(like, like->name),
					    like->kind)) return true;
	return false;
}

/* Whether an earlier report of the same side has the section. */
static bool is_known(
	const struct attar_diff_side *side, size_t before, const struct attar_section *like)
{
	for (size_t i = 0; i < before; i++)
		if (diff_find(side->reports[i], section_text(like, like->name), like->kind))
			return true;
	return false;
}

static int diff_compare(struct diff *d, const struct attar_section *like)
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

/* Sections of other profilers may have the same name: a tree of samples and one of times. */
static int check_profilers(const struct attar_diff_side sides[SIDES])
{
	const char *first = "";

	for (int side = 0; side < SIDES; side++)
		side_each(&sides[side], report)
		{
			const char *name = report_text(*report, (*report)->profiler);

			if (*first && *name && strcmp(first, name) != 0)
				return attar_fail(-EINVAL,
					"the results are of two profilers, '%s' and '%s'" ATTAR_FIX
					"compare results of the same profiler",
					CLIP(first), CLIP(name));
			first = *name ? name : first;
		}
	return 0;
}

/* Compares each section of the reports before that the reports after have, too. */
static int compare_all(struct diff *d)
{
	size_t compared = 0;
	int e;

	if (check_profilers(d->sides) < 0)
		return -EINVAL;
	e = diff_find_files(d);
	for (size_t i = 0; i < d->sides[BEFORE].n; i++)
		report_each_section (d->sides[BEFORE].reports[i], it) {
			if (e < 0 || is_known(&d->sides[BEFORE], i, *it) ||
				!is_in(&d->sides[AFTER], *it))
				continue;
			compared++;
			e = diff_compare(d, *it);
		}
	if (e < 0)
		return base_oom();
	if (!compared)
		return attar_fail(-EINVAL, "the two results have no section in common" ATTAR_FIX
					   "compare results of the same profiler");
	return 0;
}

int diff_reports(const struct attar_diff_side *before, const struct attar_diff_side *after,
	const struct attar_diff_opts *opts, struct attar_report *out,
	struct attar_diff_result *ret_result)
{
	CHECK_ARG(before, "before");
	CHECK_ARG(!before->n || before->reports, "before->reports");
	CHECK_ARG(after, "after");
	CHECK_ARG(!after->n || after->reports, "after->reports");
	CHECK_ARG(opts, "opts");
	CHECK_ARG(out, "out");
	CHECK_ARG(ret_result, "ret_result");

	const struct attar_diff_side sides[SIDES] = {*before, *after};
	struct attar_diff_opts known;
	struct diff d = {.sides = sides, .opts = &known, .out = out};
	int r = option_struct_take(&known, sizeof(known), opts);

	if (r == 0)
		r = compare_all(&d);
	intern_done(&d.keys);
	intern_done(&d.files);
	map_done(&d.same_files);
	if (r == 0)
		*ret_result = d.result;
	return r;
}

int diff_folded_reports(
	const struct attar_diff_side *before, const struct attar_diff_side *after, FILE *out)
{
	CHECK_ARG(before, "before");
	CHECK_ARG(!before->n || before->reports, "before->reports");
	CHECK_ARG(after, "after");
	CHECK_ARG(!after->n || after->reports, "after->reports");
	CHECK_ARG(out, "out");

	const struct attar_diff_side sides[SIDES] = {*before, *after};

	return diff_folded(sides, out);
}
