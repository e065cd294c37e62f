/* SPDX-License-Identifier: MIT */
/* Histograms: quantiles are compared. */
#include <math.h>

#include "report/diff_parts.h"
#include "report/model.h"
#include "report/number.h"

struct bucket {
	double low, high, count;
};

struct distribution {
	VEC(struct bucket) buckets; /* of all intervals, by their lower end */
	double count;
};

static int by_low(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static int gather(const struct diff_side *side, const char *name, struct distribution *ret)
{
	vec_each (&side->reports, report) {
		const struct attar_section *s = diff_find(*report, name, ATTAR_SECTION_HISTOGRAM);

		for (uint32_t row = 0; s && row < s->rows; row++) {
			struct bucket b = {number_value(section_cell(s, row, 0)),
				number_value(section_cell(s, row, 1)),
				number_value(section_cell(s, row, 2))};

			if (!(b.low < b.high) || !(b.count > 0))
				continue;
			ret->count += b.count;
			if (vec_push(&ret->buckets, b) < 0)
				return -ENOMEM;
		}
	}
	if (ret->buckets.n)
		qsort(ret->buckets.at, ret->buckets.n, sizeof(*ret->buckets.at), by_low);
	return 0;
}

/* Interpolated in its bucket. */
static double quantile_of(const struct distribution *of, double share)
{
	double rank = fmin(fmax(share, 0), 1) * of->count, below = 0;

	for (size_t i = 0; i < of->buckets.n; i++) {
		const struct bucket *b = &of->buckets.at[i];

		/* Intervals have the same buckets: join equal ones. */
		double count = b->count;

		while (i + 1 < of->buckets.n && of->buckets.at[i + 1].low == b->low)
			count += of->buckets.at[++i].count;
		if (below + count >= rank)
			return b->low + (b->high - b->low) * (rank - below) / count;
		below += count;
	}
	return NAN;
}

/* The exact value of a single report, which has more than its buckets. */
static double exact_quantile(
	const struct diff_side *side, const char *name, double share, double otherwise)
{
	const struct attar_section *s =
		side->reports.n == 1 ? diff_find(side->reports.at[0], name, ATTAR_SECTION_HISTOGRAM)
				     : NULL;

	for (size_t i = 0; s && i < s->quantiles.n; i++)
		if (s->quantiles.at[i].share == share)
			return s->quantiles.at[i].value;
	return otherwise;
}

/* How far the value moves with the rank, whose standard error is that of a share. */
static double quantile_error(const struct distribution *of, double share)
{
	double error = sqrt(share * (1 - share) / of->count);

	if (of->count * (1 - share) < 5) /* too few values beyond it */
		return NAN;
	return (quantile_of(of, share + error) - quantile_of(of, share - error)) / 2;
}

int diff_histogram(struct diff *d, const struct attar_section *like)
{
	static const double shares[] = {0.5, 0.95, 0.99, 0.999};
	const char *section = section_text(like, like->name);
	enum attar_unit unit = like->columns.at[0].unit;
	struct distribution of[SIDES] = {0};
	struct attar_section *table;
	struct buf name _cleanup_(buf_done) = {0};
	int e = 0;

	for (int side = BEFORE; side < SIDES && e == 0; side++)
		e = gather(&d->sides[side], section, &of[side]);
	buf_printf(&name, "%s: quantiles", section);
	table = attar_report_table(d->out, buf_text(&name));
	diff_add_columns(table, unit);
	attar_section_column(table, "quantile", ATTAR_UNIT_TEXT);
	for (size_t i = 0; i < ARRAY_SIZE(shares) && e == 0; i++) {
		struct change c = {0};
		struct buf title _cleanup_(buf_done) = {0};

		for (int side = BEFORE; side < SIDES; side++) {
			c.value[side] = exact_quantile(&d->sides[side], section, shares[i],
				quantile_of(&of[side], shares[i]));
			c.error[side] = quantile_error(&of[side], shares[i]);
		}
		diff_judge(d, &c, unit, ARRAY_SIZE(shares), true);
		diff_add_change(table, &c);
		buf_char(&title, 'p');
		quantile_name(&title, shares[i]);
		attar_cell_text(table, buf_text(&title));
	}
	vec_done(&of[BEFORE].buckets);
	vec_done(&of[AFTER].buckets);
	return e;
}
