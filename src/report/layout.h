/* SPDX-License-Identifier: MIT */
/* How wide the columns of a text table become on a terminal that may be too narrow for them. */
#ifndef REPORT_LAYOUT_H
#define REPORT_LAYOUT_H

#include "base/base.h"

enum { LAYOUT_GAP = 2 }; /* blanks between two columns */

struct layout_column {
	unsigned wish; /* its widest cell */
	bool text;     /* may be cut; numbers never are */

	unsigned width; /* out: what it gets */
	bool hidden;    /* out */
};

/*
 * Cuts the last text column first, then the others; when all are as short as is useful, hides
 * columns from the right, but neither the first nor the last text column. columns 0: no limit.
 * Returns how many columns it hid.
 */
size_t layout_fit(struct layout_column *at, size_t n, unsigned columns);

#endif
