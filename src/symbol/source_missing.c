/* SPDX-License-Identifier: MIT */
/* Files of debug information that cannot be used. */
#include <limits.h>
#include <stdio.h>

#include "symbol/source.h"

const char *source_missing(struct symbol_sources *sources)
{
	static const char *const effects[] = {
		[SOURCE_PART_DWO] = "functions that are inlined in its code are unknown; copy the "
				    "file of this build there, or make a package BINARY.dwp",
		[SOURCE_PART_DWZ] = "names and functions that dwz moved there are unknown; copy "
				    "the file of this build there",
		[SOURCE_PART_LINK] = "functions or source lines of its binary are unknown; copy "
				     "the debug file of this build there",
	};
	static __thread char text[PATH_MAX + 512];

	if (!sources->first_missing)
		return NULL;
	sources->is_missing_said = true;
	snprintf(text, sizeof(text), "%zu debug file%s cannot be used, such as %s (%s): %s",
		sources->missing.n, PLURAL_S(sources->missing.n), sources->first_missing,
		sources->first_reason, effects[sources->first_part]);
	return text;
}

void symbol_sources_done(struct symbol_sources *sources)
{
	if (sources->first_missing && !sources->is_missing_said)
		log_note("%s", source_missing(sources));
	intern_done(&sources->strings);
	map_done(&sources->missing);
}

/* Also called again for a file, after its unit was dropped. */
void source_add_missing(
	struct symbol_sources *sources, enum source_part part, const char *path, const char *reason)
{
	const char *name = intern_text(&sources->strings, path),
		   *why = intern_text(&sources->strings, reason);
	bool is_new = name && !map_get(&sources->missing, (uintptr_t)name);

	if (!name || !why || map_put(&sources->missing, (uintptr_t)name, 1) < 0)
		return;
	if (is_new && sources->say_missing)
		sources->say_missing(sources->say_ctx, part, name, why);
	if (sources->first_missing)
		return;
	sources->first_missing = name;
	sources->first_reason = why;
	sources->first_part = part;
}
