/* SPDX-License-Identifier: MIT */
/* The lines of a source file. */
#ifndef PROFILERS_ANNOTATE_SOURCE_H
#define PROFILERS_ANNOTATE_SOURCE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct annotate_source {
	char *text;   /* owned; lines end with a NUL */
	char **lines; /* owned; line i + 1 */
	size_t n;
	struct timespec changed; /* when its text was changed last */
};

/*
 * Reads an open file and closes it; tabs become spaces. Returns 0; a negative errno: it cannot be
 * read, or has more than 16 MiB; the text then has no lines.
 */
int annotate_source_read(struct annotate_source *source, int fd);
void annotate_source_done(struct annotate_source *source);

/* A line, from 1; NULL: there is none. */
const char *annotate_source_line(const struct annotate_source *source, uint32_t line);

#endif
