/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

#define EACH_BYTE(byte) (0x0101010101010101ULL * (byte))

/* In each byte below 0x80: the highest bit is set if the byte differs from `byte`. */
static inline uint64_t differs(uint64_t word, unsigned byte)
{
	return (word ^ EACH_BYTE(byte)) + EACH_BYTE(0x7f);
}

/* Whether the 8 bytes are 0x20 to 0x7e. Sums of bytes below 0x80 do not carry. */
static inline bool is_plain_word(uint64_t word)
{
	return !((~(word + EACH_BYTE(0x60)) | (word + EACH_BYTE(1)) | word) & EACH_BYTE(0x80));
}

static inline bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f;
}

size_t escape_plain(const char *text, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; i + 8 <= n; i += 8) {
		memcpy(&word, text + i, 8);
		if (!is_plain_word(word))
			break;
	}
	while (i < n && is_plain((unsigned char)text[i]))
		i++;
	return i;
}

/* As escape_plain(), without the quote and the backslash. */
static size_t plain_json(const char *text, size_t n)
{
	size_t i = 0;
	uint64_t word;

	for (; i + 8 <= n; i += 8) {
		memcpy(&word, text + i, 8);
		if (!is_plain_word(word) ||
			~(differs(word, '"') & differs(word, '\\')) & EACH_BYTE(0x80))
			break;
	}
	while (i < n && is_plain((unsigned char)text[i]) && text[i] != '"' && text[i] != '\\')
		i++;
	return i;
}

/* The length of the valid UTF-8 sequence at p (1 to 4), or 0. */
static size_t utf8_length(const unsigned char *p, size_t n)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t len = p[0] < 0x80 ? 1 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc2 ? 2 : 0;
	uint32_t code;

	if (len <= 1)
		return len;
	if (p[0] > 0xf4 || len > n)
		return 0;
	code = p[0] & (0x7f >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	return len;
}

/*
 * Control characters of ASCII and Latin-1 (C1, which some terminals interpret), and Unicode
 * characters that reorder or break lines: U+2028 to U+202E, U+2066 to U+2069. They could make a
 * name look like another one.
 */
static bool is_control(const unsigned char *p, size_t len)
{
	switch (len) {
	case 1:
		return p[0] < 0x20 || p[0] == 0x7f;
	case 2:
		return p[0] == 0xc2 && p[1] < 0xa0;
	case 3:
		return p[0] == 0xe2 && ((p[1] == 0x80 && p[2] >= 0xa8 && p[2] <= 0xae) ||
					       (p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9));
	default:
		return false;
	}
}

static void add_hex(struct buf *b, const unsigned char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_printf(b, "\\x%02x", p[i]);
}

/*
 * Appends the printable character at p, or its bytes as \xNN; returns the number of bytes consumed.
 */
static size_t add_printable(struct buf *b, const unsigned char *p, size_t n)
{
	size_t len = utf8_length(p, n);

	if (!len || is_control(p, len))
		add_hex(b, p, len = MAX(len, (size_t)1));
	else
		buf_add(b, p, len);
	return len;
}

void escape_text(struct buf *b, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < n;) {
		size_t plain = escape_plain(text + i, n - i);

		buf_add(b, text + i, plain);
		i += plain;
		if (i < n)
			i += add_printable(b, p + i, n - i);
	}
}

void escape_json(struct buf *b, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < n;) {
		size_t plain = plain_json(text + i, n - i), len;

		buf_add(b, text + i, plain);
		i += plain;
		if (i == n)
			break;
		len = utf8_length(p + i, n - i);

		if (!len)
			buf_str(b, "\xef\xbf\xbd");
		else if (p[i] == '"' || p[i] == '\\')
			buf_printf(b, "\\%c", p[i]);
		else if (p[i] < 0x20 || p[i] == 0x7f)
			buf_printf(b, "\\u%04x", p[i]);
		else
			buf_add(b, p + i, len);
		i += MAX(len, (size_t)1);
	}
}

/* A sign that starts a number does not start a formula. */
static bool is_formula(const char *text, size_t n)
{
	if (!n || !memchr("=+-@", text[0], 4))
		return false;
	return !(n > 1 && strchr("+-", text[0]) && text[1] >= '0' && text[1] <= '9');
}

/* A field of plain characters that does not look like a formula. */
static void escape_csv_plain(struct buf *b, const char *text, size_t n)
{
	const char *quote = memchr(text, '"', n);
	bool quoted = quote || memchr(text, ',', n);

	if (quoted)
		buf_char(b, '"');
	for (; quote; quote = memchr(text, '"', n)) {
		size_t before = (size_t)(quote - text) + 1;

		buf_add(b, text, before);
		buf_char(b, '"');
		text += before;
		n -= before;
	}
	buf_add(b, text, n);
	if (quoted)
		buf_char(b, '"');
}

void escape_csv(struct buf *b, const char *text, size_t n)
{
	struct buf field _cleanup_(buf_done) = {0};
	bool quote;

	if (escape_plain(text, n) == n && !is_formula(text, n)) {
		escape_csv_plain(b, text, n);
		return;
	}
	if (is_formula(text, n))
		buf_char(&field, '\'');
	escape_text(&field, text, n);
	quote = field.len && strpbrk(field.data, ",\"");
	if (quote)
		buf_char(b, '"');
	for (size_t i = 0; i < field.len; i++) {
		if (field.data[i] == '"')
			buf_char(b, '"');
		buf_char(b, field.data[i]);
	}
	if (quote)
		buf_char(b, '"');
	b->failed |= field.failed;
}

void escape_html(struct buf *b, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < n;) {
		const char *entity = p[i] == '&'    ? "&amp;"
				     : p[i] == '<'  ? "&lt;"
				     : p[i] == '>'  ? "&gt;"
				     : p[i] == '"'  ? "&quot;"
				     : p[i] == '\'' ? "&#39;"
						    : NULL;

		if (entity)
			buf_str(b, entity), i++;
		else
			i += add_printable(b, p + i, n - i);
	}
}

void escape_folded(struct buf *b, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;

	while (n && text[n - 1] == ' ')
		n--;
	for (size_t i = 0; i < n;) {
		if (p[i] == ';')
			buf_char(b, ':'), i++;
		else
			i += add_printable(b, p + i, n - i);
	}
}
