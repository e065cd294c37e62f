/* SPDX-License-Identifier: MIT */
/*
 * Sums of sampled allocations: in all, by stack and by size. A sample counts as often as its weight
 * says, so that sums are estimates without bias; their variance is the sum of w (w - 1) x^2 over
 * samples of weight w and value x (Horvitz and Thompson, for independent samples).
 */
#ifndef PROFILERS_HEAP_SUMS_H
#define PROFILERS_HEAP_SUMS_H

#include "heap/live.h"

enum { SUMS_CLASSES = 49, SUMS_COMM = 16 };

struct sums_amount {
	double objects, bytes, variance; /* of bytes */
};

struct sums_row {
	struct sums_amount allocated, live;
	struct sums_amount left; /* that was live when its process ended */
	double temporary;        /* objects that were freed soon */
	/* The live amount at the peak, unless it has not changed since: see sums_peak(). */
	struct sums_amount at_peak;
	uint64_t peak;        /* number of the peak that at_peak belongs to */
	double reported;      /* live bytes at the previous report */
	char comm[SUMS_COMM]; /* of the thread that allocated first */
};

struct sums_class {
	struct sums_amount allocated, live, left;
	double temporary;
};

struct sums {
	struct sums_row *rows; /* by number of the stack */
	size_t n_rows;
	struct sums_row all;
	struct sums_class classes[SUMS_CLASSES]; /* by bits of the size: see sums_class_of() */
	uint64_t samples;
	uint64_t n_peaks;   /* how often the live bytes were more than ever before */
	uint64_t peak_time; /* ns */
	uint64_t soon;      /* ns: the age up to which what is freed was temporary */
};

/* The row of a stack. NULL: out of memory. Borrowed until the next call. */
struct sums_row *sums_row(struct sums *sums, uint32_t stack);

/* Class i has sizes up to 2^i bytes, and more than class i - 1. */
unsigned sums_class_of(uint64_t size);

/* An object was allocated, freed, or was live when its process ended. Their rows exist. */
void sums_allocated(struct sums *sums, const struct live_object *object);
void sums_freed(struct sums *sums, const struct live_object *object, uint64_t time);
void sums_left(struct sums *sums, const struct live_object *object);

/* It was not freed after all. */
void sums_kept(struct sums *sums, const struct live_object *object);

/* What was live in a row when most was live in all. */
struct sums_amount sums_at_peak(const struct sums *sums, const struct sums_row *row);

/* A report was made: growth begins again. */
void sums_reported(struct sums *sums);

/* Half of the interval that has the true number of bytes with a probability of 95 %. */
double sums_margin(const struct sums_amount *amount);

void sums_done(struct sums *sums);

#endif
