/* SPDX-License-Identifier: MIT */
#include "event/user_event.h"

#include <stdio.h>

#include "attar/private/event.h"
#include "base/file.h"
#include "base/file_limit.h"
#include "expr/filter.h"
#include "tracefs/format.h"

enum { FORMAT_MAX = 32768, NAME_LONGEST = 255, SCANS_MAX = 3 };

/* ---- registered events ---- */

enum userevent_kernel userevent_kernel(struct attar_catalog *catalog)
{
	const char *tracefs;
	char path[4096];

	if (attar_catalog_tracefs(catalog, &tracefs) < 0) {
		attar_error_clear();
		return USEREVENT_KERNEL_UNSEEN;
	}
	snprintf(path, sizeof(path), "%s/user_events_data", tracefs);
	return file_exists(path) ? USEREVENT_KERNEL_YES : USEREVENT_KERNEL_NO;
}

int userevent_each(const pid_t *pids, size_t n_pids, perfume_registered_fn *fn, void *ctx)
{
	struct perfume_collector_options options = {
		.size = sizeof(options), .patterns = "", .pids = pids, .n_pids = n_pids};
	struct perfume_collector *collector;
	int r = perfume_collector_new(&options, &collector);

	if (r < 0)
		return file_limit_fail(-r, "cannot search for events of programs");
	for (int scans = 0; scans < SCANS_MAX; scans++) {
		r = perfume_collector_scan(collector);
		if (r < 0 || perfume_collector_scan_is_complete(collector))
			break;
	}
	if (r >= 0)
		r = perfume_collector_each(collector, fn, ctx);
	perfume_collector_free(collector);
	return r;
}

int userevent_format(const char *name, const char *fields, int id, struct attar_format **ret_format)
{
	char *text _cleanup_free_ = malloc(FORMAT_MAX);
	int n;

	if (!text)
		return base_oom();
	n = perfume_collector_format(name, fields, id, text, FORMAT_MAX);
	if (n < 0 || n >= FORMAT_MAX)
		return attar_fail(-EBADMSG, "malformed fields of '%s': %s", CLIP(name), fields);
	return attar_format_parse(USER_EVENTS, text, (size_t)n, ret_format);
}

/* ---- parsing ---- */

static int transport_of(struct parser *parser, const char *word, enum attar_transport *ret)
{
	for (unsigned t = ATTAR_TRANSPORT_KERNEL; t <= ATTAR_TRANSPORT_USDT; t++)
		if (!strcmp(word, transport_name(t))) {
			*ret = t;
			return 0;
		}
	return parser_fail(parser, parser->event, -EINVAL,
		"'%s' is not a transport" ATTAR_FIX "use kernel, shm or usdt", CLIP(word));
}

/* It may also be in the position of the filter. */
static int take_transport(struct parser *parser, struct parts *parts, enum attar_transport *ret)
{
	static const char key[] = "transport=";

	*ret = ATTAR_TRANSPORT_NONE;
	for (size_t i = 0; i < parts->n_options; i++)
		if (!strcmp(parts->options[i].name, "transport"))
			return transport_of(parser,
				parts->options[i].value ? parts->options[i].value : "", ret);
	if (!parts->filter || strncmp(parts->filter, key, sizeof(key) - 1))
		return 0;
	if (transport_of(parser, parts->filter + sizeof(key) - 1, ret) < 0)
		return -EINVAL;
	parts->filter = NULL;
	return 0;
}

/* The format of an event, if it is the same in all programs. */
struct agreed {
	const char *name;
	struct attar_format *format;
	char *fields;
	bool differ;
};

static int agree(void *ctx, const struct perfume_registered *event)
{
	struct agreed *a = ctx;

	if (strcmp(event->source->name, a->name) != 0)
		return 0;
	if (a->fields) {
		a->differ |= strcmp(a->fields, event->source->fields) != 0;
		return 0;
	}
	a->fields = strdup(event->source->fields);
	if (a->fields && userevent_format(a->name, a->fields, 0, &a->format) < 0)
		attar_error_clear();
	return 0;
}

