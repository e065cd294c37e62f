/* SPDX-License-Identifier: MIT */
/* The values on both sides with their standard errors, and the confidence of a change. */
#include <math.h>

#include "report/model/column_amount.h"
#include "report/diff/parts.h"

/* The mean over the intervals of a side, and its standard error from their spread. */
static void measure_spread(const double *values, size_t n, double *ret_mean, double *ret_error)
{
	double sum = 0, squares = 0;

	for (size_t i = 0; i < n; i++)
		sum += isnan(values[i]) ? 0 : values[i];
	*ret_mean = sum / (double)n;
	for (size_t i = 0; i < n; i++) {
		double off = (isnan(values[i]) ? 0 : values[i]) - *ret_mean;

		squares += off * off;
	}
	*ret_error = n > 1 ? sqrt(squares / (double)(n - 1) / (double)n) : NAN;
}

/* The mean of shares, weighted by samples, and the number of these. */
static double mean_share(const double *values, const double *weights, size_t n, double *ret_samples)
{
	double sum = 0, samples = 0;

	for (size_t i = 0; i < n; i++) {
		double weight = isnan(weights[i]) ? 0 : weights[i];

		sum += isnan(values[i]) ? 0 : values[i] * weight;
		samples += weight;
	}
	*ret_samples = samples;
	return samples ? sum / samples : 0;
}

double diff_share_error(double share, double samples)
{
	/* One sample that was not there is the least uncertainty. */
	return samples ? 100 * sqrt(fmax(share * (1 - share), 1 / samples) / samples) : NAN;
}

/* An additive number is 0 where its row is missing; a maximum or a quantile is unknown. */
static bool is_amount(const struct column_diff *c)
{
	return c->unit == ATTAR_UNIT_PERCENT ||
	       (c->unit == ATTAR_UNIT_COUNT && amount_kind_of(c->column) == AMOUNT_SUM) ||
	       !strcmp(c->column, "total") || !strcmp(c->column, "self") ||
	       !strcmp(c->column, "time");
}

/* How often something happened: not a rate, a sum of sizes, or milliseconds. */
static bool are_counts(const struct column_diff *c, const double *values, size_t n)
{
	if (c->unit != ATTAR_UNIT_COUNT || amount_kind_of(c->column) != AMOUNT_SUM ||
		!strcmp(c->column, "total") || !strncmp(c->column, "per ", 4))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]) && values[i] != floor(values[i]))
			return false;
	return true;
}

static bool has_any(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			return true;
	return false;
}

static double interval_of(const struct attar_diff_side *side, size_t i)
{
	uint64_t interval;

	attar_report_get_interval(side->reports[i], NULL, &interval);
	return (double)interval;
}

/* Intervals are equally long; several runs of a command are not. */
double diff_full_intervals(const struct attar_diff_side *side)
{
	static const double equal = 0.1;
	size_t last = side->n - 1;
	double first, part;

	if (side->n < 2)
		return (double)side->n;
	first = interval_of(side, 0);
	for (size_t i = 1; i < last; i++)
		if (fabs(interval_of(side, i) - first) > equal * first)
			return (double)side->n;
	part = first > 0 ? interval_of(side, last) / first : 1;
	return (double)last + (part < 1 - equal ? part : 1);
}

void diff_measure(const struct column_diff *c, size_t row, int side)
{
	struct change *change = &c->changes.at[row];
	size_t n = c->intervals[side], first = side == BEFORE ? 0 : c->intervals[BEFORE];
	size_t width = c->intervals[BEFORE] + c->intervals[AFTER];
	const double *values = &c->values.at[row * width + first];
	double spread, *value = &change->value[side], *error = &change->error[side];

	*value = *error = NAN;
	if (!n || (!is_amount(c) && !has_any(values, n)))
		return;
	measure_spread(values, n, value, &spread);
	if (is_amount(c) && c->unit != ATTAR_UNIT_PERCENT)
		*value *= (double)n / c->full_intervals[side];
	if (c->basis) {
		double samples;

		*value = mean_share(values, &c->weights.at[first], n, &samples);
		*error = diff_share_error(*value / 100, samples);
	} else if (are_counts(c, values, n)) {
		*error = sqrt(fmax(*value * (double)n, 1)) / (double)n;
	}
	if (n >= DIFF_INTERVALS)
		*error = spread;
}

static double relative(enum attar_unit unit, double before, double after)
{
	if (unit == ATTAR_UNIT_PERCENT)
		return after - before; /* points */
	if (before == after)
		return 0;
	return before ? 100 * (after - before) / fabs(before) : INFINITY;
}

void diff_set_confidence(
	struct diff *d, struct change *c, enum attar_unit unit, size_t n, bool is_comparable)
{
	double error = hypot(c->error[BEFORE], c->error[AFTER]);
	double difference = c->value[AFTER] - c->value[BEFORE], chance;

	c->by = relative(unit, c->value[BEFORE], c->value[AFTER]);
	c->confidence = NAN;
	if (isnan(error) || isnan(difference))
		return;
	chance = error > 0 ? erfc(fabs(difference) / error / M_SQRT2) : difference != 0 ? 0 : 1;
	c->confidence = fmax(0, 1 - chance * (double)n);
	if (!is_comparable || c->confidence < d->opts->confidence || difference == 0)
		return;
	d->result.significant++;
	if (d->opts->fail_above >= 0 && fabs(c->by) > d->opts->fail_above * 100)
		d->result.beyond++;
}
