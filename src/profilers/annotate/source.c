/* SPDX-License-Identifier: MIT */
#include "annotate/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES_MAX = 16 << 20, TAB = 8 };

/* The file with its size and times; NULL and errno. */
static FILE *open_file(int fd, struct stat *ret_st)
{
	FILE *file = NULL;

	if (fstat(fd, ret_st) == 0 && ret_st->st_size > BYTES_MAX)
		errno = EFBIG;
	else
		file = fdopen(fd, "re");
	if (!file)
		close(fd);
	return file;
}

/* Copies the text to where each tab has room for its spaces, and counts lines. */
static size_t expand(const char *from, size_t n, char *to)
{
	size_t column = 0, lines = 1;

	for (size_t i = 0; i < n; i++) {
		if (from[i] == '\t') {
			size_t spaces = TAB - column % TAB;

			memset(to, ' ', spaces);
			to += spaces;
			column += spaces;
			continue;
		}
		*to++ = from[i] == '\n' ? '\0' : from[i];
		column = from[i] == '\n' ? 0 : column + 1;
		lines += from[i] == '\n';
	}
	*to = '\0';
	return lines;
}

static size_t count_tabs(const char *text, size_t n)
{
	size_t tabs = 0;

	for (size_t i = 0; i < n; i++)
		tabs += text[i] == '\t';
	return tabs;
}

static int source_split(struct annotate_source *source, const char *raw, size_t n)
{
	char *at;

	source->text = malloc(n + (TAB - 1) * count_tabs(raw, n) + 1);
	if (!source->text)
		return -ENOMEM;
	source->n = expand(raw, n, source->text);
	source->lines = malloc(source->n * sizeof(*source->lines));
	if (!source->lines) {
		annotate_source_done(source);
		return -ENOMEM;
	}
	at = source->text;
	for (size_t i = 0; i < source->n; i++, at += strlen(at) + 1)
		source->lines[i] = at;
	return 0;
}

int annotate_source_read(struct annotate_source *source, int fd)
{
	struct stat st;
	FILE *file = open_file(fd, &st);
	size_t n;
	char *raw;
	int r;

	*source = (struct annotate_source){0};
	if (!file)
		return -errno;
	source->changed = st.st_mtim;
	n = (size_t)st.st_size;
	raw = malloc(n + 1);
	r = raw ? 0 : -ENOMEM;
	if (r == 0) {
		n = fread(raw, 1, n, file);
		r = memchr(raw, 0, n) ? -ENOEXEC : source_split(source, raw, n);
	}
	free(raw);
	fclose(file);
	return r;
}

void annotate_source_done(struct annotate_source *source)
{
	free(source->text);
	free(source->lines);
	*source = (struct annotate_source){0};
}

const char *annotate_source_line(const struct annotate_source *source, uint32_t line)
{
	return line && line <= source->n ? source->lines[line - 1] : NULL;
}
