/* SPDX-License-Identifier: MIT */
/* Building histograms, time series and time lines. */
#include "attar/private/report.h"
#include "base/check_arg.h"
#include "report/model/model.h"

struct attar_section *attar_report_histogram(
	struct attar_report *report, const char *name, enum attar_unit unit)
{
	CHECK_ARG_OR(report, "report", NULL);

	struct attar_section *section = report_add_section(report, ATTAR_SECTION_HISTOGRAM, name);

	attar_section_column(section, "low", unit);
	attar_section_column(section, "high", unit);
	attar_section_column(section, "count", ATTAR_UNIT_COUNT);
	return section;
}

void attar_histogram_bucket(
	struct attar_section *histogram, double low, double high, uint64_t count)
{
	CHECK_ARG_OR(histogram, "histogram", );

	attar_section_row(histogram);
	attar_cell_double(histogram, low);
	attar_cell_double(histogram, high);
	attar_cell_u64(histogram, count);
}

void histogram_set_summary(struct attar_section *histogram, const struct summary *summary)
{
	struct attar_report *report = histogram->report;

	if (report->fault)
		return;
	if (histogram->kind != ATTAR_SECTION_HISTOGRAM)
		report_set_failed(report, "a summary was set for a section without buckets");
	else
		histogram->summary = *summary;
}

void attar_histogram_summary(
	struct attar_section *histogram, uint64_t count, double sum, double min, double max)
{
	CHECK_ARG_OR(histogram, "histogram", );

	histogram_set_summary(histogram, &(struct summary){true, count, cell_double(sum),
						 cell_double(min), cell_double(max)});
}

void histogram_add_quantile(struct attar_section *histogram, double share, struct cell value)
{
	struct attar_report *report = histogram->report;
	size_t n = histogram->quantiles.n;

	if (report->fault)
		return;
	if (histogram->kind != ATTAR_SECTION_HISTOGRAM)
		report_set_failed(report, "a quantile was added to a section without buckets");
	else if (!(share >= 0 && share <= 1) ||
		 (n && share <= histogram->quantiles.at[n - 1].share))
		report_set_failed(
			report, "the quantiles of a histogram are not in ascending order");
	else if (vec_push(&histogram->quantiles, (struct quantile){share, value}) < 0)
		report_set_out_of_memory(report);
}

void attar_histogram_quantile(struct attar_section *histogram, double share, double value)
{
	CHECK_ARG_OR(histogram, "histogram", );

	histogram_add_quantile(histogram, share, cell_double(value));
}

struct attar_section *attar_report_time_series(struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);

	struct attar_section *section = report_add_section(report, ATTAR_SECTION_TIME_SERIES, name);

	attar_section_column(section, "time", ATTAR_UNIT_TIME);
	return section;
}

void attar_time_series_point(struct attar_section *series, uint64_t time)
{
	CHECK_ARG_OR(series, "series", );

	attar_section_row(series);
	attar_cell_u64(series, time);
}

struct attar_section *report_spans(struct attar_report *report, const char *name)
{
	CHECK_ARG_OR(report, "report", NULL);

	static const struct {
		const char *name;
		enum attar_unit unit;
	} columns[] = {
		[ATTAR_SPAN_TIME] = {"time", ATTAR_UNIT_TIME},
		[ATTAR_SPAN_DURATION] = {"duration", ATTAR_UNIT_NS},
		[ATTAR_SPAN_PID] = {"pid", ATTAR_UNIT_ID},
		[ATTAR_SPAN_TID] = {"tid", ATTAR_UNIT_ID},
		[ATTAR_SPAN_THREAD] = {"thread", ATTAR_UNIT_TEXT},
		[ATTAR_SPAN_CPU] = {"cpu", ATTAR_UNIT_ID},
		[ATTAR_SPAN_CATEGORY] = {"category", ATTAR_UNIT_TEXT},
		[ATTAR_SPAN_NAME] = {"name", ATTAR_UNIT_TEXT},
		[ATTAR_SPAN_NODE] = {"node", ATTAR_UNIT_ID},
		[ATTAR_SPAN_WEIGHT] = {"weight", ATTAR_UNIT_COUNT},
		[ATTAR_SPAN_SAMPLE] = {"sample", ATTAR_UNIT_ID},
		[ATTAR_SPAN_DETAIL] = {"detail", ATTAR_UNIT_TEXT},
		[ATTAR_SPAN_WAKER] = {"waker", ATTAR_UNIT_TEXT},
		[ATTAR_SPAN_WAKER_PID] = {"waker pid", ATTAR_UNIT_ID},
		[ATTAR_SPAN_WAKER_TID] = {"waker tid", ATTAR_UNIT_ID},
		[ATTAR_SPAN_WAKER_STACK] = {"waker stack", ATTAR_UNIT_TEXT},
	};
	struct attar_section *section = report_add_section(report, ATTAR_SECTION_SPANS, name);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		attar_section_column(section, columns[i].name, columns[i].unit);
	return section;
}

void quantile_name(struct buf *b, double share)
{
	buf_printf(b, "%.10g", share * 100);
}
