/* SPDX-License-Identifier: MIT */
/* What the name of a column says about its numbers, of those units that sums and others share. */
#ifndef REPORT_MODEL_COLUMN_AMOUNT_H
#define REPORT_MODEL_COLUMN_AMOUNT_H

#include "base/base.h"

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
