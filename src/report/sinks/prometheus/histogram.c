/* SPDX-License-Identifier: MIT */
/* Histograms, summed over all reports. */
#include <math.h>

#include "report/model/number.h"
#include "report/sinks/prometheus/prometheus.h"

enum {
	HISTOGRAMS_MAX = 20, /* without "other" */
	FIRST_POWER = 10,    /* bounds of times are powers of two from 1024 on */
};

/* Units without a suffix are one. */
static enum attar_unit kept_unit(enum attar_unit unit)
{
	return metrics_suffix(unit) ? unit : ATTAR_UNIT_COUNT;
}

static struct histogram *histogram_of(struct metrics *m, const struct attar_section *s)
{
	bool is_full = m->histograms.n >= HISTOGRAMS_MAX;
	enum attar_unit unit = kept_unit(s->columns.at[0].unit);
	const char *name = section_text(s, s->name);
	struct histogram *new;

	for (int other = 0; other <= is_full; other++)
		vec_each (&m->histograms, it)
			if (it->unit == unit && !strcmp(it->name, other ? "other" : name))
				return it;
	new = vec_add(&m->histograms);
	if (!new)
		return NULL;
	new->unit = unit;
	new->name = strdup(is_full ? "other" : name);
	return new->name ? new : NULL;
}

/*
 * A bound is the largest value of its bucket (le: less or equal), and a row has the values below
 * its upper end. Sizes and counts are often powers of two: their bounds are 0, 1, 3, 7 and so on.
 */
static double bound_of(enum attar_unit unit, size_t i)
{
	return unit == ATTAR_UNIT_NS ? ldexp(1, (int)i + FIRST_POWER) : ldexp(1, (int)i) - 1;
}

/* The bucket of the values below the end: the first one whose bound is at least as large. */
static size_t bucket_of(enum attar_unit unit, double end)
{
	double largest = unit == ATTAR_UNIT_NS || end != floor(end) ? end : end - 1;
	size_t i = 0;

	while (i < METRICS_POWERS && bound_of(unit, i) < largest)
		i++;
	return i;
}

/* Counts of another host may be any numbers: buckets never decrease. */
static void add_count(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

int metrics_add_histogram(struct metrics *m, const struct attar_section *s)
{
	struct histogram *h = histogram_of(m, s);
	double sum = 0;

	if (!h)
		return base_oom();
	for (uint32_t row = 0; row < s->rows; row++) {
		double low = number_value(section_cell(s, row, 0));
		double high = number_value(section_cell(s, row, 1));
		uint64_t n = section_cell(s, row, 2).u64;

		add_count(&h->counts[bucket_of(h->unit, high)], n);
		sum += (low + high) / 2 * (double)n;
	}
	if (s->summary.is_set)
		sum = number_value(s->summary.sum);
	h->sum += isnan(sum) ? 0 : sum;
	return 0;
}

static void draw_histogram(struct attar_renderer *r, const char *name, const struct histogram *h)
{
	struct buf label _cleanup_(buf_done) = {0};
	uint64_t below = 0;

	metrics_add_label(&label, "of", h->name);
	for (size_t i = 0; i < METRICS_POWERS; i++) {
		add_count(&below, h->counts[i]);
		buf_printf(&r->out, "%s_bucket{%s,le=\"", name, buf_text(&label));
		number_double(&r->out, metrics_scaled(h->unit, bound_of(h->unit, i)));
		buf_printf(&r->out, "\"} %llu\n", (unsigned long long)below);
	}
	add_count(&below, h->counts[METRICS_POWERS]);
	buf_printf(&r->out, "%s_bucket{%s,le=\"+Inf\"} %llu\n", name, buf_text(&label),
		(unsigned long long)below);
	buf_printf(&r->out, "%s_sum{%s} ", name, buf_text(&label));
	metrics_add_value(&r->out, metrics_scaled(h->unit, h->sum));
	buf_printf(
		&r->out, "%s_count{%s} %llu\n", name, buf_text(&label), (unsigned long long)below);
}

void metrics_histograms(
	struct attar_renderer *r, const struct attar_report *report, enum attar_unit unit)
{
	struct metrics *m = r->state;
	struct buf name _cleanup_(buf_done) = {0};
	bool begun = false;

	metrics_add_name(&name, report, "distribution", NULL, unit);
	vec_each (&m->histograms, it) {
		if (it->unit != unit)
			continue;
		if (!begun && metrics_make_unique(m, &name))
			metrics_add_head(r, buf_text(&name), "histogram", "Values since the start.",
				ATTAR_UNIT_COUNT);
		else if (!begun)
			metrics_add_head(
				r, buf_text(&name), "histogram", "Values since the start.", unit);
		begun = true;
		draw_histogram(r, buf_text(&name), it);
	}
}
