/* SPDX-License-Identifier: MIT */
#include "base/parse.h"

#include <ctype.h>
#include <math.h>

/* clang-format off */
const uint8_t parse_hex_digits[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6, ['6'] = 7, ['7'] = 8,
	['8'] = 9, ['9'] = 10,
	['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};
/* clang-format on */

int parse_u64(const char *text, uint64_t *ret_value)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, hex ? 16 : 10);
	if (!isxdigit((unsigned char)text[0]) || *end || end == text)
		return attar_fail(-EINVAL, "'%s' is not a number", CLIP(text));
	if (errno)
		return attar_fail(-ERANGE, "'%s' is too large", CLIP(text));
	*ret_value = value;
	return 0;
}

/* Parses a non-negative decimal fraction (no exponent, no locale); *ret_end is its end. */
static int fraction(const char *text, double *ret_value, const char **ret_end)
{
	double value = 0, place = 1;
	const char *p = text;

	for (; isdigit((unsigned char)*p); p++)
		value = value * 10 + (*p - '0');
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			value += (*p - '0') * (place /= 10);
	if (p == text || (p == text + 1 && text[0] == '.'))
		return -EINVAL;
	*ret_value = value;
	*ret_end = p;
	return 0;
}

struct suffix {
	const char *name;
	uint64_t factor;
};

static const struct suffix *find_suffix(const struct suffix *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

static int scaled(const char *text, const struct suffix *list, size_t n, uint64_t bare,
	const char *what, uint64_t *ret_value)
{
	const struct suffix *suffix;
	const char *end;
	double value;

	if (fraction(text, &value, &end) < 0)
		return attar_fail(-EINVAL, "'%s' is not %s", CLIP(text), what);
	suffix = find_suffix(list, n, end);
	if (*end && !suffix)
		return attar_fail(-EINVAL, "'%s' is not %s", CLIP(text), what);
	value = value * (double)(*end ? suffix->factor : bare);
	if (value >= 0x1p63)
		return attar_fail(-ERANGE, "'%s' is too large", CLIP(text));
	*ret_value = (uint64_t)llround(value);
	return 0;
}

int parse_time(const char *text, uint64_t bare, uint64_t *ret_ns)
{
	static const struct suffix list[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000},
		{"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}};

	return scaled(text, list, ARRAY_SIZE(list), bare, "a time such as 250ms or 5s", ret_ns);
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
	static const struct suffix list[] = {{"K", 1 << 10}, {"k", 1 << 10}, {"M", 1 << 20},
		{"G", 1 << 30}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}};

	return scaled(text, list, ARRAY_SIZE(list), 1, "a size such as 512K or 4M", ret_bytes);
}

static int compare_ints(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int list_number(const char *text, const char **p, int max, int *ret_value)
{
	long value = 0;
	const char *start = *p;

	for (; isdigit((unsigned char)**p); (*p)++)
		if (*p - start < 10)
			value = value * 10 + (**p - '0');
	if (*p == start)
		return attar_fail(-EINVAL, "'%s' is not a list such as 0-3,8", CLIP(text));
	if (value > max)
		return attar_fail(-ERANGE, "%s in '%s' exceeds the maximum of %d",
			CLIP_N(start, (size_t)(*p - start)), CLIP(text), max);
	*ret_value = (int)value;
	return 0;
}

int parse_list(const char *text, int max, parse_ints *ret_list)
{
	const char *p = text;
	size_t kept = 0;

	for (;;) {
		int from = 0, to, r = list_number(text, &p, max, &from);

		if (r < 0)
			return r;
		to = from;
		if (*p == '-' && (p++, r = list_number(text, &p, max, &to)) < 0)
			return r;
		if (to < from)
			return attar_fail(-EINVAL, "the range %d-%d in '%s' is reversed", from, to,
				CLIP(text));
		for (int i = from; i <= to; i++)
			if (vec_push(ret_list, i) < 0)
				return base_oom();
		if (!*p || (*p == '\n' && !p[1]))
			break;
		if (*p++ != ',')
			return attar_fail(-EINVAL, "'%s' is not a list such as 0-3,8", CLIP(text));
	}
	qsort(ret_list->at, ret_list->n, sizeof(int), compare_ints);
	for (size_t i = 0; i < ret_list->n; i++)
		if (!i || ret_list->at[i] != ret_list->at[kept - 1])
			ret_list->at[kept++] = ret_list->at[i];
	ret_list->n = kept;
	return 0;
}

bool parse_ints_have(const parse_ints *list, int value)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->at[i] == value)
			return true;
	return false;
}
