/* SPDX-License-Identifier: MIT */
/*
 * Splits sys:name/filter/option=value/ at slashes, without interpreting the parts.
 */
#include <ctype.h>

#include "event/list.h"

static void trim(const char **at, const char **end)
{
	while (*at < *end && isspace((unsigned char)**at))
		++*at;
	while (*at < *end && isspace((unsigned char)(*end)[-1]))
		--*end;
}

/* Removes quotes around the whole value. */
static void unquote(const char **at, const char **end)
{
	const char *a = *at, *e = *end;

	if (e - a < 2 || (a[0] != '"' && a[0] != '\'') || e[-1] != a[0])
		return;
	if (memchr(a + 1, a[0], (size_t)(e - a) - 2))
		return;
	++*at;
	--*end;
}

static int option(struct parser *parser, const char *at, const char *end,
	struct attar_event_option *ret_option)
{
	const char *name = at, *value;

	while (at < end && (isalnum((unsigned char)*at) || *at == '-' || *at == '_'))
		at++;
	if (at == name || (at < end && *at != '='))
		return parser_fail(parser, name, -EINVAL,
			"'%s' is not an option such as stack or alias=x",
			CLIP_N(name, (size_t)(end - name)));
	ret_option->name = list_text(parser->list, name, (size_t)(at - name));
	ret_option->value = NULL;
	if (at < end) {
		value = at + 1;
		unquote(&value, &end);
		ret_option->value = list_text(parser->list, value, (size_t)(end - value));
		if (!ret_option->value)
			return base_oom();
	}
	return ret_option->name ? 0 : base_oom();
}

static bool ends_event(char c)
{
	return !c || c == ',' || c == '}' || c == ':' || isspace((unsigned char)c);
}

int parser_parts(struct parser *parser, const char **ret_filter,
	const struct attar_event_option **ret_options, size_t *ret_n)
{
	const char *open = parser->p, *filter = NULL;
	VEC(struct attar_event_option) options = {0};
	int r = 0;

	for (bool first = true; r == 0 && (first || !ends_event(*parser->p)); first = false) {
		const char *at = parser->p + first, *slash = list_find(at, "/"), *end = slash;
		struct attar_event_option *o;

		if (!slash) {
			r = parser_fail(parser, open, -EINVAL,
				"missing closing '/': the syntax is sys:name/filter/");
			break;
		}
		parser->p = slash + 1;
		trim(&at, &end);
		if (at == end)
			continue;
		if (first) {
			unquote(&at, &end);
			filter = list_text(parser->list, at, (size_t)(end - at));
			r = filter ? 0 : base_oom();
		} else {
			o = vec_add(&options);
			r = o ? option(parser, at, end, o) : base_oom();
		}
	}
	if (r == 0 && options.n && !list_own(parser->list, options.at))
		return base_oom();
	if (r < 0) {
		vec_done(&options);
		return r;
	}
	*ret_filter = filter;
	*ret_options = options.at;
	*ret_n = options.n;
	return 0;
}
