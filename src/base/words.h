/* SPDX-License-Identifier: MIT */
/* Words of a command line, split as a shell does with quotes only, and lines of configurations. */
#ifndef BASE_WORDS_H
#define BASE_WORDS_H

#include "base/base.h"

/*
 * Splits text in place at blanks outside quotes, which are removed. At most max words are stored
 * in ret_words, followed by NULL: the array has room for max + 1. Returns the number of words;
 * -E2BIG: there are more; -EINVAL: a quote is missing. The error message says which.
 */
int words_split(char *text, char **ret_words, size_t max);

/* Removes blanks at both ends of text, in place. Returns its new start. */
char *words_trim(char *text);

/* Set `next` to the text before the first line. */
struct words_lines {
	char *next;
	bool short_comments; /* a line that begins with '#' is not continued */
	unsigned number;     /* of the line, from 1 */
	unsigned joined;     /* further lines that it contains */
};

/*
 * The next line of a text, which is changed; NULL: there is none. Lines that begin with a blank
 * continue the one before.
 */
char *words_next_line(struct words_lines *lines);

#endif
