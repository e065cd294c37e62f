/* SPDX-License-Identifier: MIT */
/* What sum(), avg(), total(), min() and max() need of integers. */
#include <math.h>

#include "sql/sum.h"

/* SQLite's: larger integers are added in two parts, a multiple of LOW_PART and what is left. */
#define EXACT_MAX (1LL << 52)
#define LOW_PART  (1 << 14)

/* Adds a double; rest takes the digits that its sum has no room for (Neumaier, 1974). */
static void add_double(struct sql_sum *sum, double v)
{
	double total = sum->real + v;

	sum->rest += fabs(sum->real) > fabs(v) ? sum->real - total + v : v - total + sum->real;
	sum->real = total;
}

/* A number that no double has is added as two that are. */
static void add_integer(struct sql_sum *sum, int64_t v)
{
	int64_t low = v > -EXACT_MAX && v < EXACT_MAX ? 0 : v % LOW_PART;

	add_double(sum, (double)(v - low));
	if (low)
		add_double(sum, (double)low);
}

void sql_sum_add(struct sql_sum *sum, int64_t number, bool adds_integers)
{
	int64_t before = sum->sum;

	if (!sum->n || number < sum->min)
		sum->min = number;
	if (!sum->n || number > sum->max)
		sum->max = number;
	sum->n++;
	if (!adds_integers)
		sum->real += (double)number;
	if (!sum->is_too_large && __builtin_add_overflow(before, number, &sum->sum)) {
		sum->is_too_large = true;
		if (adds_integers)
			add_integer(sum, before);
	}
	if (sum->is_too_large && adds_integers)
		add_integer(sum, number);
}

double sql_sum_real(const struct sql_sum *sum, bool adds_integers)
{
	return adds_integers && !sum->is_too_large ? (double)sum->sum : sum->real + sum->rest;
}
