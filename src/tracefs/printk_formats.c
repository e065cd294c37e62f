/* SPDX-License-Identifier: MIT */
/*
 * Constant kernel strings that tracepoints refer to by address, read from printk_formats in
 * tracefs.
 */
#include <stdio.h>

#include "base/file.h"
#include "tracefs/tracefs.h"

enum { TEXT_MAX = 8 << 20 };

static char unescaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* `0xADDRESS : "text"`, the text with C escapes for quotes, newlines and tabs. */
static void read_line(struct tracefs *tracefs, char *line)
{
	char *colon, *text = strchr(line, '"'), *last = strrchr(line, '"'), *to;
	uint64_t address = strtoull(line, &colon, 16);

	if (!text || last == text || strncmp(colon, " : ", 3))
		return;
	*last = '\0';
	to = ++text;
	for (char *p = text; *p; p++)
		*to++ = *p == '\\' && p[1] ? unescaped(*++p) : *p;
	*to = '\0';
	map_put(&tracefs->strings, address, (uint64_t)(text - tracefs->strings_text));
}

/* Takes over the text. */
static void parse_strings(struct tracefs *tracefs, char *text)
{
	char *save = NULL;

	tracefs->strings_text = text;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		read_line(tracefs, line);
}

int tracefs_set_strings(struct tracefs *tracefs, const char *text, size_t len)
{
	char *copy = strndup(text, len);

	if (!copy)
		return base_oom();
	free(tracefs->strings_text);
	parse_strings(tracefs, copy);
	return 0;
}

static void read_strings(struct tracefs *tracefs)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096], *text;

	tracefs->strings_read = true;
	if (!tracefs->path)
		return;
	snprintf(path, sizeof(path), "%s/printk_formats", tracefs->path);
	if (file_read(path, TEXT_MAX, &b) == 0 && (text = buf_take(&b)))
		parse_strings(tracefs, text);
}

const char *tracefs_string(struct tracefs *tracefs, uint64_t address)
{
	uint64_t *offset;

	if (!tracefs)
		return NULL;
	if (!tracefs->strings_read)
		read_strings(tracefs);
	offset = map_get(&tracefs->strings, address);
	return offset ? tracefs->strings_text + *offset : NULL;
}
