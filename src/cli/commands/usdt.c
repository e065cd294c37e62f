/* SPDX-License-Identifier: MIT */
/* attar usdt: tracepoints for the USDT probes of programs, which stay until they are deleted. */
#include <stdio.h>

#include "base/base.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/commands/list_usdt.h"

static int print_name(void *ctx, const char *name)
{
	puts(name);
	return 0;
}

static int add_row(void *ctx, const char *name, const char *location, const char *arguments)
{
	struct attar_section *table = ctx;

	attar_section_row(table);
	attar_cell_text(table, name);
	attar_cell_text(table, location);
	attar_cell_text(table, arguments);
	return 0;
}

static int list_added(bool json)
{
	struct attar_report *report = attar_report_new("usdt");
	struct attar_section *table = attar_report_table(report, "added");
	int r, status;

	attar_section_column(table, "name", ATTAR_UNIT_TEXT);
	attar_section_column(table, "location", ATTAR_UNIT_TEXT);
	attar_section_column(table, "arguments", ATTAR_UNIT_TEXT);
	r = attar_usdt_each_added(add_row, table);
	status = r < 0 ? report_error(status_of(r)) : print_report(report, json, true);
	attar_report_free(report);
	return status;
}

static int list(const char *what, bool json)
{
	char *pattern _cleanup_free_ = NULL;

	if (!what)
		return list_added(json);
	if (asprintf(&pattern, "usdt:%s", what) < 0)
		return report_error(status_of(base_oom()));
	return list_usdt(pattern, json, false, false);
}

/* ---- the command ---- */

/*
 * Joins the arguments after "add", "del" or "list" without --json, and without -v, which changes
 * nothing here; the caller frees the result.
 */
static char *join(int argc, char **argv, bool *ret_json)
{
	struct buf b = {0};

	buf_str(&b, "");
	for (int i = 2; i < argc; i++)
		if (!strcmp(argv[i], "--json"))
			*ret_json = true;
		else if (strcmp(argv[i], "-v") != 0 && strcmp(argv[i], "--verbose") != 0)
			buf_printf(&b, "%s%s", b.len ? " " : "", argv[i]);
	return buf_take(&b);
}

/* Deletes the tracepoint NAME, which may be followed by the file of its probe, as for add. */
static int delete_added(char *text)
{
	text[strcspn(text, "@")] = '\0';
	return attar_usdt_delete(text);
}

int command_usdt(int argc, char **argv)
{
	bool json = false;
	char *text _cleanup_free_ = join(argc, argv, &json);
	const char *verb = argc > 1 ? argv[1] : "";
	int r;

	if (!strcmp(verb, "list"))
		return list(text && *text ? text : NULL, json);
	if (strcmp(verb, "add") != 0 && strcmp(verb, "del") != 0)
		r = attar_fail(
			-EINVAL, "usdt requires a command" ATTAR_FIX "attar usdt add, del or list");
	else if (!text || !*text)
		r = attar_fail(-EINVAL,
			"attar usdt %s requires the name of a probe" ATTAR_FIX
			"'attar usdt list FILE' lists them",
			verb);
	else
		r = !strcmp(verb, "add") ? attar_usdt_add(text, print_name, NULL)
					 : delete_added(text);
	return r < 0 ? report_error(r == -ENOENT ? STATUS_USAGE : status_of(r)) : STATUS_OK;
}
