/* SPDX-License-Identifier: MIT */
/*
 * Event filters: in the kernel's filter syntax (Documentation/trace/events.rst), which has
 * comparisons of fields with numbers (== != < <= > >= &) and strings (== != ~, a glob), combined by
 * && || ! and parentheses; or any expression (attar/expr.h). A string that is valid in both is in
 * the kernel's. attar applies the filters that the kernel cannot.
 */
#ifndef EXPR_FILTER_H
#define EXPR_FILTER_H

#include "attar/expr.h"

struct filter;

/* How a filter runs. */
struct filter_choice {
	/* The kernel's language expresses it exactly: pass the text to the kernel. */
	bool in_kernel;
	/* Applies the filter in attar; NULL: only the kernel can. Free it with filter_free(). */
	struct filter *keep;
	bool is_of_users; /* only the language of users has it */
	const char *why;  /* not in the kernel; a static string, NULL if in_kernel */
};

/*
 * Decides how the filter of an event with this format runs. has_kernel: the kernel could apply a
 * filter to this event. opts: for expressions; NULL: none of its functions. format must outlive the
 * result. Returns 0; -EINVAL with an error message if neither the kernel nor attar can apply the
 * filter; -ENOMEM.
 */
int filter_choose(const char *text, const struct attar_format *format, bool has_kernel,
	const struct attar_expr_opts *opts, struct filter_choice *ret_choice);

/*
 * Parses a filter in the kernel's language. format must outlive it. Returns 0, or -EINVAL with an
 * error message that gives the reason; for an unknown field it lists the valid ones. Free the
 * filter with filter_free().
 */
int filter_parse(const char *text, const struct attar_format *format, struct filter **ret_filter);
struct filter *filter_free(struct filter *filter);

/* Whether the record passes the filter. A comparison with a field outside the record is false. */
bool filter_keeps(const struct filter *filter, const struct attar_expr_record *record);

#endif
