/* SPDX-License-Identifier: MIT */
/*
 * Shared by the parts of the comparison: diff_table.c, diff_histogram.c and diff_stack.c compare
 * sections of one kind; diff_rows.c matches rows, diff_files.c files; diff_statistics.c computes
 * the confidence of changes, diff_change.c writes them; diff_tree.c joins call trees.
 */
#ifndef REPORT_DIFF_PARTS_H
#define REPORT_DIFF_PARTS_H

#include "attar/private/diff.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

enum { BEFORE, AFTER, SIDES };
enum { DIFF_INTERVALS = 8 }; /* see attar/private/diff.h */

#define side_each(side, it)                                                                        \
	for (const struct attar_report *const *it = (side)->reports;                               \
		it < (side)->reports + (side)->n; it++)

/* What is compared: a value on both sides. */
struct change {
	uint32_t key;                      /* the number of its labels */
	double value[SIDES], error[SIDES]; /* standard errors; NaN: unknown */
	double by, confidence;             /* confidence: NaN: unknown */
};

/* The keys of the rows of a table: the keys of each interval follow the keys of the one before. */
typedef VEC(uint32_t) diff_keys;

/* A column of a table, and the values of its rows in each interval. */
struct column_diff {
	const diff_keys *keys;                /* of the rows, see diff_rows_keys() */
	const char *section, *column, *basis; /* basis: the column with the number of samples */
	enum attar_unit unit;
	size_t intervals[SIDES];
	double full_intervals[SIDES]; /* see diff_full_intervals() */
	struct map rows;     /* key -> index of changes */
	VEC(double) values;  /* of row i: all intervals of both sides, from i * width on */
	VEC(double) weights; /* of each interval: the sum of the basis column */
	VEC(struct change) changes;
};

struct diff {
	const struct attar_diff_side *sides; /* SIDES */
	const struct attar_diff_opts *opts;
	struct attar_report *out;
	struct attar_diff_result result;
	struct intern keys; /* labels of rows, joined */
	/* of code: paths, and names without the directory; a path before -> that after */
	struct intern files;
	struct map same_files;
};

/* The section of this name and kind; NULL: there is none. */
const struct attar_section *diff_find(
	const struct attar_report *report, const char *name, enum attar_section_kind kind);

/* ---- sections: they add their changes to d->out, and return 0 or -ENOMEM ---- */

int diff_table(struct diff *d, const struct attar_section *like);
int diff_histogram(struct diff *d, const struct attar_section *like);

/* See diff_folded_reports(). */
int diff_folded(const struct attar_diff_side sides[SIDES], FILE *out);

/* Compares the shares of stacks, and joins the trees if the options want it. */
int diff_stacks(struct diff *d, const struct attar_section *like);

/* A tree with the weights after, and for each node how its share has changed. */
int diff_tree(struct diff *d, const struct attar_section *like);

/* ---- rows ---- */

/* True if the column distinguishes rows; its strings are part of their keys. */
bool diff_is_label(const struct attar_section *s, size_t column);

/* Finds files of code that differ only by their directory, and says so. Returns 0 or -ENOMEM. */
int diff_find_files(struct diff *d);

/* True if the column has paths of files of code. */
bool diff_is_file(const struct attar_section *s, size_t column);

/*
 * The path of this file on the side after; the same if there is no other. Owned by d or the caller.
 */
const char *diff_same_file(struct diff *d, const char *path);

/* Appends the keys of the rows of all intervals of both sides. Returns 0 or -ENOMEM. */
int diff_rows_keys(struct diff *d, const char *section, diff_keys *keys);

/* Prepares a column for the intervals of both sides, and adds their rows. Returns 0 or -ENOMEM. */
int diff_rows_add(struct diff *d, struct column_diff *c);

/* Appends the labels of a row as cells. */
void diff_add_labels(struct diff *d, struct attar_section *table, uint32_t key);

void diff_column_done(struct column_diff *c);

/* ---- statistics ---- */

/* The number of intervals; the last one counts as its part if the run ended in it. */
double diff_full_intervals(const struct attar_diff_side *side);

/* Sets the value of a row on a side, and its standard error. */
void diff_measure(const struct column_diff *c, size_t row, int side);

/* The standard error of a share (0..1) of these samples, in percent; NaN if there are none. */
double diff_share_error(double share, double samples);

/*
 * Sets the confidence that both values differ, as one of n comparisons. is_comparable: counts the
 * change if it is significant.
 */
void diff_set_confidence(
	struct diff *d, struct change *c, enum attar_unit unit, size_t n, bool is_comparable);

/* ---- changes ---- */

/* Sorts the largest change first. */
void diff_sort(struct change *changes, size_t n);

/* The columns of a table of changes that come before the labels, and a row of them. */
void diff_add_columns(struct attar_section *table, enum attar_unit unit);
void diff_add_change(struct attar_section *table, const struct change *c);

#endif
