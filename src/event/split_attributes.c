/* SPDX-License-Identifier: MIT */
/*
 * Splits /filter/attribute/attribute=value/ at slashes. The last slash may be missing at the end of
 * the event string.
 */
#include <ctype.h>

#include "event/attributes.h"

static void trim(const char **at, const char **end)
{
	while (*at < *end && isspace((unsigned char)**at))
		++*at;
	while (*at < *end && isspace((unsigned char)(*end)[-1]))
		--*end;
}

/*
 * Copies a value without quotes around the whole of it. *at is advanced to the first character of
 * the value.
 */
static char *copy_value(struct list *list, const char **at, const char *end)
{
	const char *open = *at;

	if (end - open < 2 || (*open != '"' && *open != '\'') || quote_close(open, end) != end - 1)
		return list_text(list, open, (size_t)(end - open));
	++*at;
	return list_own(list, quote_text(open, end - 1));
}

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_';
}

static int read_option(struct parser *parser, const char *at, const char *end,
	struct attar_event_option *ret_option)
{
	const char *name = at, *name_end;
	struct attar_event_option option = {.column = parser_column(parser, at)};

	while (at < end && is_name_char(*at))
		at++;
	name_end = at;
	while (at < end && isspace((unsigned char)*at))
		at++;
	if (name_end == name || isdigit((unsigned char)*name) || (at < end && *at != '=') ||
		(end - at > 1 && at[1] == '='))
		return parser_fail(parser, name, -EINVAL,
			"'%s' is not an attribute such as stack or alias=x" ATTAR_FIX
			"a filter with a '/' needs parentheses, as in EVENT/(a/b)>1/",
			CLIP_N(name, (size_t)(end - name)));
	option.name = list_text(parser->list, name, (size_t)(name_end - name));
	if (!option.name)
		return base_oom();
	if (at < end) {
		at++;
		trim(&at, &end);
		option.value = copy_value(parser->list, &at, end);
		option.value_column = parser_column(parser, at);
		if (!option.value)
			return base_oom();
	}
	*ret_option = option;
	return attribute_check(parser, ret_option);
}

/* Where the next event begins, in a part that seems to lack its slash: "prio<10,sched:wakeup". */
static const char *next_event(const char *at, const char *end)
{
	const char *comma;

	for (; (comma = list_find(at, ",")) && comma < end; at = comma + 1) {
		const char *p = comma + 1;

		while (isspace((unsigned char)*p))
			p++;
		at = p;
		while (is_name_char(*p))
			p++;
		if (p > at && *p == ':' && is_name_char(p[1]))
			return comma;
	}
	return NULL;
}

static int missing_slash(struct parser *parser, const char *at)
{
	return parser_fail(parser, at, -EINVAL,
		"missing closing '/'" ATTAR_FIX "the syntax is EVENT/FILTER/ATTRIBUTE/.../");
}

/* The options of a profiler, "-F 500 -g": neither filters nor attributes begin with a dash. */
static bool are_options(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return *at == '-';
}

/* Whether a path that is the value of an option begins at the slash: "-d /dev/sda". */
static bool begins_path(const char *at, const char *slash)
{
	const char *p = slash, *word = slash + 1;

	if (p == at || (!isspace((unsigned char)p[-1]) && p[-1] != '='))
		return false;
	while (p > at && isspace((unsigned char)p[-1]))
		p--;
	while (p > at && !isspace((unsigned char)p[-1]))
		p--;
	while (is_name_char(*word))
		word++;
	return *p == '-' && word > slash + 1 && *word == '/' && is_name_char(word[1]);
}

/* The slash that ends the options of a profiler: after a path, the one that ends its last word. */
static const char *options_end(const char *at)
{
	const char *slash = list_find(at, "/");

	while (slash && begins_path(at, slash)) {
		const char *p = slash;

		while (*p && !isspace((unsigned char)*p) && !(*p == '/' && strchr(",}:", p[1])))
			p++;
		slash = *p == '/' ? p : list_find(p, "/");
	}
	return slash;
}

/* Finds the end of the part at `at`; *ret_next is after its slash. */
static int find_end(struct parser *parser, const char *open, const char *at, bool is_options,
	const char **ret_end, const char **ret_next)
{
	const char *slash = is_options ? options_end(at) : list_find(at, "/");
	const char *bad = slash ? NULL : list_unclosed(at);

	if (bad)
		return parser_fail(parser, bad, -EINVAL, "missing closing %s for this %c",
			*bad == '('   ? ")"
			: *bad == '{' ? "}"
				      : "quote",
			*bad);
	if (!slash && list_find(at, ",}"))
		return missing_slash(parser, open);
	*ret_end = slash ? slash : at + strlen(at);
	*ret_next = slash ? slash + 1 : *ret_end;
	bad = is_options ? NULL : next_event(at, *ret_end);
	return bad ? missing_slash(parser, bad) : 0;
}

/* Whether what follows a slash is not a further attribute. */
static bool ends_event(const char *p)
{
	if (*p == ':')
		return true;
	while (isspace((unsigned char)*p))
		p++;
	return !*p || *p == ',' || *p == '}';
}

typedef VEC(struct attar_event_option) option_list;

static int add_option(struct parser *parser, const char *at, const char *end, option_list *options)
{
	struct attar_event_option option;
	int r;

	if (at == end)
		return parser_fail(parser, at, -EINVAL,
			"empty attribute" ATTAR_FIX
			"remove a '/' or insert an attribute such as stack");
	r = read_option(parser, at, end, &option);
	if (r == 0)
		r = attribute_check_repeated(parser, options->at, options->n, &option);
	return r < 0 ? r : vec_push(options, option);
}

int parts_parse(struct parser *parser, bool has_filter, struct parts *ret_parts)
{
	const char *open = parser->p;
	struct parts parts = {0};
	option_list options = {0};
	int r = 0;

	if (*parser->p++ != '/') {
		parser->p--;
		*ret_parts = parts;
		return 0;
	}
	for (bool first = true; r == 0 && (first || !ends_event(parser->p)); first = false) {
		const char *at = parser->p, *end;

		r = find_end(
			parser, open, at, first && has_filter && are_options(at), &end, &parser->p);
		if (r < 0)
			break;
		trim(&at, &end);
		if (!first || !has_filter) {
			r = add_option(parser, at, end, &options);
		} else if (at < end) {
			parts.filter = copy_value(parser->list, &at, end);
			parts.filter_column = parser_column(parser, at);
			r = parts.filter ? 0 : base_oom();
		}
	}
	if (r == 0 && options.n && !list_own(parser->list, options.at))
		return base_oom();
	if (r < 0) {
		vec_done(&options);
		return r;
	}
	parts.options = options.at;
	parts.n_options = options.n;
	*ret_parts = parts;
	return 0;
}

int parts_apply(struct parser *parser, const struct parts *parts)
{
	int r = 0;

	for (size_t i = parser->first; r == 0 && i < parser->list->specs.n; i++) {
		struct attar_event_spec *spec = &parser->list->specs.at[i];

		spec->filter = parts->filter;
		spec->filter_column = parts->filter_column;
		spec->options = parts->options;
		spec->n_options = parts->n_options;
		r = attributes_apply(parser, i);
	}
	return r;
}
