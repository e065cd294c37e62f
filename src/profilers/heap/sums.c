/* SPDX-License-Identifier: MIT */
#include "heap/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums_row *sums_row(struct sums *sums, uint32_t stack)
{
	if (stack >= sums->n_rows) {
		size_t n = (stack + 64) * 2;
		struct sums_row *rows = reallocarray(sums->rows, n, sizeof(*rows));

		if (!rows)
			return NULL;
		memset(rows + sums->n_rows, 0, (n - sums->n_rows) * sizeof(*rows));
		sums->rows = rows;
		sums->n_rows = n;
	}
	return &sums->rows[stack];
}

unsigned sums_class_of(uint64_t size)
{
	unsigned bits = size > 1 ? 64 - (unsigned)__builtin_clzll(size - 1) : 0;

	return bits < SUMS_CLASSES ? bits : SUMS_CLASSES - 1;
}

static void add(struct sums_amount *amount, const struct live_object *object, double sign)
{
	const double w = object->weight, size = (double)object->size;

	amount->objects += sign * w;
	amount->bytes += sign * w * size;
	amount->variance += sign * w * (w - 1) * size * size;
}

/*
 * Before the live amount of a row changes: it was the same since the newest peak, unless it has
 * changed since then. So a new peak costs nothing but its number.
 */
static void save_peak(const struct sums *sums, struct sums_row *row)
{
	if (row->peak == sums->n_peaks)
		return;
	row->at_peak = row->live;
	row->peak = sums->n_peaks;
}

struct sums_amount sums_at_peak(const struct sums *sums, const struct sums_row *row)
{
	return row->peak == sums->n_peaks ? row->at_peak : row->live;
}

static void change_live(
	struct sums *sums, struct sums_row *row, const struct live_object *object, double sign)
{
	struct sums_class *class = &sums->classes[sums_class_of(object->size)];

	save_peak(sums, row);
	add(&row->live, object, sign);
	add(&class->live, object, sign);
	add(&sums->all.live, object, sign);
}

static void look_for_peak(struct sums *sums, uint64_t time)
{
	if (sums->all.live.bytes <= sums->all.at_peak.bytes)
		return;
	sums->all.at_peak = sums->all.live;
	sums->n_peaks++;
	sums->peak_time = time;
}

void sums_allocated(struct sums *sums, const struct live_object *object)
{
	struct sums_row *row = &sums->rows[object->stack];

	sums->samples++;
	add(&row->allocated, object, 1);
	add(&sums->classes[sums_class_of(object->size)].allocated, object, 1);
	add(&sums->all.allocated, object, 1);
	change_live(sums, row, object, 1);
	look_for_peak(sums, object->born);
}

void sums_freed(struct sums *sums, const struct live_object *object, uint64_t time)
{
	struct sums_row *row = &sums->rows[object->stack];

	change_live(sums, row, object, -1);
	if (time - object->born > sums->soon)
		return;
	row->temporary += object->weight;
	sums->classes[sums_class_of(object->size)].temporary += object->weight;
	sums->all.temporary += object->weight;
}

void sums_kept(struct sums *sums, const struct live_object *object)
{
	change_live(sums, &sums->rows[object->stack], object, 1);
}

void sums_left(struct sums *sums, const struct live_object *object)
{
	struct sums_row *row = &sums->rows[object->stack];

	change_live(sums, row, object, -1);
	add(&row->left, object, 1);
	add(&sums->classes[sums_class_of(object->size)].left, object, 1);
	add(&sums->all.left, object, 1);
}

void sums_reported(struct sums *sums)
{
	for (size_t i = 0; i < sums->n_rows; i++)
		sums->rows[i].reported = sums->rows[i].live.bytes;
	sums->all.reported = sums->all.live.bytes;
}

double sums_margin(const struct sums_amount *amount)
{
	return amount->variance > 0 ? 1.96 * sqrt(amount->variance) : 0;
}

void sums_done(struct sums *sums)
{
	free(sums->rows);
	sums->rows = NULL;
	sums->n_rows = 0;
}
