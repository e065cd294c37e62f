/* SPDX-License-Identifier: MIT */
/* The summary of a histogram for people. */
#include "report/model/number.h"
#include "report/sinks/render.h"

static void add_value(struct buf *b, const char *name, enum attar_unit unit, struct cell value)
{
	buf_printf(b, "%s%s ", b->len ? ", " : "", name);
	number_cell(b, unit, value);
}

void render_summary(struct buf *b, const struct attar_section *s)
{
	enum attar_unit unit = s->columns.at[0].unit;
	struct buf name _cleanup_(buf_done) = {0};

	if (s->summary.is_set) {
		buf_grouped(b, s->summary.count);
		buf_str(b, s->summary.count == 1 ? " value" : " values");
	}
	if (s->summary.is_set && s->summary.count) {
		add_value(b, "min", unit, s->summary.min);
		add_value(b, "mean", unit,
			cell_double(number_value(s->summary.sum) / (double)s->summary.count));
	}
	for (size_t i = 0; i < s->quantiles.n; i++) {
		buf_reset(&name);
		buf_char(&name, 'p');
		quantile_name(&name, s->quantiles.at[i].share);
		add_value(b, buf_text(&name), unit, s->quantiles.at[i].value);
	}
	if (s->summary.is_set && s->summary.count)
		add_value(b, "max", unit, s->summary.max);
	b->failed |= name.failed;
}
