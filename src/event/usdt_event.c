/* SPDX-License-Identifier: MIT */
/*
 * The arguments of a probe are fetched by a uprobe of tracefs, so that they are fields of the
 * event. All locations of a probe are one event if the kernel allows it (since 5.4) and the types
 * of their arguments are the same.
 */
#include "event/usdt_event.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/parse.h"
#include "base/proc_tree.h"
#include "event/modifier.h"
#include "event/probe.h"
#include "event/usdt_files.h"
#include "perf/kernel.h"

enum { PID_MAX = 4194304 };

#define SYNTAX "the syntax is usdt:FILE:PROVIDER:NAME or usdt:PROVIDER:NAME"

/* ---- the text ---- */

static size_t name_span(const char *p)
{
	return strcspn(p, ":,/{}\"' \t\n");
}

/* Whether FILE:PROVIDER:NAME, not PROVIDER:NAME and perhaps modifiers, begins at p. */
static bool begins_with_file(const char *p, size_t n)
{
	const char *second = p + n + (p[n] == ':'), *third = second + name_span(second);
	size_t letters;

	if (memchr(p, '/', n))
		return true;
	if (*third++ != ':')
		return false;
	letters = name_span(third);
	return letters && (third[letters] == ':' || modifier_unknown(third, letters));
}

/* Takes FILE and the colon after it, if a file is named. */
static int read_file_part(const char **p, char **ret_file)
{
	const char *at = *p, *end;
	char quote = *at == '"' || *at == '\'' ? *at : 0;

	end = quote ? quote_close(at, NULL) : at + strcspn(at, ":,{}\"' \t\n");
	if (!end)
		return attar_fail(-EINVAL, "missing closing %c", quote);
	if (!quote && !begins_with_file(at, (size_t)(end - at)))
		return 0;
	*ret_file = quote ? quote_text(at, end) : strndup(at, (size_t)(end - at));
	end += quote != 0;
	if (*end == ':')
		end++;
	*p = end;
	return *ret_file ? 0 : base_oom();
}

static int take_name(const char **p, char **ret_name)
{
	size_t n = name_span(*p);

	*ret_name = strndup(*p, n);
	*p += n;
	return *ret_name ? 0 : base_oom();
}

int usdt_request_read(const char *text, struct usdt_request *ret_request, const char **ret_end)
{
	struct usdt_request request = {0};
	const char *p = text;
	int r = read_file_part(&p, &request.file);

	if (r == 0 && name_span(p))
		r = take_name(&p, &request.provider);
	if (r == 0 && request.provider && *p == ':' && name_span(p + 1)) {
		p++;
		r = take_name(&p, &request.name);
	}
	if (r < 0) {
		usdt_request_done(&request);
		return r;
	}
	*ret_end = p;
	*ret_request = request;
	return 0;
}

void usdt_request_done(struct usdt_request *request)
{
	free(request->file);
	free(request->provider);
	free(request->name);
	*request = (struct usdt_request){0};
}

char *usdt_event_name(const char *file, const struct usdt_location *location)
{
	bool is_quoted = strpbrk(file, ":,{}\"' \t\n");
	struct buf b = {0};

	buf_str(&b, is_quoted ? "usdt:\"" : "usdt:");
	for (const char *p = file; *p; p++) {
		if (*p == '"')
			buf_char(&b, '\\');
		buf_char(&b, *p);
	}
	buf_printf(&b, "%s:%s:%s", is_quoted ? "\"" : "", location->provider, location->name);
	return buf_take(&b);
}

/* ---- the files ---- */

/* The probes of one event, and where they were looked up. */
struct search {
	const struct usdt_request *request;
	struct list *list; /* keeps files with probes open */
	struct usdt_table table;
	struct intern files; /* that were read */
};

/* Names the file of new locations, and keeps it open until the kernel has it. */
static int keep_file(struct search *s, const struct usdt_file *file, size_t first)
{
	const char *path = intern_text(&s->table.texts, file->path), *link;

	if (!path)
		return base_oom();
	link = list_file(s->list, fcntl(file->fd, F_DUPFD_CLOEXEC, 0));
	if (!link)
		return -ENOMEM;
	for (size_t i = first; i < s->table.locations.n; i++) {
		s->table.locations.at[i].file = path;
		s->table.locations.at[i].link = link;
	}
	return 0;
}

