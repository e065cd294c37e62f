/* SPDX-License-Identifier: MIT */
#include "lib/list_options.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attar/base.h"

bool names_match(const char *patterns, const char *name)
{
	while (*patterns) {
		size_t n = strcspn(patterns, ",");
		char pattern[256];

		snprintf(pattern, sizeof(pattern), "%.*s", (int)n, patterns);
		if (fnmatch(pattern, name, 0) == 0)
			return true;
		patterns += n + (patterns[n] == ',');
	}
	return false;
}

/* A number below max; on failure *end is text. */
static unsigned long number(const char *text, size_t max, char **end)
{
	unsigned long n = strtoul(text, end, 10);

	if (!isdigit((unsigned char)*text) || n >= max)
		*end = (char *)text;
	return n;
}

int numbers_parse(const char *text, const char *what, size_t max, bool *set)
{
	for (const char *at = text;; at++) {
		char *end;
		unsigned long first = number(at, max, &end), last = first;

		if (end != at && *end == '-') {
			at = end + 1;
			last = number(at, max, &end);
		}
		if (end == at || last < first || (*end && *end != ','))
			return attar_fail(-EINVAL,
				"%s: '%s' is not a list of numbers below %zu such as 0-9,12", what,
				text, max);
		for (; first <= last; first++)
			set[first] = true;
		if (!*end)
			return 0;
		at = end;
	}
}
