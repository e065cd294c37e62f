/* SPDX-License-Identifier: MIT */
#include "attar/sections.h"

#include <math.h>

#include "base/check_arg.h"

void attar_series_add(struct attar_series *series, double value)
{
	CHECK_ARG_OR(series, "series", );

	double distance = value - series->mean;

	series->n++;
	series->mean += distance / (double)series->n;
	series->squares += distance * (value - series->mean);
}

double attar_series_deviation(const struct attar_series *series)
{
	CHECK_ARG_OR(series, "series", 0);

	if (series->n < 2 || series->mean == 0)
		return 0;
	return 100 * sqrt(series->squares / (double)(series->n - 1)) / fabs(series->mean);
}
