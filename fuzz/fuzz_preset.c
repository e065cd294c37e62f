/* SPDX-License-Identifier: MIT */
/* Presets. What is accepted has a name, a summary, and lists that end. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "presets/presets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct attar_profiler *p)
{
	size_t length = 0;

	if (!p->name || !*p->name || strpbrk(p->name, " /\n") || !p->summary || !p->open)
		abort();
	for (const char *const *word = p->preset; *word; word++)
		length += strlen(*word);
	for (const struct attar_example *e = p->examples; e->command; e++)
		length += strlen(e->command) + strlen(e->what);
	for (const struct attar_option *o = p->options; o && o->name; o++)
		length += strlen(o->name);
	if (length > 1 << 20)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct attar_profiler *profiler = NULL;
	char *text = malloc(size + 1);

	setenv("ATTAR_PRESETS", "", 1);
	attar_profilers(); /* names that are taken */
	if (!text)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	if (preset_parse("x.preset", text, &profiler) == 0) {
		check(profiler);
		preset_free(profiler);
	} else if (!*attar_error()) {
		abort();
	}
	attar_error_clear();
	free(text);
	return 0;
}
