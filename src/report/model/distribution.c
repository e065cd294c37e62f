/* SPDX-License-Identifier: MIT */
#include "report/model/distribution.h"

#include <math.h>

#include "report/model/number.h"

enum { LOW, HIGH, COUNT }; /* the columns of a histogram */

int distribution_add(struct distribution *d, const struct attar_section *s)
{
	for (uint32_t row = 0; row < s->rows; row++) {
		struct cell count = section_cell(s, row, COUNT);
		struct bucket b = {.low = number_value(section_cell(s, row, LOW)),
			.high = number_value(section_cell(s, row, HIGH)),
			.count = count.kind == CELL_U64 ? count.u64 : 0};

		if (!(b.low < b.high) || !b.count)
			continue;
		d->count += (double)b.count;
		if (vec_push(&d->buckets, b) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int by_range(const void *a, const void *b)
{
	const struct bucket *x = a, *y = b;

	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	return (x->high > y->high) - (x->high < y->high);
}

void distribution_join(struct distribution *d)
{
	size_t n = 0;

	if (d->buckets.n)
		qsort(d->buckets.at, d->buckets.n, sizeof(*d->buckets.at), by_range);
	vec_each (&d->buckets, b) {
		struct bucket *last = n ? &d->buckets.at[n - 1] : NULL;

		if (!last || last->low != b->low || last->high != b->high)
			d->buckets.at[n++] = *b;
		else if (__builtin_add_overflow(last->count, b->count, &last->count))
			last->count = UINT64_MAX;
	}
	d->buckets.n = n;
}

double distribution_quantile(const struct distribution *d, double share)
{
	double rank = fmin(fmax(share, 0), 1) * d->count, below = 0;

	vec_each (&d->buckets, b) {
		double count = (double)b->count;

		if (below + count >= rank)
			return b->low + (b->high - b->low) * (rank - below) / count;
		below += count;
	}
	return NAN;
}

void distribution_done(struct distribution *d)
{
	vec_done(&d->buckets);
}
