/* SPDX-License-Identifier: MIT */
#include "base/words.h"

static const char blanks[] = " \t";

/*
 * Moves the word at *from to `to`, without its quotes. Returns its end; NULL: a quote is missing.
 */
static char *take_word(char **from, char *to)
{
	char quote = '\0', *at = *from;

	for (; *at && (quote || !strchr(blanks, *at)); at++) {
		if (quote ? *at == quote : *at == '\'' || *at == '"')
			quote = quote ? '\0' : *at;
		else
			*to++ = *at;
	}
	*from = at + (*at != '\0');
	if (!quote)
		return to;
	attar_fail(-EINVAL, "missing %s", quote == '"' ? "\"" : "'");
	return NULL;
}

int words_split(char *text, char **ret_words, size_t max)
{
	char *from = text, *to = text;
	size_t n = 0;

	while (*(from += strspn(from, blanks))) {
		if (n == max)
			return attar_fail(-E2BIG, "more than %zu words", max);
		ret_words[n++] = to;
		to = take_word(&from, to);
		if (!to)
			return -EINVAL;
		*to++ = '\0';
	}
	ret_words[n] = NULL;
	return (int)n;
}
