/* SPDX-License-Identifier: MIT */
/* Histograms: quantiles are compared. */
#include <math.h>

#include "report/diff/parts.h"
#include "report/model/distribution.h"
#include "report/model/model.h"
#include "report/model/number.h"

static int gather(const struct attar_diff_side *side, const char *name, struct distribution *ret)
{
	int e = 0;

	side_each(side, report)
	{
		const struct attar_section *s = diff_find(*report, name, ATTAR_SECTION_HISTOGRAM);

		if (s && e == 0)
			e = distribution_add(ret, s);
	}
	distribution_join(ret);
	return e;
}

/* The exact value of a single report, which has more than its buckets. */
static double exact_quantile(
	const struct attar_diff_side *side, const char *name, double share, double otherwise)
{
	const struct attar_section *s =
		side->n == 1 ? diff_find(side->reports[0], name, ATTAR_SECTION_HISTOGRAM) : NULL;

	for (size_t i = 0; s && i < s->quantiles.n; i++)
		if (s->quantiles.at[i].share == share)
			return number_value(s->quantiles.at[i].value);
	return otherwise;
}

/* How far the value moves with the rank, which has the standard error of a share. */
static double quantile_error(const struct distribution *of, double share)
{
	double error = sqrt(share * (1 - share) / of->count);

	if (of->count * (1 - share) < 5) /* too few values beyond it */
		return NAN;
	return (distribution_quantile(of, share + error) -
		       distribution_quantile(of, share - error)) /
	       2;
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
				distribution_quantile(&of[side], shares[i]));
			c.error[side] = quantile_error(&of[side], shares[i]);
		}
		diff_set_confidence(d, &c, unit, ARRAY_SIZE(shares), true);
		diff_add_change(table, &c);
		buf_char(&title, 'p');
		quantile_name(&title, shares[i]);
		attar_cell_text(table, buf_text(&title));
	}
	distribution_done(&of[BEFORE]);
	distribution_done(&of[AFTER]);
	return e;
}
