/* SPDX-License-Identifier: MIT */
#include "attar/private/merge.h"

#include <math.h>

#include "base/check_arg.h"
#include "report/model/distribution.h"
#include "report/merge/parts.h"
#include "report/model/model.h"
#include "report/model/number.h"

/* ---- histograms ---- */

static struct cell smaller(struct cell a, struct cell b)
{
	return number_value(b) < number_value(a) ? b : a;
}

static struct cell larger(struct cell a, struct cell b)
{
	return number_value(b) > number_value(a) ? b : a;
}

/* Exact as long as it fits. */
static struct cell sum_of(struct cell a, struct cell b)
{
	struct cell sum = {.kind = CELL_U64};

	if (a.kind == CELL_U64 && b.kind == CELL_U64 &&
		!__builtin_add_overflow(a.u64, b.u64, &sum.u64))
		return sum;
	return cell_double(number_value(a) + number_value(b));
}

/* A quantile is known if each host has it. */
static void add_quantiles(
	struct attar_section *to, const fleet_sections *all, const struct distribution *d)
{
	vec_each (&all->at[0].section->quantiles, quantile) {
		struct cell value = cell_double(distribution_quantile(d, quantile->share));
		size_t n = 0;

		vec_each (all, it)
			vec_each (&it->section->quantiles, other)
				n += other->share == quantile->share;
		if (n != all->n || !isfinite(value.real))
			continue;
		if (n == 1) /* exact */
			value = quantile->value;
		if (to->summary.is_set)
			value = smaller(larger(value, to->summary.min), to->summary.max);
		histogram_add_quantile(to, quantile->share, value);
	}
}

/* Empty histograms have no summary. */
static void add_summary(struct attar_section *to, const fleet_sections *all)
{
	struct summary sum = {.sum = cell_u64(0)};

	vec_each (all, it) {
		const struct summary *one = &it->section->summary;

		if (!one->is_set && it->section->rows)
			return;
		if (!one->is_set || !one->count)
			continue;
		sum.min = sum.is_set ? smaller(sum.min, one->min) : one->min;
		sum.max = sum.is_set ? larger(sum.max, one->max) : one->max;
		sum.is_set = true;
		sum.sum = sum_of(sum.sum, one->sum);
		if (__builtin_add_overflow(sum.count, one->count, &sum.count))
			sum.count = UINT64_MAX;
	}
	if (sum.is_set)
		histogram_set_summary(to, &sum);
}

static int merge_histograms(const fleet_sections *all, const char *name, struct attar_report *out)
{
	struct distribution d _cleanup_(distribution_done) = {0};
	enum attar_unit unit = all->at[0].section->columns.at[0].unit;
	struct attar_section *to = attar_report_histogram(out, name, unit);
	int r = 0;

	vec_each (all, it)
		if (r == 0)
			r = distribution_add(&d, it->section);
	distribution_join(&d);
	vec_each (&d.buckets, b)
		attar_histogram_bucket(to, b->low, b->high, b->count);
	add_summary(to, all);
	add_quantiles(to, all, &d);
	return r;
}

static int list_histograms(const fleet_sections *all, struct attar_report *out)
{
	int r = 0;

	vec_each (all, it) {
		fleet_sections one = {.at = it, .n = 1};
		struct buf name _cleanup_(buf_done) = {0};

		buf_printf(&name, "%s: %s", it->host, section_text(it->section, it->section->name));
		if (r == 0)
			r = merge_histograms(&one, buf_text(&name), out);
	}
	return r;
}

/* ---- sections ---- */

struct merging {
	const struct attar_merge_part *parts;
	size_t n;
	bool by_host;
	struct attar_report *out;
	fleet_nodes nodes; /* of the first tree */
};

/* What a query of attar sql computes may be an average or a difference, whatever its name is. */
static bool is_result_of_query(const struct attar_section *s)
{
	static const char name[] = "query ";

	return !strncmp(section_text(s, s->name), name, sizeof(name) - 1);
}

static int merge_rows(const fleet_sections *all, bool by_host, struct attar_report *out)
{
	const struct attar_section *like = all->at[0].section;
	bool lists = by_host || like->kind == ATTAR_SECTION_EVENTS || is_result_of_query(like);
	fleet_columns columns = {0};
	int r = fleet_columns_of(all, &columns);

	if (r == 0)
		r = lists || !fleet_can_merge(&columns) ? fleet_list_rows(all, &columns, out)
							: fleet_merge_table(all, &columns, out);
	vec_done(&columns);
	return r;
}

static const struct attar_section *first_tree(const struct attar_report *report)
{
	report_each_section (report, it)
		if ((*it)->kind == ATTAR_SECTION_TREE)
			return *it;
	return NULL;
}

/* Time lines refer to the first tree of their report. */
static int merge_trees(struct merging *m, const fleet_sections *all)
{
	bool is_first = !first_tree(m->out);

	vec_each (all, it)
		is_first &= first_tree(it->section->report) == it->section;
	return fleet_merge_trees(all, m->by_host, m->out, is_first ? &m->nodes : NULL);
}

