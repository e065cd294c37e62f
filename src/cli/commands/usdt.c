/* SPDX-License-Identifier: MIT */
/* attar usdt: tracepoints for the USDT probes of programs, which stay until they are deleted. */
#include <stdio.h>

#include "base/base.h"
#include "base/buf.h"
#include "cli/cli.h"
#include "cli/commands.h"
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

struct usdt {
	bool json;
	bool verbose; /* changes nothing here */
};

/* Joins the arguments after "add", "del" or "list"; the caller frees the result. */
static char *usdt_join(char *const *words)
{
	struct buf b = {0};

	buf_str(&b, "");
	for (; *words; words++)
		buf_printf(&b, "%s%s", b.len ? " " : "", *words);
	return buf_take(&b);
}

/* Deletes the tracepoint NAME, which may be followed by the file of its probe, as for add. */
static int delete_added(char *text)
{
	text[strcspn(text, "@")] = '\0';
	return attar_usdt_delete(text);
}

static int usdt_run(void *state, const struct command_words *words)
{
	const struct usdt *u = state;
	const char *verb = words->n ? words->operands[0] : "";
	char *text _cleanup_free_ = usdt_join(words->operands + (words->n != 0));
	int r;

	if (!strcmp(verb, "list"))
		return list(text && *text ? text : NULL, u->json);
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

static const struct attar_option usdt_options[] = {
	ATTAR_FLAG(struct usdt, json, 0, "json", "print a report in JSON"),
	ATTAR_FLAG(struct usdt, verbose, 'v', "verbose", NULL), {0}};

static const struct command_operand usdt_operands[] = {
	{"add [PROVIDER:NAME@]FILE[@ADDRESS] [ARGUMENTS]",
		"create tracepoints PROVIDER:NAME for the USDT probes in a program or library, "
		"which persist until they are deleted; * and ? match. With ADDRESS (a number, or "
		"FUNCTION[+OFFSET]), only at this location. ARGUMENTS are as in a probe's note "
		"(-4@%edi 8@16(%rsp)), or as the kernel reads them (name=%di:s32)"},
	{"del PROVIDER:NAME", "delete these tracepoints; * and ? match"},
	{"list [FILE[:PROVIDER[:NAME]]]",
		"list the probes in a file; without a file: the added tracepoints"},
	{0},
};

static const struct attar_example usdt_examples[] = {
	{"usdt list /usr/bin/python3", "the probes in a program"},
	{"usdt add 'python:function__entry@/usr/bin/python3'", "create tracepoints for one"},
	{0},
};

const struct command command_usdt = {
	.name = "usdt",
	.usage = "add|del|list ...",
	.summary = "create tracepoints for the USDT probes of programs",
	.operands = usdt_operands,
	.options = usdt_options,
	.state_size = sizeof(struct usdt),
	.max_operands = COMMAND_ANY,
	.examples = usdt_examples,
	.run = usdt_run,
};
