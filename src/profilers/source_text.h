/* SPDX-License-Identifier: MIT */
/* The lines of a source file. */
#ifndef PROFILERS_SOURCE_TEXT_H
#define PROFILERS_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct source_text {
	char *text;   /* owned; lines end with a NUL */
	char **lines; /* owned; line i + 1 */
	size_t n;
};

/*
 * Reads a file; tabs become spaces. Returns 0; a negative errno: it cannot be read, or has more
 * than 16 MiB; the text then has no lines.
 */
int source_text_read(struct source_text *source, const char *path);
void source_text_done(struct source_text *source);

/* A line, from 1; NULL: there is none. */
const char *source_text_line(const struct source_text *source, uint32_t line);

#endif
