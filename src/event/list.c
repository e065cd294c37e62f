/* SPDX-License-Identifier: MIT */
#include "event/list.h"

#include <stdio.h>
#include <sys/stat.h>

#include "attar/private/event.h"
#include "base/file_limit.h"

void *list_own(struct list *list, void *p)
{
	if (p && vec_push(&list->owned, p) == 0)
		return p;
	free(p);
	return NULL;
}

char *list_text(struct list *list, const char *at, size_t n)
{
	return list_own(list, strndup(at, n));
}

static bool is_same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* The list's descriptor of the file; fd is closed if it has one already. Negative: no memory. */
static int keep_file(struct list *list, int fd)
{
	vec_each (&list->files, kept)
		if (is_same_file(*kept, fd)) {
			close(fd);
			return *kept;
		}
	if (vec_push(&list->files, fd) == 0)
		return fd;
	close(fd);
	return base_oom();
}

const char *list_file(struct list *list, int fd)
{
	char link[32];

	if (fd < 0) {
		file_limit_fail(errno, "cannot open a file to probe it");
		return NULL;
	}
	fd = keep_file(list, fd);
	if (fd < 0)
		return NULL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return list_text(list, link, strlen(link)) ?: (base_oom(), NULL);
}

/*
 * True if a character of `ends` is outside quotes, parentheses and braces: *ret_at. Otherwise
 * *ret_at is the quote, parenthesis or brace that is not closed, or NULL.
 */
static bool scan(const char *text, const char *ends, const char **ret_at)
{
	const char *quote = NULL, *open = NULL;
	unsigned depth = 0;

	for (const char *p = text; *p; p++) {
		if (quote && *p == '\\' && p[1])
			p++;
		else if (quote)
			quote = *p == *quote ? NULL : quote;
		else if (*p == '"' || *p == '\'')
			quote = p;
		else if (*p == '(' || *p == '{')
			open = depth++ ? open : p;
		else if ((*p == ')' || *p == '}') && depth)
			depth--;
		else if (!depth && strchr(ends, *p)) {
			*ret_at = p;
			return true;
		}
	}
	*ret_at = quote ? quote : depth ? open : NULL;
	return false;
}

const char *list_find(const char *text, const char *ends)
{
	const char *at;

	return scan(text, ends, &at) ? at : NULL;
}

const char *list_unclosed(const char *text)
{
	const char *at;

	scan(text, "", &at);
	return at;
}

const char *quote_close(const char *open, const char *end)
{
	for (const char *p = open + 1; p != end && *p; p++) {
		if (*p == *open)
			return p;
		p += *p == '\\' && p + 1 != end && p[1];
	}
	return NULL;
}

char *quote_text(const char *open, const char *close)
{
	char *copy = strndup(open + 1, (size_t)(close - open - 1)), *to = copy;

	if (!copy)
		return NULL;
	for (const char *p = copy; *p; *to++ = *p++)
		p += p[0] == '\\' && p[1] == *open;
	*to = '\0';
	return copy;
}

int list_cpus(struct list *list, struct attar_event_spec *spec, const int *cpus, size_t n)
{
	int *copy;

	if (!n)
		return 0;
	copy = list_own(list, malloc(n * sizeof(*copy)));
	if (!copy)
		return base_oom();
	memcpy(copy, cpus, n * sizeof(*copy));
	spec->cpus = copy;
	spec->n_cpus = n;
	return 0;
}

struct attar_event_list *attar_event_list_free(struct attar_event_list *pub)
{
	struct list *list = list_of(pub);

	if (!list)
		return NULL;
	vec_each (&list->owned, p)
		free(*p);
	vec_done(&list->owned);
	vec_each (&list->formats, format)
		attar_format_free(*format);
	vec_done(&list->formats);
	vec_each (&list->files, fd)
		close(*fd);
	vec_done(&list->files);
	vec_done(&list->letters);
	vec_done(&list->specs);
	free(list->text);
	free(list);
	return NULL;
}

unsigned parser_column(const struct parser *parser, const char *at)
{
	return (unsigned)(at - parser->text) + 1;
}

int parser_context(struct parser *parser, const char *at, int code)
{
	parser->wrong = at;
	return code;
}

int parser_vfail(struct parser *parser, const char *at, int code, const char *fmt, va_list args)
{
	return parser_context(parser, at, base_vfail(code, fmt, args));
}

int parser_fail(struct parser *parser, const char *at, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	code = parser_vfail(parser, at, code, fmt, args);
	va_end(args);
	return code;
}

int parser_add(
	struct parser *parser, enum attar_event_kind kind, struct attar_event_spec **ret_spec)
{
	struct list *list = parser->list;
	struct attar_event_spec *spec;

	if (list->specs.n >= LIST_EVENTS_MAX)
		return parser_fail(
			parser, parser->event, -E2BIG, "more than %d events", LIST_EVENTS_MAX);
	spec = vec_add(&list->specs);
	if (!spec || vec_push(&list->letters, (struct letters){0}) < 0)
		return base_oom();
	spec->kind = kind;
	spec->item = parser->item;
	spec->column = parser_column(parser, parser->event);
	spec->text = list->text;
	spec->group = -1;
	spec->unit = "";
	spec->scale = 1;
	*ret_spec = spec;
	return 0;
}

int parser_add_format(struct parser *parser, enum attar_event_kind kind,
	const struct attar_format *format, struct attar_event_spec **ret_spec)
{
	int r = parser_add(parser, kind, ret_spec);

	if (r < 0)
		return r;
	(*ret_spec)->type = PERF_TYPE_TRACEPOINT;
	(*ret_spec)->config = format->id;
	(*ret_spec)->format = format;
	return 0;
}

const char *transport_name(enum attar_transport transport)
{
	static const char *const names[] = {"", "kernel", "shm", "usdt"};

	return (unsigned)transport < ARRAY_SIZE(names) ? names[transport] : "?";
}

const char *event_kind_name(enum attar_event_kind kind)
{
	static const char *const names[] = {
		[ATTAR_EVENT_HARDWARE] = "hardware",
		[ATTAR_EVENT_CACHE] = "cache",
		[ATTAR_EVENT_SOFTWARE] = "software",
		[ATTAR_EVENT_RAW] = "raw",
		[ATTAR_EVENT_PMU] = "pmu",
		[ATTAR_EVENT_TRACEPOINT] = "tracepoint",
		[ATTAR_EVENT_PROBE] = "probe",
		[ATTAR_EVENT_BREAKPOINT] = "breakpoint",
		[ATTAR_EVENT_USER] = "user event",
		[ATTAR_EVENT_PROFILER] = "profiler",
	};

	return (unsigned)kind < ARRAY_SIZE(names) ? names[kind] : "?";
}
