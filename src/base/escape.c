/* SPDX-License-Identifier: MIT */
#include "base/escape.h"

#include <ctype.h>

/* 16 bytes at a time: GCC and clang compile vectors to the instructions of each architecture. */
typedef int8_t bytes16 __attribute__((vector_size(16)));

/* a and b: characters that are not plain; 0: none. */
static inline bool is_plain(char c, char a, char b)
{
	return (signed char)c >= 0x20 && c != 0x7f && c != a && c != b;
}

static inline bytes16 load16(const char *text)
{
	bytes16 bytes;

	memcpy(&bytes, text, sizeof(bytes));
	return bytes;
}

/* Whether a byte is not 0. */
static inline bool any(bytes16 bytes)
{
	uint64_t found[2];

	memcpy(found, &bytes, sizeof(found));
	return found[0] | found[1];
}

/* is_plain() for each of 16 bytes. */
static inline bool are_plain(bytes16 bytes, char a, char b)
{
	return !any((bytes < 0x20) | (bytes == 0x7f) | (bytes == (int8_t)a) | (bytes == (int8_t)b));
}

/* The length of the text before its first character that is not printable ASCII, or is a or b. */
static inline size_t plain_but(const char *text, size_t n, char a, char b)
{
	size_t i = 0;

	while (i + 16 <= n && are_plain(load16(text + i), a, b))
		i += 16;
	if (n >= 16 && i + 16 > n && are_plain(load16(text + n - 16), a, b))
		return n;
	while (i < n && is_plain(text[i], a, b))
		i++;
	return i;
}

size_t escape_plain(const char *text, size_t n)
{
	return plain_but(text, n, 0, 0);
}

size_t escape_plain_json(const char *text, size_t n)
{
	return plain_but(text, n, '"', '\\');
}

/*
 * Appends the text before its first character that is not plain in JSON, and returns its length.
 * The last bytes are copied with blanks after them.
 */
static inline size_t add_plain_json(struct buf *b, const char *text, size_t n)
{
	char block[16], *to;
	size_t i = 0;

	if (!buf_reserve(b, n + sizeof(block)))
		return n;
	to = b->data + b->len;
	for (; i + 16 <= n && are_plain(load16(text + i), '"', '\\'); i += 16)
		memcpy(to + i, text + i, 16);
	if (i < n && n - i < 16) {
		memset(block, ' ', sizeof(block));
		base_copy_short(block, text + i, n - i);
		if (are_plain(load16(block), '"', '\\')) {
			memcpy(to + i, block, sizeof(block));
			i = n;
		}
	}
	for (; i < n && is_plain(text[i], '"', '\\'); i++)
		to[i] = text[i];
	to[i] = '\0';
	b->len += i;
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

/* Appends the character at p, or U+FFFD in place of a byte that is not UTF-8; returns its bytes. */
static size_t add_valid(struct buf *b, const unsigned char *p, size_t n)
{
	size_t len = utf8_length(p, n);

	if (len)
		buf_add(b, p, len);
	else
		buf_str(b, "\xef\xbf\xbd");
	return MAX(len, (size_t)1);
}

/* The same with control characters as \xNN. */
static size_t add_for_file(struct buf *b, const unsigned char *p, size_t n)
{
	return utf8_length(p, n) ? add_printable(b, p, n) : add_valid(b, p, n);
}

static void escape_each(struct buf *b, const char *text, size_t n,
	size_t (*add)(struct buf *b, const unsigned char *p, size_t n))
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < n;) {
		size_t plain = escape_plain(text + i, n - i);

		buf_add(b, text + i, plain);
		i += plain;
		if (i < n)
			i += add(b, p + i, n - i);
	}
}

void escape_text(struct buf *b, const char *text, size_t n)
{
	escape_each(b, text, n, add_printable);
}

void escape_utf8(struct buf *b, const char *text, size_t n)
{
	escape_each(b, text, n, add_valid);
}

void escape_file_text(struct buf *b, const char *text, size_t n)
{
	escape_each(b, text, n, add_for_file);
}

/* Appends a character that is not ASCII; returns its bytes. */
static size_t add_for_json(struct buf *b, const unsigned char *p, size_t n)
{
	size_t len = utf8_length(p, n);

	if (!len || !is_control(p, len))
		return add_valid(b, p, n);
	if (len == 2)
		buf_printf(b, "\\u%04x", (p[0] & 0x1f) << 6 | (p[1] & 0x3f));
	else
		buf_printf(b, "\\u%04x", (p[0] & 0xf) << 12 | (p[1] & 0x3f) << 6 | (p[2] & 0x3f));
	return len;
}