static int search_file(void *ctx, const struct usdt_file *file)
{
	struct search *s = ctx;
	size_t before = s->files.n, first = s->table.locations.n;
	int r = intern_text(&s->files, file->path) ? 0 : -ENOMEM;

	if (r < 0 || s->files.n == before)
		return r;
	r = usdt_table_add(&s->table, file->link, s->request->provider, s->request->name);
	if (r == 0 && s->table.locations.n > first)
		r = keep_file(s, file, first);
	return r == -ENOMEM ? r : 0;
}

/* The files of the catalog's program and processes. */
static int search_watched(struct search *s, const struct attar_catalog *catalog)
{
	parse_ints pids = {0};
	int r = catalog->program ? usdt_program_file(catalog->program, search_file, s) : 0;

	if (r == 0 && catalog->pids)
		r = parse_list(catalog->pids, PID_MAX, &pids);
	if (r == 0 && catalog->descendants)
		r = proc_add_descendants(&pids);
	for (size_t i = 0; r == 0 && i < pids.n; i++)
		r = usdt_each_file(pids.at[i], search_file, s);
	vec_done(&pids);
	return r;
}

static int search_named(struct search *s, const char *file)
{
	char *path = NULL;
	int r = probe_find_file(file, &path);

	if (r == 0)
		r = usdt_named_file(path, search_file, s);
	free(path);
	return r;
}

static int none_found(const struct search *s, const struct attar_catalog *catalog)
{
	const struct usdt_request *q = s->request;
	char *path _cleanup_free_ = NULL;
	int r = q->file ? probe_find_file(q->file, &path) : 0;

	if (q->file)
		return r < 0 ? r : usdt_none_found(path, q->provider, q->name);
	if (!catalog->program && !catalog->pids)
		return attar_fail(-EINVAL,
			"'%s:%s' requires a file (usdt:FILE:PROVIDER:NAME), a command or -p PID",
			CLIP(q->provider), CLIP(q->name));
	return attar_fail(-ENOENT,
		"no USDT probe '%s:%s' in %zu file%s of the %s%s" ATTAR_FIX
		"name the file, as in usdt:FILE:PROVIDER:NAME",
		CLIP(q->provider), CLIP(q->name), s->files.n, PLURAL_S(s->files.n),
		catalog->program ? "command" : "processes",
		catalog->program ? " (its libraries are not searched)" : "");
}

/* ---- the events ---- */

static bool is_pattern(const struct usdt_request *request)
{
	return strpbrk(request->provider, "*?[") || strpbrk(request->name, "*?[");
}

static struct probe probe_at(const struct usdt_location *l)
{
	return (struct probe){.user = true,
		.func = l->name,
		.offset = l->offset,
		.ref = l->ref,
		.file = l->file,
		.link = l->link,
		.fetch = l->fetch};
}

static int name_spec(struct parser *parser, const struct usdt_request *request, const char *end,
	const struct usdt_location *l)
{
	struct attar_event_spec *spec = &parser->list->specs.at[parser->list->specs.n - 1];
	const char *written = list_text(parser->list, parser->event, (size_t)(end - parser->event));

	spec->name = written;
	if (!written || !is_pattern(request))
		return written ? 0 : base_oom();
	spec->pattern = written;
	spec->name =
		list_own(parser->list, usdt_event_name(request->file ? request->file : l->file, l));
	return spec->name ? 0 : base_oom();
}

/* Adds an event of tracefs for n locations with equal arguments. */
static int by_tracefs(struct parser *parser, const struct usdt_location *l, size_t n)
{
	struct tracefs *tracefs = &parser->catalog->tracefs;
	const struct attar_format *format;
	struct attar_event_spec *spec;
	const char *system, *name;
	struct probe probe = probe_at(l);
	int r = dynamic_event_create(tracefs, &probe, &system, &name);

	for (size_t i = 1; r == 0 && i < n; i++) {
		probe = probe_at(&l[i]);
		r = dynamic_event_append(tracefs, &probe, name);
	}
	if (r == 0)
		r = attar_catalog_format(parser->catalog, system, name, &format);
	return r < 0 ? r : parser_add_format(parser, ATTAR_EVENT_PROBE, format, &spec);
}

