/* SPDX-License-Identifier: MIT */
#include "expr/parse.h"

#include <ctype.h>

#include "base/parse.h"

void lex_blanks(const char **p)
{
	while (isspace((unsigned char)**p))
		++*p;
}

bool lex_take(const char **p, const char *text)
{
	size_t n = strlen(text);

	lex_blanks(p);
	if (strncmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

size_t lex_word(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

size_t lex_name(const char *p)
{
	return isdigit((unsigned char)*p) ? 0 : lex_word(p);
}

bool lex_copy_name(const char **p, char *ret_name, size_t max)
{
	size_t n;

	lex_blanks(p);
	n = lex_name(*p);
	if (!n || n >= max)
		return false;
	memcpy(ret_name, *p, n);
	ret_name[n] = '\0';
	*p += n;
	return true;
}

/* ---- constants of C ---- */

/* The first type that can represent it: int, unsigned (not for decimals), long, unsigned long. */
static struct lex_integer typed(uint64_t value, bool decimal, bool is_unsigned, bool is_long)
{
	if (!is_long && value <= INT32_MAX)
		return (struct lex_integer){value, 32, !is_unsigned};
	if (!is_long && value <= UINT32_MAX && (is_unsigned || !decimal))
		return (struct lex_integer){value, 32, false};
	return (struct lex_integer){value, 64, !is_unsigned && value <= INT64_MAX};
}

bool lex_integer(const char **p, struct lex_integer *ret_integer)
{
	bool is_unsigned = false, is_long = false;
	uint64_t value;
	char *end;

	lex_blanks(p);
	if (!isdigit((unsigned char)**p))
		return false;
	errno = 0;
	value = strtoull(*p, &end, 0);
	if (errno)
		return false;
	for (; *end && strchr("uUlL", *end); end++) {
		is_unsigned |= (*end | 32) == 'u';
		is_long |= (*end | 32) == 'l';
	}
	if (lex_word(end))
		return false;
	*ret_integer = typed(value, **p != '0', is_unsigned, is_long);
	*p = end;
	return true;
}

bool lex_is_too_large(const char *p)
{
	bool is_negative = *p == '-';

	errno = 0;
	if (is_negative)
		strtoll(p, NULL, 0);
	else
		strtoull(p, NULL, 0);
	return errno == ERANGE;
}

static char escape(const char **p)
{
	static const char from[] = "ntrabfv0", to[] = "\n\t\r\a\b\f\v";
	const char *known;
	int value = 0, digits = 0;
	char c = *(*p)++;

	if (c == 'x') {
		for (; isxdigit((unsigned char)**p) && digits < 2; ++*p, digits++)
			value = value * 16 + parse_hex_digit(**p);
		return (char)value;
	}
	if (c >= '0' && c <= '7') {
		for (--*p; **p >= '0' && **p <= '7' && digits < 3; ++*p, digits++)
			value = value * 8 + (**p - '0');
		return (char)value;
	}
	known = c ? strchr(from, c) : NULL;
	if (!c)
		--*p; /* the text ends in a backslash */
	return known ? to[known - from] : c;
}

bool lex_character(const char **p, char *ret_character)
{
	const char *at;
	char c;

	lex_blanks(p);
	at = *p;
	if (*at++ != '\'' || !*at)
		return false;
	c = *at++;
	if (c == '\\')
		c = escape(&at);
	if (*at++ != '\'')
		return false;
	*p = at;
	*ret_character = c;
	return true;
}

bool lex_string(const char **p, struct buf *ret_text)
{
	lex_blanks(p);
	if (**p != '"')
		return false;
	for (; **p == '"'; lex_blanks(p)) {
		for (++*p; **p && **p != '"';) {
			char c = *(*p)++;

			buf_char(ret_text, c == '\\' ? escape(p) : c);
		}
		if (!**p)
			return false;
		++*p;
	}
	return true;
}

/* ---- operands of filters ---- */

static bool ends_number(const char *end)
{
	return !isalnum((unsigned char)*end) && *end != '.';
}

bool lex_signed(const char **p, int64_t *ret_number)
{
	int64_t number;
	char *end;

	lex_blanks(p);
	errno = 0;
	number = **p == '-' ? strtoll(*p, &end, 0) : (int64_t)strtoull(*p, &end, 0);
	if (end == *p || errno || !ends_number(end))
		return false;
	*ret_number = number;
	*p = end;
	return true;
}

bool lex_real(const char **p, double *ret_number)
{
	double number;
	char *end;

	lex_blanks(p);
	errno = 0;
	number = strtod(*p, &end);
	if (end == *p || errno || !ends_number(end))
		return false;
	*ret_number = number;
	*p = end;
	return true;
}

const char *lex_text(const char **p, size_t *ret_len)
{
	const char *start;
	char quote[2] = "";

	lex_blanks(p);
	if (**p == '"' || **p == '\'')
		quote[0] = *(*p)++;
	start = *p;
	*ret_len = strcspn(start, quote[0] ? quote : " \t)&|");
	if (quote[0] && !start[*ret_len])
		return NULL;
	*p += *ret_len + (quote[0] != '\0');
	return start;
}

int32_t expr_fail(struct expr_parser *p, const char *reason)
{
	if (!p->reason) {
		p->reason = reason;
		p->at = p->mark ? p->mark : p->p;
	}
	return -1;
}
