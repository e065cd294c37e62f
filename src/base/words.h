/* SPDX-License-Identifier: MIT */
/* Splits a command line into words, as a shell does with quotes only. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include "base/base.h"

/*
 * Splits text in place at blanks outside quotes, which are removed. At most max words are stored
 * in ret_words, followed by NULL: the array has room for max + 1. Returns the number of words;
 * -E2BIG: there are more; -EINVAL: a quote is missing. The error message says which.
 */
int words_split(char *text, char **ret_words, size_t max);

#endif
