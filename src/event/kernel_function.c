/* SPDX-License-Identifier: MIT */
/*
 * Checks that a kernel function exists, because a probe on a missing one fails with a bare errno.
 */
#include <stdio.h>

#include "base/suggest.h"
#include "elf/kallsyms_text.h"
#include "event/probe.h"

enum { NAME_SIZE = 128 };

struct search {
	const char *name;
	size_t len;
	bool any; /* kallsyms has code symbols */
	struct suggest near;
	char *best; /* NAME_SIZE bytes */
};

/* Returns 1 if this is the function. */
static int kernel_function_compare(void *ctx, const struct kallsyms_line *line)
{
	struct search *s = ctx;

	if (!kallsyms_is_code(line))
		return 0;
	s->any = true;
	return line->name_len == s->len && !memcmp(line->name, s->name, s->len);
}

static int suggest(void *ctx, const struct kallsyms_line *line)
{
	struct search *s = ctx;
	const char *before = s->near.best;
	char name[NAME_SIZE];

	if (!kallsyms_is_code(line) || line->name_len >= sizeof(name))
		return 0;
	memcpy(name, line->name, line->name_len);
	name[line->name_len] = '\0';
	suggest_offer(&s->near, name);
	if (s->near.best != before)
		s->near.best = strcpy(s->best, name);
	return 0;
}

bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128])
{
	struct search s = {.name = name, .len = strlen(name), .near.word = name, .best = ret_best};
	char path[4096];
	int r;

	ret_best[0] = '\0';
	snprintf(path, sizeof(path), "%s/kallsyms", catalog->tracefs.proc);
	r = kallsyms_each(path, kernel_function_compare, &s);
	if (r == 0 && s.any)
		kallsyms_each(path, suggest, &s);
	return r != 0 || !s.any;
}
