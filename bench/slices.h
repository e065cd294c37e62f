/* SPDX-License-Identifier: MIT */
/*
 * Compares two implementations in one process: short alternating slices, measured in CPU time of
 * this thread. The median slice of each is used, so that outliers have no effect.
 */
#ifndef SLICES_H
#define SLICES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLICES = 31 };

/* Runs the operation n times. */
typedef void slice_fn(void *ctx, size_t n);

static inline double thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static inline int less(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double slice(slice_fn *fn, void *ctx, size_t n)
{
	double start = thread_ns();

	fn(ctx, n);
	return (thread_ns() - start) / n;
}

/* Prints "name": [ours, peer] as a member of a JSON object: the ns of one operation. */
static inline void slices_compare(
	const char *name, slice_fn *ours, slice_fn *peer, void *ctx, size_t n)
{
	static const char *comma = "";
	double a[SLICES], b[SLICES];

	slice(ours, ctx, n);
	slice(peer, ctx, n);
	for (int i = 0; i < SLICES; i++) {
		a[i] = slice(ours, ctx, n);
		b[i] = slice(peer, ctx, n);
	}
	qsort(a, SLICES, sizeof(*a), less);
	qsort(b, SLICES, sizeof(*b), less);
	printf("%s\"%s\": [%.1f, %.1f]", comma, name, a[SLICES / 2], b[SLICES / 2]);
	comma = ", ";
}

#endif
