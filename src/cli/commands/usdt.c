/* SPDX-License-Identifier: MIT */
/* attar usdt: tracepoints for the USDT probes of programs, which stay until they are deleted. */
#include <stdio.h>

#include "attar/private/event.h"
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
	r = usdt_each_added(add_row, table);
	status = r < 0 ? report_error(status_of(r)) : print_report(report, json, true);
	attar_report_free(report);
	return status;
}

/* Where the name of a probe ends: at the @ of NAME@FILE or PROVIDER:NAME@FILE. NULL: no name. */
static const char *name_end(const char *word)
{
	const char *at = strchr(word, '@');

	return at && (at[1] == '/' || at[1] == '.') && !memchr(word, '/', (size_t)(at - word))
		       ? at
		       : NULL;
}

/* "*:" if the word names a probe without its provider. */
static const char *any_provider(const char *word)
{
	const char *end = name_end(word);

	return end && !memchr(word, ':', (size_t)(end - word)) ? "*:" : "";
}

/* The probes in a file: FILE[:PROVIDER[:NAME]], or [PROVIDER:]NAME@FILE. */
static int list(const char *what, bool json)
{
	const char *end = name_end(what);
	char *pattern _cleanup_free_ = NULL;
	int n = end ? asprintf(&pattern, "usdt:%s:%s%.*s", end + 1, any_provider(what),
			      (int)(end - what), what)
		    : asprintf(&pattern, "usdt:%s", what);

	return n < 0 ? report_error(status_of(base_oom())) : list_usdt(pattern, json, false, false);
}

/* ---- the command ---- */

struct usdt {
	bool json;
	bool verbose; /* changes nothing here */
};

/* Whether the word is a probe, and not an argument of the probe before it. */
static bool is_probe(const char *word)
{
	return name_end(word) || *word == '/' || *word == '.';
}

/* Adds the probe that the words begin with. Returns how many words it has, or a negative errno. */
static int add(char *const *words)
{
	struct buf b _cleanup_(buf_done) = {0};
	int n = 0, r;

	buf_str(&b, any_provider(words[0]));
	do
		buf_printf(&b, "%s%s", n ? " " : "", words[n]);
	while (words[++n] && !is_probe(words[n]));
	r = buf_failed(&b) ? base_oom() : usdt_add(buf_text(&b), print_name, NULL);
	return r < 0 ? r : n;
}

/* Deletes the tracepoint NAME, which may be followed by the file of its probe, as for add. */
static int delete_added(const char *word)
{
	char *name _cleanup_free_ = NULL;
	int n = asprintf(&name, "%s%.*s", any_provider(word), (int)strcspn(word, "@"), word);

	return n < 0 ? base_oom() : usdt_delete(name);
}

static int change(const char *verb, char *const *words)
{
	int r = 0;

	if (strcmp(verb, "add") != 0 && strcmp(verb, "del") != 0)
		return attar_fail(
			-EINVAL, "usdt requires a command" ATTAR_FIX "attar usdt add, del or list");
	if (!*words || !**words)
		return attar_fail(-EINVAL,
			"attar usdt %s requires the name of a probe" ATTAR_FIX
			"'attar usdt list FILE' lists them",
			verb);
	while (r >= 0 && *words) {
		r = !strcmp(verb, "add") ? add(words) : delete_added(*words);
		words += r > 0 ? r : 1;
	}
	return r < 0 ? r : 0;
}

static int usdt_run(void *state, const struct command_words *words)
{
	const struct usdt *u = state;
	const char *verb = words->n ? words->operands[0] : "";
	char *const *rest = words->operands + (words->n != 0);
	int r, status = STATUS_OK;

	if (!strcmp(verb, "list") && !*rest)
		return list_added(u->json);
	if (!strcmp(verb, "list")) {
		for (; status == STATUS_OK && *rest; rest++)
			status = list(*rest, u->json);
		return status;
	}
	r = change(verb, rest);
	return r < 0 ? report_error(r == -ENOENT ? STATUS_USAGE : status_of(r)) : STATUS_OK;
}

static const struct attar_option usdt_options[] = {
	ATTAR_FLAG(struct usdt, json, 0, "json", "print a report in JSON"),
	ATTAR_FLAG(struct usdt, verbose, 'v', "verbose", NULL), {0}};

static const struct command_operand usdt_operands[] = {
	{"add [[PROVIDER:]NAME@]FILE[@ADDRESS] [ARGUMENTS] ...",
		"create tracepoints PROVIDER:NAME for the USDT probes in a program or library, "
		"which persist until they are deleted; * and ? match. With ADDRESS (a number, or "
		"FUNCTION[+OFFSET]), only at this location. ARGUMENTS are as in a probe's note "
		"(-4@%edi 8@16(%rsp)), or as the kernel reads them (name=%di:s32)"},
	{"del PROVIDER:NAME ...", "delete these tracepoints; * and ? match"},
	{"list [FILE[:PROVIDER[:NAME]] | [PROVIDER:]NAME@FILE] ...",
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
