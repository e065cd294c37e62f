/* SPDX-License-Identifier: MIT */
/* Options that are lists: names of threads, numbers. */
#ifndef PROFILERS_LIB_LIST_OPTIONS_H
#define PROFILERS_LIB_LIST_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a name matches one of the patterns (with * and ?), which are separated by commas. */
bool names_match(const char *patterns, const char *name);

/*
 * Parses numbers and ranges below max, such as "0-99,120", and sets set[number] for each. Returns
 * 0 or -EINVAL with an error message; what: the option.
 */
int numbers_parse(const char *text, const char *what, size_t max, bool *set);

#endif
