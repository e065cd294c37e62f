/* SPDX-License-Identifier: MIT */
/* The layout is the layout of trace.dat, version 6, up to the options: trace-cmd.dat(5). */
#include "tracing_data.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void put_u32(FILE *out, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static void put_u64(FILE *out, uint64_t value)
{
	fwrite(&value, sizeof(value), 1, out);
}

static void put_text(FILE *out, const char *text, size_t size)
{
	if (size > 0)
		fwrite(text, 1, size, out);
}

/* The text of a file of tracefs, whose size is known only when it was read. NULL: failed. */
static char *read_text(const char *tracefs, const char *path, size_t *ret_size)
{
	char name[4096], *text = NULL;
	FILE *in;
	ssize_t n;

	snprintf(name, sizeof(name), "%s/%s", tracefs, path);
	in = fopen(name, "re");
	if (!in)
		return NULL;
	n = getdelim(&text, &(size_t){0}, '\0', in);
	if (ferror(in)) {
		free(text);
		text = NULL;
	}
	fclose(in);
	*ret_size = n > 0 ? (size_t)n : 0; /* -1: it is empty */
	return text;
}

/* A file that readers expect, but attar and perf do not need. */
static void put_header(FILE *out, const char *tracefs, const char *name)
{
	char path[64];
	size_t size = 0;
	char *text;

	snprintf(path, sizeof(path), "events/%s", name);
	text = read_text(tracefs, path, &size);
	fwrite(name, 1, strlen(name) + 1, out);
	put_u64(out, size);
	put_text(out, text, size);
	free(text);
}

static int put_format(FILE *out, const char *tracefs, const struct attar_format *format)
{
	char path[512];
	size_t size = 0;
	char *text;

	snprintf(path, sizeof(path), "events/%s/%s/format", format->system, format->name);
	text = read_text(tracefs, path, &size);
	if (!text)
		return attar_fail(-errno, "cannot read %s/%s: %s", tracefs, path, strerror(errno));
	fwrite(format->system, 1, strlen(format->system) + 1, out);
	put_u32(out, 1); /* of this system; the next format may have the same one */
	put_u64(out, size);
	put_text(out, text, size);
	free(text);
	return 0;
}

static int put_all(
	FILE *out, const char *tracefs, const struct attar_format *const *formats, size_t n)
{
	static const char magic[] = "\027\010\104tracing0.6";
	const char layout[2] = {__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, sizeof(long)};
	size_t size = 0;
	char *printk;
	int r = 0;

	fwrite(magic, 1, sizeof(magic), out);
	fwrite(layout, 1, sizeof(layout), out);
	put_u32(out, (uint32_t)sysconf(_SC_PAGESIZE));
	put_header(out, tracefs, "header_page");
	put_header(out, tracefs, "header_event");
	put_u32(out, 0); /* formats of ftrace */
	put_u32(out, (uint32_t)n);
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_format(out, tracefs, formats[i]);
	put_u32(out, 0); /* kallsyms */
	printk = read_text(tracefs, "printk_formats", &size);
	put_u32(out, (uint32_t)size);
	put_text(out, printk, size);
	free(printk);
	put_u64(out, 0); /* saved_cmdlines: the file has COMM records */
	return r;
}

int kp_tracing_data(struct attar_catalog *catalog, const struct attar_format *const *formats,
	size_t n, char **ret_bytes, size_t *ret_size)
{
	const char *tracefs;
	FILE *out;
	int r;

	*ret_bytes = NULL;
	*ret_size = 0;
	if (n == 0)
		return 0;
	r = attar_catalog_tracefs(catalog, &tracefs);
	if (r < 0)
		return r;
	out = open_memstream(ret_bytes, ret_size);
	if (!out)
		return attar_fail(-ENOMEM, "out of memory");
	r = put_all(out, tracefs, formats, n);
	if (fclose(out) != 0 && r == 0)
		r = attar_fail(-ENOMEM, "out of memory");
	if (r < 0) {
		free(*ret_bytes);
		*ret_bytes = NULL;
	}
	return r;
}
