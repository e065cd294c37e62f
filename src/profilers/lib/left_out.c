/* SPDX-License-Identifier: MIT */
#include "lib/left_out.h"

struct left_out left_out_take(struct left_out *all, enum attar_scope scope)
{
	struct left_out part = *all;

	if (scope != ATTAR_SCOPE_INTERVAL)
		return part;
	part.n -= all->n_reported;
	part.sum -= all->sum_reported;
	all->n_reported = all->n;
	all->sum_reported = all->sum;
	return part;
}

static void remark(struct attar_report *report, uint64_t n, double amount, const char *unit,
	const char *what, const char *why)
{
	if (n)
		attar_report_remark(report, "%llu %s%s of %.1f %s%s left out: %s",
			(unsigned long long)n, what, n == 1 ? "" : "s", amount, unit,
			n == 1 ? " is" : " in all are", why);
}

void left_out_remark_time(struct left_out *left_out, struct attar_report *report,
	enum attar_scope scope, const char *what, const char *why)
{
	const struct left_out part = left_out_take(left_out, scope);

	remark(report, part.n, (double)part.sum / 1e6, "ms", what, why);
}

void left_out_remark_bytes(struct left_out *left_out, struct attar_report *report,
	enum attar_scope scope, const char *what, const char *why)
{
	const struct left_out part = left_out_take(left_out, scope);

	remark(report, part.n, (double)part.sum / 1024, "KiB", what, why);
}
