/* SPDX-License-Identifier: MIT */
/* Tracepoint events: sys:name and patterns. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>

#include "base/file.h"
#include "base/log.h"
#include "tracefs/format.h"
#include "event/list.h"
#include "tracefs/tracefs.h"
#include "event/user_event.h"

static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[") != NULL;
}

/* Some directories of events/ftrace only describe records of the tracer; perf cannot open them. */
static bool can_open(struct attar_catalog *catalog, const char *system, const char *name)
{
	char path[4096 + 600];

	if (catalog->tracefs.recorded)
		return true;
	snprintf(path, sizeof(path), "%s/events/%s/%s/id", catalog->tracefs.path, system, name);
	return file_exists(path);
}

static int add_one(struct parser *parser, const char *system, const char *name, const char *wanted)
{
	const struct attar_format *format;
	struct attar_event_spec *spec;
	char *full;
	int r = attar_catalog_format(parser->catalog, system, name, &format);

	if (r < 0)
		return parser_context(parser, parser->event, r);
	if (!can_open(parser->catalog, system, name))
		return parser_fail(parser, parser->event, -ENOENT,
			"'%s:%s' cannot be opened with perf_event_open(2): it has no id",
			CLIP(system), CLIP(name));
	r = parser_add_format(parser, ATTAR_EVENT_TRACEPOINT, format, &spec);
	if (r < 0)
		return r;
	spec->pattern = wanted;
	if (asprintf(&full, "%s:%s", system, name) < 0)
		return base_oom();
	spec->name = list_own(parser->list, full);
	return spec->name ? 0 : base_oom();
}

static bool stopped(const struct attar_catalog *catalog)
{
	return catalog->stop && __atomic_load_n(catalog->stop, __ATOMIC_RELAXED);
}

static int add_matching(
	struct parser *parser, const char *system, const char *pattern, const char *wanted)
{
	dir_names events _cleanup_(dir_names_done) = {0};
	int r = tracefs_events(&parser->catalog->tracefs, system, &events);

	if (r < 0)
		return parser_context(parser, parser->event, r);
	vec_each (&events, event) {
		if (r < 0 || fnmatch(pattern, *event, 0) ||
			!can_open(parser->catalog, system, *event))
			continue;
		r = stopped(parser->catalog)
			    ? attar_fail(-ECANCELED, "stopped while looking up tracepoints")
			    : add_one(parser, system, *event, wanted);
	}
	return r;
}

static int add_pattern(struct parser *parser, const char *system, const char *name)
{
	dir_names systems _cleanup_(dir_names_done) = {0};
	char *wanted;
	int r = tracefs_systems(&parser->catalog->tracefs, &systems);

	if (r < 0)
		return parser_context(parser, parser->event, r);
	if (asprintf(&wanted, "%s:%s", system, name) < 0 || !list_own(parser->list, wanted))
		return base_oom();
	vec_each (&systems, it)
		if (r == 0 && fnmatch(system, *it, 0) == 0)
			r = add_matching(parser, *it, name, wanted);
	if (r == 0 && parser->list->specs.n == parser->first)
		return parser_fail(parser, parser->event, -ENOENT, "no tracepoint matches '%s:%s'",
			CLIP(system), CLIP(name));
	return r;
}

static size_t name_span(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || (p[n] && strchr("_-.*?[]!^", p[n])))
		n++;
	return n;
}

bool tracepoint_is_system(struct parser *parser, const char *word, size_t n)
{
	dir_names systems _cleanup_(dir_names_done) = {0};

	if (tracefs_systems(&parser->catalog->tracefs, &systems) < 0)
		return false;
	vec_each (&systems, it)
		if (strlen(*it) == n && memcmp(*it, word, n) == 0)
			return true;
	return false;
}

int tracepoint_add(struct parser *parser, const char *system, const char *name)
{
	return is_pattern(system) || is_pattern(name) ? add_pattern(parser, system, name)
						      : add_one(parser, system, name, NULL);
}

bool parts_are_optional(const struct parts *parts)
{
	for (size_t i = 0; i < parts->n_options; i++)
		if (!strcmp(parts->options[i].name, "optional"))
			return true;
	return false;
}

/* ---- merged tracepoints ---- */

/* Those whose events are events of another one since Linux 6.1. */
static const struct {
	const char *name, *into;
} merged[] = {{"kmem:kmalloc_node", "kmem:kmalloc"},
	{"kmem:kmem_cache_alloc_node", "kmem:kmem_cache_alloc"}};

/* Whether the text names this event. */
static bool is_named(const char *text, const char *name)
{
	size_t n = strlen(name);
	const char *p = text;

	for (; (p = strstr(p, name)); p += n)
		if ((p == text || strchr(", \t\n{", p[-1])) && strchr(",/: \t\n}", p[n]))
			return true;
	return false;
}

/*
 * After -ENOENT: leaves out a tracepoint whose events are the events of another one in the same
 * text. Returns 0, or -ENOENT with the error message.
 */
static int leave_out_merged(struct parser *parser, const char *system, const char *name)
{
	char wanted[128];

	snprintf(wanted, sizeof(wanted), "%s:%s", system, name);
	for (size_t i = 0; i < ARRAY_SIZE(merged); i++) {
		if (strcmp(merged[i].name, wanted) != 0)
			continue;
		if (!is_named(parser->text, merged[i].into))
			return parser_fail(parser, parser->event, -ENOENT,
				"this kernel has no tracepoint '%s', because Linux 6.1 merged it "
				"into '%s'" ATTAR_FIX "use %s",
				wanted, merged[i].into, merged[i].into);
		attar_error_clear();
		log_note("'%s' is left out: its events are those of '%s' since Linux 6.1", wanted,
			merged[i].into);
		return 0;
	}
	return -ENOENT;
}

int tracepoint_parse(struct parser *parser, const char *system_at, size_t system_n)
{
	size_t n = name_span(parser->p);
	char *system = list_text(parser->list, system_at, system_n);
	char *name = list_text(parser->list, parser->p, n);
	struct parts parts = {0};
	int r;

	if (!system || !name)
		return base_oom();
	if (!n || !system_n)
		return parser_fail(parser, parser->p, -EINVAL,
			"the syntax of a tracepoint is system:name, such as sched:sched_switch");
	parser->p += n;
	r = parts_parse(parser, true, &parts);
	if (r == 0)
		r = strcmp(system, USER_EVENTS) ? tracepoint_add(parser, system, name)
						: userevent_add(parser, name, &parts);
	if (r == -ENOENT && parts_are_optional(&parts)) {
		attar_error_clear();
		return 0;
	}
	if (r == -ENOENT)
		return leave_out_merged(parser, system, name);
	return r == 0 ? parts_apply(parser, &parts) : r;
}
