/* SPDX-License-Identifier: MIT */
#include "elf/kallsyms_text.h"

#include <fcntl.h>

#include "base/file_limit.h"
#include "base/parse.h"

enum { READ_BYTES = 64 << 10 }; /* exceeds the longest line */

bool kallsyms_is_noise(const struct kallsyms_line *line)
{
	static const char padding[] = "__pfx_";

	return line->name[0] == '$' ||
	       (line->name_len >= strlen(padding) && !memcmp(line->name, padding, strlen(padding)));
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool kallsyms_text_split(const char *p, const char *end, struct kallsyms_line *ret_line)
{
	struct kallsyms_line line = {0};
	int digit;

	for (; p < end && (digit = parse_hex_digit(*p)) >= 0; p++)
		line.address = line.address << 4 | (unsigned)digit;
	if (end - p < 4 || *p != ' ' || p[2] != ' ')
		return false;
	line.type = p[1];
	line.name = p += 3;
	while (p < end && !is_blank(*p))
		p++;
	line.name_len = (size_t)(p - line.name);
	while (p < end && is_blank(*p))
		p++;
	if (p < end && *p == '[' && end[-1] == ']') {
		line.owner = p;
		line.owner_len = (size_t)(end - p);
	}
	*ret_line = line;
	return line.name_len > 0;
}

/* Calls fn for the complete lines of text and stores their size in bytes in *ret_used. */
static int each_line(const char *text, size_t n, kallsyms_line_fn *fn, void *ctx, size_t *ret_used)
{
	const char *p = text, *end = text + n, *newline;
	struct kallsyms_line line;
	int r = 0;

	while (r == 0 && (newline = memchr(p, '\n', (size_t)(end - p)))) {
		if (kallsyms_text_split(p, newline, &line))
			r = fn(ctx, &line);
		p = newline + 1;
	}
	*ret_used = (size_t)(p - text);
	return r;
}

int kallsyms_each_of_text(const char *text, size_t n, kallsyms_line_fn *fn, void *ctx)
{
	struct kallsyms_line line;
	size_t used;
	int r = each_line(text, n, fn, ctx, &used);

	if (r == 0 && kallsyms_text_split(text + used, text + n, &line))
		r = fn(ctx, &line);
	return r;
}

int kallsyms_each(const char *path, kallsyms_line_fn *fn, void *ctx)
{
	char *chunk _cleanup_free_ = malloc(READ_BYTES);
	int fd _cleanup_close_ =
		TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	size_t kept = 0, used;
	int r = 0;

	if (!chunk)
		return base_oom();
	if (fd < 0)
		return file_limit_fail(errno, "cannot open %s", CLIP(path));
	while (r == 0) {
		ssize_t got = TEMP_FAILURE_RETRY(read(fd, chunk + kept, READ_BYTES - kept));

		if (got < 0)
			return attar_fail(
				-errno, "cannot read %s: %s", CLIP(path), strerror(errno));
		if (got == 0)
			break;
		kept += (size_t)got;
		r = each_line(chunk, kept, fn, ctx, &used);
		kept -= used;
		if (kept == READ_BYTES)
			return attar_fail(-EBADMSG, "%s is not a kallsyms symbol list", CLIP(path));
		memmove(chunk, chunk + used, kept);
	}
	return r;
}
