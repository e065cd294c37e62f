/* SPDX-License-Identifier: MIT */
/* Constant strings of the kernel that tracepoints refer to by address: tracefs lists them. */
#include <stdio.h>

#include "base/check.h"
#include "base/file.h"
#include "expr/print.h"

enum { TEXT_MAX = 8 << 20 };

static char unescaped(char c)
{
	return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

/* `0xADDRESS : "text"`, the text with C escapes for quotes, newlines and tabs. */
static void read_line(struct attar_catalog *catalog, char *line)
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
	map_put(&catalog->strings, address, (uint64_t)(text - catalog->strings_text));
}

static void read_strings(struct attar_catalog *catalog)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096], *save = NULL;

	catalog->strings_read = true;
	if (!catalog->tracefs)
		return;
	snprintf(path, sizeof(path), "%s/printk_formats", catalog->tracefs);
	if (file_read(path, TEXT_MAX, &b) < 0 || !(catalog->strings_text = buf_take(&b)))
		return;
	for (char *line = strtok_r(catalog->strings_text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save))
		read_line(catalog, line);
}

const char *catalog_string(struct attar_catalog *catalog, uint64_t address)
{
	uint64_t *offset;

	if (!catalog)
		return NULL;
	if (!catalog->strings_read)
		read_strings(catalog);
	offset = map_get(&catalog->strings, address);
	return offset ? catalog->strings_text + *offset : NULL;
}

void attar_catalog_resolver(struct attar_catalog *catalog, attar_address_fn *fn, void *ctx)
{
	CHECK_ARG_OR(catalog, "catalog", );

	catalog->resolve = fn;
	catalog->resolve_ctx = ctx;
}
