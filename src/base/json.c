/* SPDX-License-Identifier: MIT */
#include "base/json.h"

#include <stdlib.h>

enum { DEPTH_MAX = 32 };

void json_fail(struct json_parser *p)
{
	p->failed = true;
	p->at = p->end;
}

char json_peek(struct json_parser *p)
{
	while (p->at < p->end && strchr(" \t\r\n", *p->at))
		p->at++;
	return p->at < p->end ? *p->at : '\0';
}

static bool parse_take(struct json_parser *p, char c)
{
	if (json_peek(p) != c || !c)
		return false;
	p->at++;
	return true;
}

void json_expect(struct json_parser *p, char c)
{
	if (!parse_take(p, c))
		json_fail(p);
}

static void put_utf8(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_char(b, (char)c);
	} else if (c < 0x800) {
		buf_char(b, (char)(0xc0 | c >> 6));
		buf_char(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_char(b, (char)(0xe0 | c >> 12));
		buf_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(b, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_char(b, (char)(0xf0 | c >> 18));
		buf_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_char(b, (char)(0x80 | (c & 0x3f)));
	}
}

static uint32_t read_hex4(struct json_parser *p)
{
	char digits[5] = "", *end;
	uint32_t value;

	if (p->end - p->at < 4) {
		json_fail(p);
		return 0;
	}
	memcpy(digits, p->at, 4);
	p->at += 4;
	value = (uint32_t)strtoul(digits, &end, 16);
	if (end != digits + 4)
		json_fail(p);
	return value;
}

/* After "\u". A surrogate without its pair, and NUL, become U+FFFD. */
static void read_unicode(struct json_parser *p, struct buf *b)
{
	uint32_t c = read_hex4(p), low;

	if (c >= 0xd800 && c < 0xdc00 && p->end - p->at >= 6 && p->at[0] == '\\' &&
		p->at[1] == 'u') {
		p->at += 2;
		low = read_hex4(p);
		c = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((c - 0xd800) << 10) + low - 0xdc00
						  : 0xfffd;
	}
	put_utf8(b, !c || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
}

static void read_escape(struct json_parser *p, struct buf *b)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	char c = p->at < p->end ? *p->at++ : '\0';
	const char *found = c ? strchr(from, c) : NULL;

	if (c == 'u')
		read_unicode(p, b);
	else if (found)
		buf_char(b, to[found - from]);
	else
		json_fail(p);
}

void json_read_string(struct json_parser *p, struct buf *b)
{
	buf_reset(b);
	json_expect(p, '"');
	while (p->at < p->end && *p->at != '"') {
		size_t n = 0;

		while (p->at + n < p->end && p->at[n] != '"' && p->at[n] != '\\' && p->at[n])
			n++;
		buf_add(b, p->at, n);
		p->at += n;
		if (p->at < p->end && *p->at == '\\') {
			p->at++;
			read_escape(p, b);
		} else if (p->at < p->end && !*p->at) {
			json_fail(p);
		}
	}
	json_expect(p, '"');
}

static void skip_string(struct json_parser *p)
{
	json_expect(p, '"');
	while (p->at < p->end && *p->at != '"')
		p->at += *p->at == '\\' && p->at + 1 < p->end ? 2 : 1;
	json_expect(p, '"');
}

void json_skip(struct json_parser *p)
{
	int depth = 0;

	do {
		char c = json_peek(p);

		if (c == '"') {
			skip_string(p);
		} else if (c == '[' || c == '{') {
			depth++;
			p->at++;
		} else if (c == ']' || c == '}') {
			depth--;
			p->at++;
		} else if (c == ',' || c == ':') {
			p->at++;
			continue;
		} else {
			size_t n = 0;

			while (p->at + n < p->end && strchr("+-.eE0123456789aflnrstu", p->at[n]))
				n++;
			p->at += n;
			if (!n)
				json_fail(p);
		}
	} while (depth > 0 && depth < DEPTH_MAX && !p->failed);
	if (depth)
		json_fail(p);
}

bool json_enter(struct json_parser *p)
{
	if (json_peek(p) != '{') {
		json_skip(p);
		return false;
	}
	json_expect(p, '{');
	return true;
}

bool json_next(struct json_parser *p, char close, bool *first)
{
	if (p->failed || parse_take(p, close))
		return false;
	if (!*first)
		json_expect(p, ',');
	*first = false;
	return !p->failed;
}

bool json_next_member(struct json_parser *p, bool *first, struct buf *key)
{
	if (!json_next(p, '}', first))
		return false;
	json_read_string(p, key);
	json_expect(p, ':');
	return !p->failed;
}