void escape_json(struct buf *b, const char *text, size_t n)
{
	const unsigned char *p = (const unsigned char *)text;

	for (size_t i = 0; i < n;) {
		i += add_plain_json(b, text + i, n - i);
		if (i == n)
			break;
		if (p[i] == '"' || p[i] == '\\')
			buf_printf(b, "\\%c", p[i++]);
		else if (p[i] < 0x20 || p[i] == 0x7f)
			buf_printf(b, "\\u%04x", p[i++]);
		else
			i += add_for_json(b, p + i, n - i);
	}
}

void escape_json_string(struct buf *b, const char *text, size_t n)
{
	buf_char(b, '"');
	escape_json(b, text, n);
	buf_char(b, '"');
}

void escape_json_text(struct buf *b, const char *text)
{
	escape_json_string(b, text, strlen(text));
}

/* A sign that starts a number, with or without a unit, does not start a formula. */
static bool is_formula(const char *text, size_t n)
{
	static const char in_numbers[] = "0123456789. %_abcdefghijklmnopqrstuvwxyz"
					 "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	bool is_sign = n && (text[0] == '+' || text[0] == '-');

	if (!is_sign)
		return n && (text[0] == '=' || text[0] == '@');
	if (n == 1 || text[1] < '0' || text[1] > '9')
		return true;
	for (size_t i = 2; i < n; i++) {
		bool is_exponent = (text[i] == '+' || text[i] == '-') &&
				   (text[i - 1] == 'e' || text[i - 1] == 'E');

		if (!is_exponent && (!text[i] || !strchr(in_numbers, text[i])))
			return true;
	}
	return false;
}

/* A field with a comma, a quote or characters that are escaped. */
static void escape_csv_special(struct buf *b, const char *text, size_t n)
{
	struct buf field _cleanup_(buf_done) = {0};
	const char *at, *quote;
	bool quoted;

	if (is_formula(text, n))
		buf_char(&field, '\'');
	escape_file_text(&field, text, n);
	at = buf_text(&field);
	n = field.len;
	quoted = memchr(at, '"', n) || memchr(at, ',', n);
	if (quoted)
		buf_char(b, '"');
	while ((quote = memchr(at, '"', n))) {
		size_t before = (size_t)(quote - at) + 1;

		buf_add(b, at, before);
		buf_char(b, '"');
		at += before;
		n -= before;
	}
	buf_add(b, at, n);
	if (quoted)
		buf_char(b, '"');
	b->failed |= field.failed;
}

static inline void csv_mark(bytes16 bytes, bytes16 *special, bytes16 *commas)
{
	*special |= (bytes < 0x20) | (bytes == 0x7f) | (bytes == '"');
	*commas |= bytes == ',';
}

enum escape_csv_form escape_csv_form(const char *text, size_t n)
{
	bytes16 special = {0}, commas = {0};
	char block[16];
	size_t i = 0;

	if (is_formula(text, n))
		return ESCAPE_CSV_CHANGED;
	for (; i + 16 <= n; i += 16)
		csv_mark(load16(text + i), &special, &commas);
	if (i < n && n - i < 16) {
		memset(block, ' ', sizeof(block));
		base_copy_short(block, text + i, n - i);
		csv_mark(load16(block), &special, &commas);
	}
	return any(special)  ? ESCAPE_CSV_CHANGED
	       : any(commas) ? ESCAPE_CSV_QUOTED
			     : ESCAPE_CSV_PLAIN;
}

void escape_csv(struct buf *b, const char *text, size_t n)
{
	switch (escape_csv_form(text, n)) {
	case ESCAPE_CSV_PLAIN:
		buf_add(b, text, n);
		break;
	case ESCAPE_CSV_QUOTED:
		buf_char(b, '"');
		buf_add(b, text, n);
		buf_char(b, '"');
		break;
	case ESCAPE_CSV_CHANGED:
		escape_csv_special(b, text, n);
	}
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
			i += add_for_file(b, p + i, n - i);
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
			i += add_for_file(b, p + i, n - i);
	}
}

void escape_shell(struct buf *b, const char *text)
{
	size_t plain = 0;

	while (isalnum((unsigned char)text[plain]) || (unsigned char)text[plain] >= 0x80 ||
		(text[plain] && strchr("_-./:,=@%+^", text[plain])))
		plain++;
	if (plain && !text[plain]) {
		buf_str(b, text);
		return;
	}
	buf_char(b, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			buf_str(b, "'\\''");
		else
			buf_char(b, *text);
	}
	buf_char(b, '\'');
}
