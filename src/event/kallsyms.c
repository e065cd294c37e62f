/* SPDX-License-Identifier: MIT */
/* Whether the kernel has a function: known before a probe on it fails with a bare errno. */
#include <stdio.h>

#include "base/suggest.h"
#include "event/probe.h"

/* "ffffffff81000000 T name\t[module]": the name, cut out of the line; NULL for what is no code. */
static char *function_in(char *line)
{
	char *name = strchr(line, ' ');

	if (!name || !strchr("tTwW", name[1]) || name[2] != ' ')
		return NULL;
	name += 3;
	name[strcspn(name, "\t\n ")] = '\0';
	return name;
}

bool kernel_has_function(struct attar_catalog *catalog, const char *name, char ret_best[128])
{
	struct suggest s = {.word = name};
	const char *before;
	char line[1024], path[4096], *function;
	bool found = false, any = false;
	FILE *file;

	ret_best[0] = '\0';
	snprintf(path, sizeof(path), "%s/kallsyms", catalog->tracefs.proc);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (!found && fgets(line, sizeof(line), file)) {
		function = function_in(line);
		if (!function)
			continue;
		any = true;
		found = !strcmp(function, name);
	}
	if (any && !found) {
		rewind(file);
		while (fgets(line, sizeof(line), file)) {
			function = function_in(line);
			if (!function || strlen(function) >= 128)
				continue;
			before = s.best;
			suggest_offer(&s, function);
			if (s.best != before)
				s.best = strcpy(ret_best, function);
		}
	}
	fclose(file);
	return found || !any;
}
