/* SPDX-License-Identifier: MIT */
/* What a profiler has seen but leaves out of its tables, and says in a remark. */
#ifndef PROFILERS_LIB_LEFT_OUT_H
#define PROFILERS_LIB_LEFT_OUT_H

#include "attar/report.h"
#include "attar/run.h"

/* What was left out for one reason. Initialized to zeroes. */
struct left_out {
	uint64_t n, sum; /* waits and ns, or allocations and bytes */
	uint64_t n_reported, sum_reported;
};

static inline void left_out_add(struct left_out *left_out, uint64_t amount)
{
	left_out->n++;
	left_out->sum += amount;
}

/* What is new in the report. */
struct left_out left_out_take(struct left_out *all, enum attar_scope scope);

/* Add a remark, if there is something: "2 waits of 9.0 ms in all are left out: WHY". */
void left_out_remark_time(struct left_out *left_out, struct attar_report *report,
	enum attar_scope scope, const char *what, const char *why);
void left_out_remark_bytes(struct left_out *left_out, struct attar_report *report,
	enum attar_scope scope, const char *what, const char *why);

#endif
