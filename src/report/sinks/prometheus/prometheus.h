/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of the renderer of metrics: prometheus_text.c writes names, labels and
 * samples, prometheus_table.c tables and time series, prometheus_histogram.c histograms.
 */
#ifndef REPORT_SINKS_PROMETHEUS_PROMETHEUS_H
#define REPORT_SINKS_PROMETHEUS_PROMETHEUS_H

#include "base/map.h"
#include "report/sinks/render.h"

enum { METRICS_POWERS = 37 /* bounds of buckets */ };

struct histogram {
	char *name;
	enum attar_unit unit;
	uint64_t counts[METRICS_POWERS + 1]; /* of the last: beyond all bounds */
	double sum;
};

struct counters {
	uint64_t seen, lost, lost_side_band, missing, throttled, reports;
};

struct metrics {
	struct map names; /* hash of each name in the current report */
	VEC(struct histogram) histograms;
	struct counters totals;
};

/* ---- text ---- */

/* The end of the names of metrics in this unit, "seconds"; NULL: they have none. */
const char *metrics_suffix(enum attar_unit unit);

/*
 * The value in the unit of the suffix. A quotient has no more digits than needed; 1e-9 is inexact.
 */
double metrics_scaled(enum attar_unit unit, double value);

/*
 * Appends "attar_profile_functions_self_ratio"; section and column may be NULL. A column "count"
 * becomes "number": the former is reserved for histograms.
 */
void metrics_add_name(struct buf *b, const struct attar_report *report, const char *section,
	const char *column, enum attar_unit unit);

/* Makes the name differ from all others of the report. Returns whether it had to be changed. */
bool metrics_make_unique(struct metrics *m, struct buf *name);

/* Appends a label to a list of labels, with a name that is not yet in it. */
void metrics_add_label(struct buf *b, const char *name, const char *value);

/* The head of a metric. OpenMetrics has its unit, too. */
void metrics_add_head(struct attar_renderer *r, const char *name, const char *type,
	const char *help, enum attar_unit unit);

/* A value, and the end of its line. */
void metrics_add_value(struct buf *b, double value);

/* The line of a sample. labels may be NULL. */
void metrics_add_sample(struct buf *b, const char *name, const struct buf *labels, double value);

/* ---- sections ---- */

/* Gauges of the newest interval. Returns 0, or -ENOMEM with an error message. */
int metrics_table(struct attar_renderer *r, const struct attar_section *s);

/* The newest point of each line. */
void metrics_time_series(struct attar_renderer *r, const struct attar_section *s);

/* Adds a histogram to the sum of earlier reports. Returns 0, or -ENOMEM with an error message. */
int metrics_add_histogram(struct metrics *m, const struct attar_section *s);

/* All histograms of a unit, as one metric: "attar_rundelay_distribution_seconds". */
void metrics_histograms(
	struct attar_renderer *r, const struct attar_report *report, enum attar_unit unit);

#endif
