/* SPDX-License-Identifier: MIT */
/*
 * The sum of integers as SQLite has it.
 *
 * The sum of avg() and total() depends on its version. Up to 3.42, numbers are added as doubles.
 * Later versions (adds_integers) add integers while the sum is one of 64 bits, then doubles, with
 * the errors of rounding added up beside them.
 */
#ifndef PROFILERS_SQL_SUM_H
#define PROFILERS_SQL_SUM_H

#include <stdbool.h>
#include <stdint.h>

/* What is known about a column of a group's events; values that are NULL do not count. */
struct sql_sum {
	uint64_t n;
	int64_t sum, min, max;
	double real, rest; /* their sum is the sum of avg() and total(), see sql_sum_real() */
	bool is_too_large; /* the sum, for sql_sum.sum */
};

/* Adds a number; zeroed: none was added. */
void sql_sum_add(struct sql_sum *sum, int64_t number, bool adds_integers);

/* The sum of avg() and total(). */
double sql_sum_real(const struct sql_sum *sum, bool adds_integers);

#endif
