/* SPDX-License-Identifier: MIT */
/* Common sections and remarks of reports about histograms, tables, pairs and states. */
#include "attar/sections.h"

#include "attar/private/hist.h"
#include "attar/private/keytable.h"
#include "base/buf.h"
#include "base/check_arg.h"
#include "report/model/model.h"

static const double shares[] = {0.5, 0.95, 0.99, 0.999};

/* Quantiles of a table's columns: the first ones of shares. */
enum { COLUMN_SHARES = 3 };

void attar_section_hist_columns(struct attar_section *section, enum attar_unit unit)
{
	CHECK_ARG_OR(section, "section", );

	attar_section_column(section, "count", ATTAR_UNIT_COUNT);
	attar_section_column(section, "total", unit);
	attar_section_column(section, "min", unit);
	attar_section_column(section, "p50", unit);
	attar_section_column(section, "p95", unit);
	attar_section_column(section, "p99", unit);
	attar_section_column(section, "max", unit);
}

void attar_cell_hist(struct attar_section *section, const struct attar_hist *hist)
{
	CHECK_ARG_OR(section, "section", );
	CHECK_ARG_OR(hist, "hist", );

	uint64_t values[COLUMN_SHARES];

	hist_quantiles(hist, shares, COLUMN_SHARES, values);
	attar_cell_u64(section, hist->count);
	attar_cell_u64(section, attar_hist_sum(hist));
	if (!hist->count) {
		for (size_t i = 0; i < COLUMN_SHARES + 2; i++)
			attar_cell_none(section);
		return;
	}
	attar_cell_u64(section, hist->min);
	for (size_t i = 0; i < COLUMN_SHARES; i++)
		attar_cell_u64(section, values[i]);
	attar_cell_u64(section, hist->max);
}

/* Exact as long as it fits into 64 bits. */
static struct cell sum_of(const struct attar_hist *hist)
{
	return hist->sum_high ? cell_double((double)hist->sum_high * 0x1p64 + (double)hist->sum)
			      : cell_u64(hist->sum);
}

struct attar_section *attar_report_hist(struct attar_report *report, const char *name,
	enum attar_unit unit, const struct attar_hist *hist)
{
	CHECK_ARG_OR(report, "report", NULL);
	CHECK_ARG_OR(hist, "hist", NULL);

	struct attar_section *section = attar_report_histogram(report, name, unit);
	struct summary summary = {
		true, hist->count, sum_of(hist), cell_u64(hist->min), cell_u64(hist->max)};
	struct attar_hist_bucket bucket = {0};
	uint64_t values[ARRAY_SIZE(shares)];

	if (!hist->count)
		return section;
	while (hist_next_power(hist, &bucket))
		attar_histogram_bucket(
			section, (double)bucket.low, (double)bucket.last + 1, bucket.count);
	histogram_set_summary(section, &summary);
	hist_quantiles(hist, shares, ARRAY_SIZE(shares), values);
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++)
		histogram_add_quantile(section, shares[i], cell_u64(values[i]));
	return section;
}

/* "7 starts of NAME are not part of a pair: 3 replaced by a newer start, 4 ..." */
static void remark_unpaired(struct attar_report *report, const uint64_t *unpaired, int first,
	int end, const char *name, const char *what)
{
	struct buf text _cleanup_(buf_done) = {0};
	uint64_t n = 0;

	for (int i = first; i < end; i++) {
		if (!unpaired[i])
			continue;
		buf_printf(&text, "%s%llu %s", n ? ", " : "", (unsigned long long)unpaired[i],
			attar_unpaired_text((enum attar_unpaired)i));
		n += unpaired[i];
	}
	if (n)
		attar_report_remark(report, "%llu %s%s of %s %s not part of a pair: %s",
			(unsigned long long)n, what, PLURAL_S(n), name, n == 1 ? "is" : "are",
			buf_text(&text));
}

void attar_report_unpaired(
	struct attar_report *report, const struct attar_pairs_stats *stats, const char *name)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(stats, "stats", );
	CHECK_ARG_OR(name, "name", );

	remark_unpaired(
		report, stats->unpaired, ATTAR_UNPAIRED_OPEN, ATTAR_UNPAIRED_END, name, "start");
	remark_unpaired(
		report, stats->unpaired, ATTAR_UNPAIRED_END, ATTAR_UNPAIRED_REASONS, name, "end");
}

void attar_report_evicted(
	struct attar_report *report, const struct attar_keytable *table, const char *name)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(table, "table", );
	CHECK_ARG_OR(name, "name", );

	struct attar_keytable_stats stats;

	keytable_get_stats(table, &stats);
	if (stats.evicted)
		attar_report_remark(report,
			"the table of %s is full: %llu with small values %s added to one row "
			"for all others",
			name, (unsigned long long)stats.evicted,
			stats.evicted == 1 ? "was" : "were");
}

void attar_report_dropped(
	struct attar_report *report, const struct attar_states *states, const char *name)
{
	CHECK_ARG_OR(report, "report", );
	CHECK_ARG_OR(states, "states", );
	CHECK_ARG_OR(name, "name", );

	struct attar_states_stats stats;

	attar_states_get_stats(states, &stats);
	if (stats.lost)
		attar_report_remark(report,
			"%s left out because events were lost during them: %llu, with %.2f %% of "
			"all time",
			name, (unsigned long long)stats.lost, 100 * stats.lost_share);
	if (stats.unseen)
		attar_report_remark(report,
			"%s left out because an event during them was not delivered: %llu", name,
			(unsigned long long)stats.unseen);
}
