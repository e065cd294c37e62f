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

char *words_trim(char *text)
{
	static const char ends[] = " \t\r";
	char *end;

	text += strspn(text, ends);
	end = text + strlen(text);
	while (end > text && strchr(ends, end[-1]))
		*--end = '\0';
	return text;
}

char *words_next_line(struct words_lines *lines)
{
	char *line = lines->next, *end;

	if (!line)
		return NULL;
	lines->number += 1 + lines->joined;
	lines->joined = 0;
	end = strchr(line, '\n');
	while (end && !(lines->short_comments && *line == '#') &&
		(end[1] == ' ' || end[1] == '\t')) {
		*end = ' ';
		lines->joined++;
		end = strchr(end, '\n');
	}
	if (end)
		*end++ = '\0';
	lines->next = end;
	return line;
}
