/* SPDX-License-Identifier: MIT */
/*
 * Filters of events that no kernel applies, in the kernel's language
 * (Documentation/trace/events.rst): comparisons of fields with numbers (== != < <= > >= &) and
 * texts (== != ~, a glob), joined by && || ! and parentheses.
 */
#ifndef EXPR_FILTER_H
#define EXPR_FILTER_H

#include "attar/format.h"

struct filter;

/*
 * The filter for records of that format, which must outlive it. -EINVAL with a sentence that tells
 * what is wrong, and of an unknown field which there are. For filter_free().
 */
int filter_parse(const char *text, const struct attar_format *format, struct filter **ret_filter);
struct filter *filter_free(struct filter *filter);

/* Whether the record is to be kept. A field that does not lie inside it fits nothing. */
bool filter_keeps(const struct filter *filter, const void *raw, size_t size);

#endif
