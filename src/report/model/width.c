/* SPDX-License-Identifier: MIT */
#include "report/model/width.h"

#include "base/escape.h"

#define ELLIPSIS "…"

struct range {
	uint32_t first, last;
};

/* Unicode 15: the combining and invisible blocks that occur in names. */
static const struct range narrow[] = {
	{0x300, 0x36f},
	{0x483, 0x489},
	{0x591, 0x5bd},
	{0x610, 0x61a},
	{0x64b, 0x65f},
	{0x200b, 0x200f},
	{0x202a, 0x202e},
	{0x2060, 0x206f},
	{0x20d0, 0x20ff},
	{0xfe00, 0xfe0f},
	{0xfe20, 0xfe2f},
	{0xfeff, 0xfeff},
	{0xe0100, 0xe01ef},
};

/* East Asian Width W and F, as blocks. */
static const struct range wide[] = {
	{0x1100, 0x115f},
	{0x2e80, 0x303e},
	{0x3041, 0x33ff},
	{0x3400, 0x4dbf},
	{0x4e00, 0x9fff},
	{0xa000, 0xa4cf},
	{0xac00, 0xd7a3},
	{0xf900, 0xfaff},
	{0xfe30, 0xfe6f},
	{0xff00, 0xff60},
	{0xffe0, 0xffe6},
	{0x1f300, 0x1f64f},
	{0x1f680, 0x1f6ff},
	{0x1f900, 0x1f9ff},
	{0x20000, 0x3fffd},
};

static bool within(const struct range *ranges, size_t n, uint32_t code)
{
	for (size_t i = 0; i < n && code >= ranges[i].first; i++)
		if (code <= ranges[i].last)
			return true;
	return false;
}

/* Steps over one character. Returns its width. */
static unsigned width_step(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	unsigned more = p[0] >= 0xf0 ? 3 : p[0] >= 0xe0 ? 2 : p[0] >= 0xc0 ? 1 : 0;
	uint32_t code = more ? p[0] & (0x3f >> more) : p[0];

	for (p++; more && (*p & 0xc0) == 0x80; p++, more--)
		code = code << 6 | (*p & 0x3f);
	*text = (const char *)p;
	if (within(narrow, ARRAY_SIZE(narrow), code))
		return 0;
	return within(wide, ARRAY_SIZE(wide), code) ? 2 : 1;
}

unsigned width_of(const char *text)
{
	size_t plain = escape_plain(text, strlen(text));
	unsigned width = (unsigned)plain;

	text += plain;
	while (*text)
		width += width_step(&text);
	return width;
}

unsigned width_cut(struct buf *b, const char *text, unsigned columns)
{
	const char *end = text, *fits = text;
	unsigned width = 0, fit = 0;

	while (*end && width <= columns) {
		width += width_step(&end);
		if (width < columns) {
			fits = end;
			fit = width;
		}
	}
	if (width <= columns) {
		buf_add(b, text, (size_t)(end - text));
		return width;
	}
	buf_add(b, text, (size_t)(fits - text));
	if (columns)
		buf_str(b, ELLIPSIS);
	return columns ? fit + 1 : 0;
}

/* The longest end of text that fits. */
static const char *end_of(const char *text, unsigned columns)
{
	unsigned width = width_of(text);

	while (width > columns)
		width -= width_step(&text);
	return text;
}

void width_cut_start(struct buf *b, const char *text, unsigned columns)
{
	width_cut_middle(b, text, 0, columns);
}

void width_cut_middle(struct buf *b, const char *text, unsigned head, unsigned columns)
{
	if (width_of(text) <= columns || !columns) {
		width_cut(b, text, columns);
		return;
	}
	width_cut(b, text, head + 1); /* ends with an ellipsis */
	buf_str(b, end_of(text, columns - head - 1));
}

void width_cut_prefix(struct buf *b, const char *text, size_t n, unsigned columns)
{
	if (!columns)
		return;
	buf_str(b, ELLIPSIS);
	width_cut(b, text + n, columns - 1);
}

void width_make_ascii(struct buf *b)
{
	const char *p = b->data, *end = p + b->len;
	char *to = b->data;

	while (p < end) {
		const char *start = p;
		unsigned width = width_step(&p);

		if (p - start == 1)
			*to++ = *start;
		else
			for (; width; width--)
				*to++ = strncmp(start, ELLIPSIS, strlen(ELLIPSIS)) ? '?' : '~';
	}
	b->len = (size_t)(to - b->data);
}
