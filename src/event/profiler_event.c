/* SPDX-License-Identifier: MIT */
/* A profiler as an event: profile/-F 500 -g/untraced/. */
#include <ctype.h>

#include "base/buf.h"
#include "event/generic_events.h"
#include "event/list.h"

typedef VEC(const char *) argument_list;

/*
 * Takes one argument of a command line at *p, as a shell splits it: quotes group, and a backslash
 * outside single quotes escapes the next character.
 */
static char *take_argument(struct list *list, const char **p)
{
	struct buf b = {0};
	char quote = 0;

	buf_str(&b, "");
	for (; **p && (quote || !isspace((unsigned char)**p)); ++*p) {
		if (**p == '\\' && quote != '\'' && (*p)[1])
			buf_char(&b, *++*p);
		else if (quote ? **p == quote : **p == '"' || **p == '\'')
			quote = quote ? 0 : **p;
		else
			buf_char(&b, **p);
	}
	return list_own(list, buf_take(&b));
}

static int profiler_event_split(struct list *list, const char *line, struct attar_event_spec *spec)
{
	argument_list arguments = {0};
	int r = 0;

	for (const char *p = line; p && r == 0;) {
		char *argument;

		while (isspace((unsigned char)*p))
			p++;
		if (!*p)
			break;
		argument = take_argument(list, &p);
		r = argument ? vec_push(&arguments, argument) : base_oom();
	}
	spec->n_arguments = arguments.n;
	if (r == 0)
		r = vec_push(&arguments, NULL);
	if (r < 0) {
		vec_done(&arguments);
		return r;
	}
	spec->arguments = arguments.at;
	return list_own(list, arguments.at) ? 0 : base_oom();
}

static int profiler_event_add(
	struct parser *parser, const char *name, const char *end, const struct parts *parts)
{
	struct attar_event_spec *spec;
	int r = parser_add(parser, ATTAR_EVENT_PROFILER, &spec);

	if (r < 0)
		return r;
	spec->type = PERF_TYPE_SOFTWARE;
	spec->config = PERF_COUNT_SW_DUMMY;
	spec->profiler = name;
	spec->name = list_text(parser->list, parser->event, (size_t)(end - parser->event));
	if (!spec->name)
		return base_oom();
	r = profiler_event_split(parser->list, parts->filter, spec);
	if (r == 0)
		r = parts_apply(parser, parts);
	spec->filter = NULL;
	return r;
}

/* "/-N 10/": terms of an event do not begin with a dash. */
static bool has_options(const char *p)
{
	if (*p++ != '/')
		return false;
	while (isspace((unsigned char)*p))
		p++;
	return *p == '-';
}

/* Profilers are also named after the event that they show: page-faults. */
static bool is_event(const char *word, size_t n)
{
	size_t n_hardware, n_software;
	const struct name *hardware = names_hardware(&n_hardware);
	const struct name *software = names_software(&n_software);

	return names_find(hardware, n_hardware, word, n) ||
	       names_find(software, n_software, word, n);
}

int profiler_event_parse(struct parser *parser, const char *word)
{
	size_t n = strcspn(word, ",/{} \t\n");
	struct parts parts;
	int r;

	if (is_event(word, n) && !has_options(word + n))
		return 0;
	for (const char *const *p = parser->catalog->profilers; p && *p; p++) {
		if (strlen(*p) != n || memcmp(*p, word, n) != 0)
			continue;
		parser->p = word + n;
		r = parts_parse(parser, true, &parts);
		if (r == 0)
			r = profiler_event_add(parser, *p, word + n, &parts);
		return r < 0 ? r : 1;
	}
	return 0;
}