static int merge_kind(struct merging *m, const fleet_sections *all)
{
	const struct attar_section *like = all->at[0].section;

	switch (like->kind) {
	case ATTAR_SECTION_TABLE:
	case ATTAR_SECTION_EVENTS:
		return merge_rows(all, m->by_host, m->out);
	case ATTAR_SECTION_HISTOGRAM:
		return m->by_host ? list_histograms(all, m->out)
				  : merge_histograms(all, section_text(like, like->name), m->out);
	case ATTAR_SECTION_TREE:
		return merge_trees(m, all);
	case ATTAR_SECTION_TIME_SERIES:
		return fleet_merge_series(all, m->out);
	case ATTAR_SECTION_SPANS:
		return fleet_merge_spans(all, &m->nodes, m->out);
	}
	return 0;
}

/* What all hosts send for outputs that are made for trees is for these only. */
static int merge(struct merging *m, const fleet_sections *all)
{
	size_t first = m->out->sections.n;
	bool is_for_trees = true;
	int r = merge_kind(m, all);

	vec_each (all, it)
		is_for_trees &= it->section->is_for_trees;
	for (size_t i = first; i < m->out->sections.n; i++)
		m->out->sections.at[i]->is_for_trees = is_for_trees;
	return r;
}

static const struct attar_section *find_like(
	const struct attar_report *report, const struct attar_section *like)
{
	const char *name = section_text(like, like->name);

	report_each_section (report, it)
		if ((*it)->kind == like->kind && !strcmp(section_text(*it, (*it)->name), name))
			return *it;
	return NULL;
}

/* The sections of this name and kind from the part `first` on, which has it. */
static int gather(const struct attar_merge_part *parts, size_t n, size_t first,
	const struct attar_section *like, fleet_sections *ret_all)
{
	for (size_t i = first; i < n; i++) {
		const struct attar_section *s = find_like(parts[i].report, like);

		if (s && vec_push(ret_all,
				 (struct fleet_section){parts[i].host, s, parts[i].offset}) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Whether an earlier part, or an earlier section of this part, is the same. */
static bool is_known(
	const struct attar_merge_part *parts, size_t part, const struct attar_section *section)
{
	for (size_t i = 0; i < part; i++)
		if (find_like(parts[i].report, section))
			return true;
	return find_like(parts[part].report, section) != section;
}

/* Hosts send all sections that an output may need, also empty ones. */
static bool is_empty(const fleet_sections *all)
{
	vec_each (all, it)
		if (it->section->rows || it->section->nodes.n)
			return false;
	return true;
}

/* Those that are time lines, or the others. */
static int merge_sections(struct merging *m, bool spans)
{
	int r = 0;

	for (size_t i = 0; i < m->n; i++)
		report_each_section (m->parts[i].report, it) {
			fleet_sections all = {0};

			if (r < 0 || ((*it)->kind == ATTAR_SECTION_SPANS) != spans ||
				is_known(m->parts, i, *it))
				continue;
			r = gather(m->parts, m->n, i, *it, &all);
			if (r == 0 && (!is_empty(&all) || !m->out->sections.n || spans))
				r = merge(m, &all);
			vec_done(&all);
		}
	return r;
}

/* Time lines come last: they need the nodes of the merged tree. */
static int merge_all(struct merging *m)
{
	int r = merge_sections(m, false);

	if (r == 0)
		r = merge_sections(m, true);
	vec_each (&m->nodes, it)
		free(it->of);
	vec_done(&m->nodes);
	return r;
}

/* ---- notes and remarks ---- */

static void add_saturating(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static void add_notes(struct attar_notes *sum, double *unresolved, const struct attar_notes *one)
{
	add_saturating(&sum->seen, one->seen);
	add_saturating(&sum->lost, one->lost);
	add_saturating(&sum->lost_side_band, one->lost_side_band);
	add_saturating(&sum->throttled, one->throttled);
	add_saturating(&sum->missing, one->missing);
	sum->self_cpu += one->self_cpu;
	sum->self_rss = MAX(sum->self_rss, one->self_rss);
	if (one->unresolved >= 0)
		*unresolved += one->unresolved * (double)one->seen;
	else
		*unresolved = NAN;
}

static void merge_notes(const struct attar_merge_part *parts, size_t n, struct attar_report *out)
{
	struct attar_notes sum = {.unresolved = -1};
	double unresolved = 0;
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (!parts[i].report->has_notes)
			continue;
		add_notes(&sum, &unresolved, &parts[i].report->notes);
		any = true;
	}
	if (sum.seen && unresolved >= 0)
		sum.unresolved = fmin(unresolved / (double)sum.seen, 1);
	sum.counting = !sum.seen && !sum.lost;
	if (any)
		attar_report_notes(out, &sum);
}

static void merge_remarks(const struct attar_merge_part *parts, size_t n, struct attar_report *out)
{
	for (size_t i = 0; i < n; i++)
		vec_each (&parts[i].report->remarks, remark)
			attar_report_remark(out, "%s: %s", parts[i].host,
				report_text(parts[i].report, *remark));
}

int merge_reports(
	const struct attar_merge_part *parts, size_t n, bool by_host, struct attar_report *out)
{
	CHECK_ARG(!n || parts, "parts");
	CHECK_ARG(out, "out");
	for (size_t i = 0; i < n; i++)
		CHECK_ARG(parts[i].host && parts[i].report, "parts");

	struct merging m = {parts, n, by_host, out, {0}};
	int r = merge_all(&m);

	merge_remarks(parts, n, out);
	merge_notes(parts, n, out);
	return r < 0 ? base_oom() : 0;
}