static int by_pmu(struct parser *parser, const struct usdt_location *l, struct pmu *pmu)
{
	struct probe probe = probe_at(l);

	probe.func = NULL;
	return probe_add_by_pmu(parser, &probe, pmu);
}

/* Adds one event; by the PMU, without arguments, if tracefs cannot be used. */
static int add_event(struct parser *parser, const struct usdt_request *request, const char *end,
	const struct usdt_location *l, size_t n)
{
	struct pmu *pmu = pmu_match(parser->catalog, "uprobe", 0);
	int r = by_tracefs(parser, l, n);

	if (r == 0)
		return name_spec(parser, request, end, l);
	if (r == -ENOMEM || !pmu)
		return r;
	log_note("the arguments of the USDT probe '%s:%s' are not fetched: %s", l->provider,
		l->name, attar_error());
	for (size_t i = 0; i < n; i++) {
		r = by_pmu(parser, &l[i], pmu);
		if (r == 0)
			r = name_spec(parser, request, end, &l[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool share_event(const struct usdt_location *a, const struct usdt_location *b)
{
	return kernel_get()->version >= KERNEL_VERSION_OF(5, 4) && a->provider == b->provider &&
	       a->name == b->name && a->arguments == b->arguments;
}

static int add_events(struct parser *parser, const struct usdt_request *request, const char *end,
	const struct usdt_table *table)
{
	const struct usdt_location *l = table->locations.at;
	int r = 0;

	for (size_t i = 0, n; r == 0 && i < table->locations.n; i += n) {
		for (n = 1; i + n < table->locations.n && share_event(&l[i], &l[i + n]);)
			n++;
		if (*l[i].unfetched && !is_pattern(request))
			log_note("uprobes cannot fetch all arguments of the USDT probe '%s:%s':%s",
				l[i].provider, l[i].name, l[i].unfetched);
		r = add_event(parser, request, end, &l[i], n);
	}
	return r;
}

static int find_and_add(struct parser *parser, const struct usdt_request *request, const char *end)
{
	struct search s = {.request = request, .list = parser->list};
	int r = request->file ? search_named(&s, request->file)
			      : search_watched(&s, parser->catalog);

	if (r == 0 && !s.table.locations.n)
		r = none_found(&s, parser->catalog);
	usdt_table_sort(&s.table);
	if (r == 0)
		r = add_events(parser, request, end, &s.table);
	usdt_table_done(&s.table);
	intern_done(&s.files);
	return r < 0 && r != -ENOMEM ? parser_context(parser, parser->event, r) : r;
}

/* Takes the filter and options after the name, for all specs of the event. */
static int add_parts(struct parser *parser, const struct usdt_request *request, const char *end)
{
	struct parts parts;
	int r;

	modifier_take_early(parser);
	r = parts_parse(parser, true, &parts);
	if (r == 0) /* recorded_probe_parse() finds events of a recording */
		r = parser->catalog->tracefs.recorded ? probe_not_recorded(parser)
						      : find_and_add(parser, request, end);
	return r == 0 ? parts_apply(parser, &parts) : r;
}

int usdt_parse(struct parser *parser)
{
	struct usdt_request request;
	const char *at = parser->p;
	int r = usdt_request_read(at, &request, &parser->p);

	if (r < 0)
		return parser_context(parser, at, r);
	if (request.file && request.provider && !request.name) { /* usdt:FILE:NAME */
		request.name = request.provider;
		request.provider = strdup("*");
	}
	if (!request.provider || !request.name)
		r = parser_fail(parser, at, -EINVAL, SYNTAX);
	if (r == 0)
		r = add_parts(parser, &request, parser->p);
	usdt_request_done(&request);
	return r;
}

int usdt_parse_sdt(struct parser *parser, const char *provider, size_t n)
{
	size_t span = name_span(parser->p);
	struct usdt_request request = {
		.provider = strndup(provider, n), .name = strndup(parser->p, span)};
	int r = 0;

	if (!request.provider || !request.name)
		r = base_oom();
	else if (!span)
		r = parser_fail(parser, parser->p, -EINVAL, SYNTAX);
	parser->p += span;
	if (r == 0)
		r = add_parts(parser, &request, parser->p);
	usdt_request_done(&request);
	return r;
}
