/* SPDX-License-Identifier: MIT */
/* Help texts, generated from the profiler descriptors. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/pages.h"

enum { OPTION_COLUMN = 34, WIDTH = 100 };
enum { BRIEF_EXAMPLES = 4, BRIEF_OPTIONS = 15, BRIEF_LEAST = 12 /* columns of a text */ };

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

const char *help_question(const char *group)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(groups[i].group, group))
			return groups[i].question;
	return NULL;
}

static void add_group(struct buf *b, const char *group)
{
	const char *asked = help_question(group);

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

void help_each_group(struct buf *b, void (*fn)(struct buf *b, const char *group))
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (has_profilers(groups[i].group))
			fn(b, groups[i].group);
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		if (!help_question((*p)->group) && !is_group_listed(p))
			fn(b, (*p)->group);
}

void help_profilers(struct buf *b)
{
	buf_str(b, "Profilers\n");
	help_each_group(b, add_group);
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
	buf_str(b,
		"\n'attar NAME -h' shows the usual options of a profiler or command, 'attar NAME "
		"-h all' all options.\nResults go to stdout, messages to stderr.\n"
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

/* What `attar` prints without arguments: where to begin. */
static const struct {
	const char *question, *command;
} beginnings[] = {
	{"It is slow: where do I look first?", "overview -p PID"},
	{"Where is CPU time spent?", "profile -g -d 10s -o cpu.html"},
	{"What do threads wait for?", "wall -p PID -o wall.html"},
	{"Are the disks slow, and for which programs?", "biosnoop --than 10ms"},
	{"Which TCP connections exist, and how long do they last?", "tcplife"},
	{"Which code takes new memory?", "page-faults -g -p PID"},
	{"How often does it happen, and how efficient is the code?", "stat -- COMMAND"},
	{"What do my own programs do?", "trace -e user_events:NAME"},
};

void help_beginnings(struct buf *b)
{
	buf_str(b, "attar - performance monitoring for Linux\n\n"
		   "Usage: attar PROFILER [OPTIONS] [-- COMMAND ARGS...]\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		buf_printf(b, "  %-57s attar %s\n", beginnings[i].question, beginnings[i].command);
	buf_str(b, "\n'attar -h' lists all profilers and commands, 'attar NAME -h' the options of "
		   "one,\nand 'attar doctor' says what this system lacks.\n");
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
static void option_text(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	const char *value = preset_value(profiler, o), *standard = strstr(o->help, "(default ");

	if (value && standard)
		buf_printf(b, "%.*s(default %s%s", (int)(standard - o->help), o->help, value,
			standard + strcspn(standard, ")"));
	else
		buf_str(b, o->help);
}

/* How well a text can end after i characters: 0 not at all. */
static int option_clause_rank(const char *text, size_t i)
{
	static const char *const ends[] = {", ", ": ", " (", "; "};

	for (int rank = ARRAY_SIZE(ends); rank && i >= BRIEF_LEAST; rank--)
		if (!strncmp(text + i, ends[rank - 1], 2))
			return rank;
	return 0;
}

/* The best end of a clause that fits in a line, outside of parentheses; 0: there is none. */
static size_t option_clause(const char *text)
{
	int depth = 0, best = 1;
	size_t end = 0;

	for (size_t i = 0; text[i] && i <= WIDTH - OPTION_COLUMN; i++) {
		int rank = depth ? 0 : option_clause_rank(text, i);

		if (rank >= best) {
			best = rank;
			end = i;
		}
		depth += (text[i] == '(') - (text[i] == ')');
	}
	return end;
}

static void option_line(struct buf *b, const struct attar_profiler *profiler,
	const struct attar_option *o, bool is_brief)
{
	struct buf text _cleanup_(buf_done) = {0};
	size_t before = b->len, clause = 0;

	option_text(&text, profiler, o);
	if (is_brief && !buf_failed(&text) && text.len > WIDTH - OPTION_COLUMN)
		clause = option_clause(text.data);
	if (clause) {
		text.data[clause] = '\0';
		text.len = clause;
	}
	buf_str(b, "  ");
	option_name(b, o);
	help_column(b, b->len - before, buf_text(&text));
	b->failed |= buf_failed(&text);
}

static void option_lines(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *options)
{
	for (const struct attar_option *o = options; o && o->name; o++)
		if (o->help)
			option_line(b, profiler, o, false);
}

static void help_examples(struct buf *b, const struct attar_example *e)
{
	if (e)
		buf_str(b, "\nExamples\n");
	for (; e && e->command; e++)
		buf_printf(b, "  attar %s\n      %s\n", e->command, e->what);
}

static void help_end(struct buf *b, const struct attar_example *e)
{
	buf_str(b, "  -h, --help                      show this help\n");
	help_examples(b, e);
}

const char *help_operand(const struct attar_profiler *profiler)
{
	for (const struct attar_option *o = profiler->options; profiler->operand && o->name; o++)
		if (!strcmp(o->name, profiler->operand))
			return o->value;
	return "";
}

static void help_usage(struct buf *b, const struct attar_profiler *profiler)
{
	const char *operand = help_operand(profiler);

	buf_printf(b, "attar %s - %s\n\nUsage: attar %s [OPTIONS]%s%s%s [-- COMMAND ARGS...]\n",
		profiler->name, profiler->summary, profiler->name, *operand ? " [" : "", operand,
		*operand ? "]" : "");
}

void help_profiler(
	struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler)
{
	help_usage(b, profiler);
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++) {
		buf_printf(b, "\n%s\n", g->title);
		option_lines(b, profiler, g->options);
	}
	help_end(b, profiler->examples);
	buf_printf(b, "\n'attar help %s' explains how to read the results.\n", profiler->name);
}

/* ---- the help that fits on a screen ---- */

/* The options that most users need, of those that all or many profilers have. */
static const char *const usual_options[] = {
	"freq", "event", "pids", "tids", "cpus", "interval", "duration", "output", "rows", "input"};

static bool option_is_usual(const struct attar_option *o)
{
	for (size_t i = 0; i < ARRAY_SIZE(usual_options); i++)
		if (!strcmp(usual_options[i], o->name))
			return true;
	return false;
}

static void brief_example(struct buf *b, const struct attar_example *e)
{
	size_t before = b->len;

	buf_printf(b, "  attar %s", e->command);
	help_column(b, b->len - before, e->what);
}

/* The profiler's own options. Options that do not fit are only named. */
static void brief_own(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *options)
{
	struct buf more _cleanup_(buf_done) = {0};
	int n = 0;

	for (const struct attar_option *o = options; o->name; o++)
		if (o->help && n++ < BRIEF_OPTIONS)
			option_line(b, profiler, o, true);
		else if (o->help)
			buf_printf(&more, "%s--%s", more.len ? ", " : "", o->name);
	if (more.len) {
		buf_str(b, "  and ");
		help_fill(b, buf_text(&more), 6);
	}
	b->failed |= buf_failed(&more);
}

static void brief_usual(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *options)
{
	for (const struct attar_option *o = options; o->name; o++)
		if (o->help && option_is_usual(o))
			option_line(b, profiler, o, true);
}

void help_brief(struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler)
{
	const struct attar_example *e = profiler->examples;

	help_usage(b, profiler);
	if (e && e->command)
		buf_str(b, "\nExamples\n");
	for (int n = 0; e && e->command && n < BRIEF_EXAMPLES; e++, n++)
		brief_example(b, e);
	buf_str(b, "\nOptions\n");
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		if (!strcmp(g->title, "Options"))
			brief_own(b, profiler, g->options);
		else
			brief_usual(b, profiler, g->options);
	buf_printf(b,
		"\n'attar %s -h all' lists all options, 'attar help %s' explains the results.\n",
		profiler->name, profiler->name);
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
