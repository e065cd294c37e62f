/* SPDX-License-Identifier: MIT */
/* attar user-events: the events that programs have registered with the kernel, and who listens to them. */
#include <stdio.h>

#include "base/base.h"
#include "base/file.h"
#include "cli/cli.h"

enum { STATUS_MAX = 8 << 20 }; /* 32,768 events with names of 255 bytes */

struct user_events {
	struct attar_catalog *catalog;
	struct attar_section *table;
	const char *pattern; /* NULL: all */
	size_t found;
};

/* "__rel_loc char[] name; u32 age", as the program registered it. */
static void fields_of(struct buf *b, struct attar_catalog *catalog, const char *name)
{
	const struct attar_format *format;

	if (attar_catalog_format(catalog, "user_events", name, &format) < 0)
		return;
	for (size_t i = 0; i < format->n_fields; i++)
		if (!format->fields[i].is_common)
			buf_printf(b, "%s%s %s", b->len ? "; " : "", format->fields[i].type,
				format->fields[i].name);
}

static void add_row(struct user_events *u, const char *name, const char *listeners)
{
	struct buf fields _cleanup_(buf_done) = {0};

	if (u->pattern && !strstr(name, u->pattern))
		return;
	fields_of(&fields, u->catalog, name);
	attar_section_row(u->table);
	attar_cell_text(u->table, name);
	attar_cell_text(u->table, listeners);
	attar_cell_text(u->table, buf_text(&fields));
	u->found++;
}

/*
 * The lines of user_events_status (Documentation/trace/user_events.rst): "name" or "name # Used by perf ftrace",
 * then a blank line and totals. Kernels 5.18 to 6.3 put "number:" before the name.
 */
static void add_line(struct user_events *u, char *line)
{
	char *comment = strstr(line, " # "), *colon;
	const char *listeners = "";

	if (comment) {
		*comment = '\0';
		listeners = comment + 3;
		if (!strncmp(listeners, "Used by ", 8))
			listeners += 8;
	}
	colon = strchr(line, ':');
	if (colon && strspn(line, "0123456789") == (size_t)(colon - line))
		line = colon + 1;
	if (*line)
		add_row(u, line, listeners);
}

static int read_status(struct user_events *u)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[4096], *line, *save = NULL;
	const char *tracefs;
	int r = attar_catalog_tracefs(u->catalog, &tracefs);

	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "%s/user_events_status", tracefs);
	r = file_read(path, STATUS_MAX, &b);
	if (r == -ENOENT)
		return attar_fail(-EOPNOTSUPP,
			"this kernel has no user_events (6.4 or later with CONFIG_USER_EVENTS=y); "
			"programs that "
			"use libperfume still show their events as USDT probes");
	for (line = r < 0 ? NULL : strtok_r(b.data, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		if (!strncmp(line, "Active: ", 8) || !strncmp(line, "Busy: ", 6) ||
			!strncmp(line, "Max: ", 5))
			continue;
		add_line(u, line);
	}
	return r;
}

static int list(const char *pattern, const char *format)
{
	struct attar_catalog_opts opts = {.size = sizeof(opts), .mount = true};
	struct attar_render_opts how = {.size = sizeof(how),
		.quiet = true,
		.columns = console_columns(STDOUT_FILENO),
		.colour = console_colour(STDOUT_FILENO)};
	struct user_events u = {.pattern = pattern};
	struct attar_report *report = attar_report_new("user-events");
	struct attar_renderer *renderer;
	int r = report ? attar_catalog_new(&opts, &u.catalog) : base_oom();

	if (r == 0) {
		u.table = attar_report_table(report, "user events");
		attar_section_column(u.table, "name", ATTAR_UNIT_TEXT);
		attar_section_column(u.table, "listeners", ATTAR_UNIT_TEXT);
		attar_section_column(u.table, "fields", ATTAR_UNIT_TEXT);
		r = read_status(&u);
	}
	if (r == 0)
		r = attar_renderer_new(format, stdout, &how, &renderer);
	if (r == 0) {
		r = attar_renderer_draw(renderer, report);
		attar_renderer_free(renderer);
	}
	attar_report_free(report);
	attar_catalog_free(u.catalog);
	return r < 0 && r != -EPIPE ? complain(status_of(r)) : STATUS_OK;
}

/* attar user-events watch NAME [options]: the same as attar trace -e user_events:NAME. */
static int watch(int argc, char **argv)
{
	char event[512], **trace = calloc((size_t)argc + 3, sizeof(*trace));
	int n = 0, status;

	if (!trace) {
		base_oom();
		return complain(STATUS_FAILED);
	}
	snprintf(event, sizeof(event), "user_events:%s", argv[0]);
	trace[n++] = (char[]){"trace"};
	trace[n++] = (char[]){"-e"};
	trace[n++] = event;
	for (int i = 1; i < argc; i++)
		trace[n++] = argv[i];
	status = command_profiler(n, trace);
	free(trace);
	return status;
}

int command_user_events(int argc, char **argv)
{
	bool json = false;
	const char *pattern = NULL;

	if (argc > 2 && !strcmp(argv[1], "watch"))
		return watch(argc - 2, argv + 2);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--json"))
			json = true;
		else if (argv[i][0] == '-' || !strcmp(argv[i], "watch") || pattern) {
			attar_fail(-EINVAL,
				"user-events takes a part of a name, --json, or: watch NAME; not "
				"'%s'",
				argv[i]);
			return complain(STATUS_USAGE);
		} else
			pattern = argv[i];
	}
	return list(pattern, json ? "json" : "text");
}
