/* SPDX-License-Identifier: MIT */
/* Column widths of a text table on a terminal that may be too narrow. */
#ifndef REPORT_SINKS_LAYOUT_H
#define REPORT_SINKS_LAYOUT_H

#include "base/base.h"

enum { LAYOUT_GAP = 2 }; /* blanks between two columns */

struct layout_column {
	unsigned wish;  /* width of its widest cell */
	bool text;      /* may be truncated; numbers are not */
	bool describes; /* text about a number, such as its unit: it names no row */
	bool number;    /* a measured number, not an identifier; perhaps as a text: "97 %" */
	unsigned head;  /* of a number: by how much its name may be shortened */
	bool keep;      /* hidden only when all others are */
	bool main;      /* of event lines: what they are about, or their number */
	bool grows; /* more rows follow, which may be wider: without a limit it stays narrower */

	unsigned width; /* out: assigned width */
	bool hidden;    /* out */
};

/*
 * Shrinks the last text column first, then the others. When all have their minimum width, hides
 * columns from the right, those to keep last, but never the first column, the last text column
 * (which names the row: one that describes a number only if all do) and the first number. If these
 * are too wide, the name of the number is shortened, then the last text column; if it is still not
 * enough, and the first column is not the number, the last text column is hidden. columns 0: no
 * limit; only very long strings exceed their columns. Returns the number of hidden columns.
 *
 * With main columns, these are never hidden, and all others are: the first column last.
 */
size_t layout_fit(struct layout_column *at, size_t n, unsigned columns);

/* The same with the hidden columns of a layout before: only the widths are chosen again. */
void layout_fit_shown(struct layout_column *at, size_t n, unsigned columns);

#endif
