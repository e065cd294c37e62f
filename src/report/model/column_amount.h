/* SPDX-License-Identifier: MIT */
/* What the name of a column says about its cells, of those units that sums and others share. */
#ifndef REPORT_MODEL_COLUMN_AMOUNT_H
#define REPORT_MODEL_COLUMN_AMOUNT_H

#include "attar/report.h"
#include "base/base.h"

/* What the cells of a column are to the rows of their table. */
enum column_role {
	COLUMN_LABEL,  /* distinguishes rows: a text, an identifier, a size of requests */
	COLUMN_TASK,   /* the number of a process or thread, which is another one in each run */
	COLUMN_REMARK, /* a text about the amounts of the row, such as who has most of them */
	COLUMN_AMOUNT, /* a number of the row */
};

enum column_role column_role_of(const char *column, enum attar_unit unit);

enum amount_kind {
	AMOUNT_SUM, /* such as a count or a total: values of two measurements can be added */
	AMOUNT_LEAST,
	AMOUNT_MOST,
	AMOUNT_MEAN,
	AMOUNT_OTHER, /* such as a quantile or a ratio */
};

enum amount_kind amount_kind_of(const char *column);

/* Whether the word is one of the list, which ends with NULL. */
bool amount_is_one_of(const char *word, const char *const *words);

#endif