static int find_format(struct parser *parser, const char *name, const struct attar_format **ret)
{
	struct agreed a = {.name = name};

	if (userevent_each(NULL, 0, agree, &a) < 0)
		attar_error_clear();
	free(a.fields);
	if (a.differ || !a.format) {
		attar_format_free(a.format);
		return 0;
	}
	if (vec_push(&parser->list->formats, a.format) < 0) {
		attar_format_free(a.format);
		return base_oom();
	}
	*ret = a.format;
	return 0;
}

static size_t no_name(void *ctx, const struct attar_expr_record *record, uint64_t number,
	char *ret_text, size_t max)
{
	return 0;
}

static void no_output(void *ctx, const char *text, size_t n)
{
}

/*
 * If a running program provides the fields, report filter errors now. Whether functions can be used
 * is not known yet.
 */
static int check_filter(struct parser *parser, const char *text, const struct attar_format *format)
{
	unsigned column = 0;
	const struct attar_expr_opts opts = {.size = sizeof(opts),
		.flags = ATTAR_EXPR_ALLOW_EXEC,
		.ksymbol = no_name,
		.usymbol = no_name,
		.comm_get = no_name,
		.output = no_output,
		.ustring = no_name,
		.fd_name = no_name,
		.ret_column = &column}; /* the whole event is shown */
	struct filter_choice choice = {0};
	int r = filter_choose(text, format, false, &opts, &choice);

	filter_free(choice.keep);
	return r < 0 ? parser_context(parser, parser->event, r) : 0;
}

/* Adds a dummy event, which keeps the position in the list. */
static int add_user(struct parser *parser, const char *name, const struct parts *parts,
	enum attar_transport transport)
{
	struct attar_event_spec *spec;
	char *full;
	int r;

	if (strlen(name) > NAME_LONGEST)
		return parser_fail(parser, parser->event, -EINVAL,
			"the name of an event must be at most %d bytes long", NAME_LONGEST);
	r = parser_add(parser, ATTAR_EVENT_USER, &spec);
	if (r < 0)
		return r;
	spec->type = PERF_TYPE_SOFTWARE;
	spec->config = PERF_COUNT_SW_DUMMY;
	spec->transport = transport;
	spec->user_event = name;
	if (asprintf(&full, USER_EVENTS ":%s", name) < 0)
		return base_oom();
	spec->name = list_own(parser->list, full);
	if (!spec->name)
		return base_oom();
	if (strpbrk(name, "*?[") || find_format(parser, name, &spec->format) < 0)
		return 0;
	return parts->filter && spec->format ? check_filter(parser, parts->filter, spec->format)
					     : 0;
}

static int no_kernel(struct parser *parser, const char *name, int error)
{
	if (userevent_kernel(parser->catalog) != USEREVENT_KERNEL_NO)
		return error;
	return parser_fail(parser, parser->event, -EOPNOTSUPP,
		"'user_events:%s': transport=kernel requires Linux 6.4 or newer with "
		"CONFIG_USER_EVENTS=y; transport=shm and transport=usdt do not",
		name);
}

int userevent_add(struct parser *parser, const char *name, struct parts *parts)
{
	enum attar_transport transport;
	int r = take_transport(parser, parts, &transport);

	if (r < 0)
		return r;
	if (transport == ATTAR_TRANSPORT_SHM || transport == ATTAR_TRANSPORT_USDT)
		return add_user(parser, name, parts, transport);
	r = tracepoint_add(parser, USER_EVENTS, name);
	if (r == -ENOENT || r == -ENODEV || r == -EOPNOTSUPP || r == -EACCES) {
		if (transport == ATTAR_TRANSPORT_KERNEL)
			return no_kernel(parser, name, r);
		attar_error_clear();
		return add_user(parser, name, parts, transport);
	}
	for (size_t i = parser->first; r == 0 && i < parser->list->specs.n; i++) {
		struct attar_event_spec *spec = &parser->list->specs.at[i];

		spec->transport = ATTAR_TRANSPORT_KERNEL;
		spec->user_event = transport ? NULL : strchr(spec->name, ':') + 1;
	}
	return r;
}
