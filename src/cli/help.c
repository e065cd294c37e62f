/* SPDX-License-Identifier: MIT */
/* Help texts, generated from the profiler descriptors. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/pages.h"

enum { OPTION_COLUMN = 34, WIDTH = 100 };

const char *help_page(const char *name)
{
	for (const struct page *p = pages; p->name; p++)
		if (!strcmp(p->name, name))
			return p->text;
	return NULL;
}

/* The groups in the order of help, with the question that each answers. */
static const struct {
	const char *group, *question;
} groups[] = {
	{"Overview", "it is slow: where do I look first?"},
	{"CPU", "where is CPU time spent?"},
	{"Scheduling", "what do tasks wait for, and where do they run?"},
	{"Processes", "which programs start and end?"},
	{"Locks", "which locks do threads wait for?"},
	{"System calls", "which system calls are frequent, slow or fail?"},
	{"Disks and files", "which files and disks are used, and how long does it take?"},
	{"Network", "which connections exist, and what is retransmitted?"},
	{"Memory", "which code allocates memory, and what happens when it is low?"},
	{"Interrupts and timers", "what interrupts the CPUs, and for how long?"},
	{"Virtual machines", "why do guests exit, and for how long?"},
	{"Counting", "how often do events happen?"},
	{"Events", "which events happen, one by one, by key, or in pairs?"},
};

static const char *question(const char *group)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(groups[i].group, group))
			return groups[i].question;
	return NULL;
}

static void add_group(struct buf *b, const char *group)
{
	const char *asked = question(group);

	buf_printf(b, "\n%s%s%s\n", group, asked ? ": " : "", asked ? asked : "");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!strcmp((*p)->group, group))
			buf_printf(b, "  %-14s %s\n", (*p)->name, (*p)->summary);
}

static bool is_group_listed(const struct attar_profiler *const *p)
{
	for (const struct attar_profiler *const *q = attar_profilers(); q < p; q++)
		if (!strcmp((*q)->group, (*p)->group))
			return true;
	return false;
}

static bool has_profilers(const char *group)
{
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!strcmp((*p)->group, group))
			return true;
	return false;
}

void help_profilers(struct buf *b)
{
	buf_str(b, "Profilers\n");
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (has_profilers(groups[i].group))
			add_group(b, groups[i].group);
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!question((*p)->group) && !is_group_listed(p))
			add_group(b, (*p)->group);
}

void help_overview(struct buf *b)
{
	buf_str(b, "attar - performance monitoring for Linux\n\n"
		   "Usage: attar PROFILER [OPTIONS] [-- COMMAND ARGS...]\n"
		   "       attar COMMAND | --version\n\n");
	help_profilers(b);
	buf_str(b, "\nOther commands\n");
	for (const struct command *const *c = commands; *c; c++)
		buf_printf(b, "  %-14s %s\n", (*c)->name, (*c)->summary);
	buf_str(b, "\n'attar NAME -h' lists the options of a profiler or command."
		   " Results go to stdout, messages to stderr.\n"
		   "Exit status: 0 success, 1 failure, 2 usage error, 3 permission denied,"
		   " 4 not supported;\n"
		   "if attar runs a command and succeeds, the exit status of the command,"
		   " or 128 + n\nif signal n ended the run before it.\n");
}

/* "-F, --freq HZ"; "    --[no-]user-callchain". */
static void option_name(struct buf *b, const struct attar_option *o)
{
	if (o->letter)
		buf_printf(b, "-%c, ", o->letter);
	else
		buf_str(b, "    ");
	buf_printf(b, "--%s%s", o->type == ATTAR_OPTION_SWITCH ? "[no-]" : "", o->name);
	if (o->value)
		buf_printf(b, o->implied ? "[=%s]" : " %s", o->value);
}

