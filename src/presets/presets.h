/* SPDX-License-Identifier: MIT */
#ifndef PRESETS_PRESETS_H
#define PRESETS_PRESETS_H

#include "attar/run.h"

/* A preset of attar itself: presets/NAME.preset. */
struct preset_text {
	const char *name;
	const char *text;
};

extern const struct preset_text preset_texts[]; /* ends with a NULL name */

/*
 * Makes a profiler from the text of a preset; path is for messages. 0, or a negative errno with an
 * error message. Presets of the list are never freed.
 */
int preset_parse(const char *path, const char *text, const struct attar_profiler **ret_profiler);
void preset_free(const struct attar_profiler *profiler);

/*
 * -ENOENT, with an error message, if the profiler is a preset of the list that hides the option
 * with this name or letter of the profiler that it runs; otherwise 0. name may be NULL, letter 0.
 */
int preset_check_option(const struct attar_profiler *profiler, const char *name, char letter);

#endif
