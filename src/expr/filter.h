/* SPDX-License-Identifier: MIT */
/*
 * Event filters evaluated in user space, in the kernel's filter syntax
 * (Documentation/trace/events.rst): comparisons of fields with numbers (== != < <= > >= &) and
 * strings (== != ~, a glob), combined by && || ! and parentheses.
 */
#ifndef EXPR_FILTER_H
#define EXPR_FILTER_H

#include "attar/format.h"

struct filter;

/*
 * Parses a filter for records of this format, which must outlive it. Returns 0, or -EINVAL with an
 * error text that gives the reason; for an unknown field it lists the valid ones. Free the filter
 * with filter_free().
 */
int filter_parse(const char *text, const struct attar_format *format, struct filter **ret_filter);
struct filter *filter_free(struct filter *filter);

/* Whether the record passes the filter. A field outside the record matches nothing. */
bool filter_keeps(const struct filter *filter, const void *raw, size_t size);

#endif