/* Wraps text to lines from column `indent` to WIDTH. */
static void help_fill(struct buf *b, const char *text, size_t indent)
{
	size_t at = indent;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (at > indent && at + word + 1 > WIDTH) {
			buf_printf(b, "\n%*s", (int)indent, "");
			at = indent;
		} else if (at > indent) {
			buf_char(b, ' ');
			at++;
		}
		buf_add(b, text, word);
		at += word;
		text += word + (text[word] == ' ');
	}
	buf_char(b, '\n');
}

/* Appends text in the second column of a line that has `used` columns. */
static void help_column(struct buf *b, size_t used, const char *text)
{
	if (used + 2 > OPTION_COLUMN)
		buf_printf(b, "\n%*s", OPTION_COLUMN, "");
	else
		buf_printf(b, "%*s", (int)(OPTION_COLUMN - used), "");
	help_fill(b, text, OPTION_COLUMN);
}

/* The value that a preset gives to an option; NULL: none. profiler: NULL for a command. */
static const char *preset_value(const struct attar_profiler *profiler, const struct attar_option *o)
{
	size_t n = strlen(o->name);

	for (const char *const *word = profiler ? profiler->preset : NULL; word && *word; word++) {
		const char *w = *word;

		if (w[0] == '-' && w[1] && w[1] == o->letter && !w[2])
			return word[1];
		if (strncmp(w, "--", 2) != 0 || strncmp(w + 2, o->name, n) != 0)
			continue;
		if (w[n + 2] == '=')
			return w + n + 3;
		if (!w[n + 2])
			return word[1];
	}
	return NULL;
}

/* The help of an option, with the profiler's own default. */
static void option_line(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	struct buf text _cleanup_(buf_done) = {0};
	const char *value = preset_value(profiler, o), *standard = strstr(o->help, "(default ");
	size_t before = b->len;

	buf_str(b, "  ");
	option_name(b, o);
	if (!value || !standard) {
		help_column(b, b->len - before, o->help);
		return;
	}
	buf_printf(&text, "%.*s(default %s%s", (int)(standard - o->help), o->help, value,
		standard + strcspn(standard, ")"));
	help_column(b, b->len - before, buf_text(&text));
	b->failed |= buf_failed(&text);
}

static void option_lines(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *options)
{
	for (const struct attar_option *o = options; o && o->name; o++)
		if (o->help)
			option_line(b, profiler, o);
}

static void help_end(struct buf *b, const struct attar_example *e)
{
	buf_str(b, "  -h, --help                      show this help\n");
	if (e)
		buf_str(b, "\nExamples\n");
	for (; e && e->command; e++)
		buf_printf(b, "  attar %s\n      %s\n", e->command, e->what);
}

const char *help_operand(const struct attar_profiler *profiler)
{
	for (const struct attar_option *o = profiler->options; profiler->operand && o->name; o++)
		if (!strcmp(o->name, profiler->operand))
			return o->value;
	return "";
}

void help_profiler(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler)
{
	const char *operand = help_operand(profiler);

	buf_printf(b, "attar %s - %s\n\nUsage: attar %s [OPTIONS]%s%s%s [-- COMMAND ARGS...]\n",
		profiler->name, profiler->summary, profiler->name, *operand ? " [" : "", operand,
		*operand ? "]" : "");
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++) {
		buf_printf(b, "\n%s\n", g->title);
		option_lines(b, profiler, g->options);
	}
	help_end(b, profiler->examples);
	buf_printf(b, "\n'attar help %s' explains how to read the results.\n", profiler->name);
}

void help_command(struct buf *b, const struct command *command)
{
	buf_printf(b, "attar %s - %s\n\nUsage: attar %s %s\n\n", command->name, command->summary,
		command->name, command->usage);
	for (const struct command_operand *o = command->operands; o && o->name; o++) {
		buf_printf(b, "  %s", o->name);
		help_column(b, strlen(o->name) + 2, o->help);
	}
	option_lines(b, NULL, command->options);
	help_end(b, command->examples);
}

void help_command_page(struct buf *b, const struct command *command)
{
	const char *page = help_page(command->name);

	if (page)
		buf_printf(b, "%s\n", page);
	help_command(b, command);
}
