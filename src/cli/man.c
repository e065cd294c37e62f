/* SPDX-License-Identifier: MIT */
/*
 * Manual pages in roff (man(7)), generated from the descriptor of a profiler and its Markdown page.
 * Supported Markdown: "## " headings, paragraphs, "- " items, indented or fenced code, `code` and
 * **bold**.
 */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/commands.h"

#define EXIT_STATUS                                                                                \
	"0 success, 1 failure, 2 usage error, 3 permission denied, 4 not supported; if attar "     \
	"runs a command and succeeds, the exit status of the command, or 128 + n if signal n "     \
	"ended the run before it. A signal that arrives before "                                   \
	"measurement has started terminates attar: the shell shows 130 for SIGINT, 143 for "       \
	"SIGTERM."

#define SIGNALS                                                                                    \
	".SH SIGNALS\nThe first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the run, and the report "  \
	"is "                                                                                      \
	"printed. A second one ends attar at once. Signals within half a second, or the same "     \
	"signal again from the same process, count as one, because \\fBtimeout\\fR(1) sends its "  \
	"signal to its child and then to the process group. SIGINT and SIGTERM are handled even "  \
	"if they were ignored when attar was started, as SIGINT is by a script that ends a "       \
	"command line with \\fB&\\fR; an ignored SIGHUP or SIGQUIT stays ignored. A command "      \
	"after "                                                                                   \
	"\\fB\\-\\-\\fR ignores what attar was started to ignore. The kernel takes about 30 ms "   \
	"to "                                                                                      \
	"close a tracepoint; for more than 16, a process named attar-closing waits for that in "   \
	"the background.\n.PP\nSIGUSR1 requests a report of the time since the previous one, "     \
	"SIGUSR2 prints the state of the run on stderr: events, losses, rings, caches, memory. "   \
	"A line on standard input, if it is a pipe or socket and no command inherits it, "         \
	"requests a report and is a marker in it. SIGWINCH fits the output to the terminal.\n"

/* Escapes a line of text for roff; `x` and **x** become bold. */
static void roff_text(struct buf *b, const char *text, size_t n)
{
	bool bold = false;

	if (n && (text[0] == '.' || text[0] == '\''))
		buf_str(b, "\\&");
	for (size_t i = 0; i < n; i++) {
		bool double_star = text[i] == '*' && i + 1 < n && text[i + 1] == '*';

		if (text[i] == '`' || double_star) {
			buf_str(b, bold ? "\\fR" : "\\fB");
			bold = !bold;
			i += double_star;
		} else if (text[i] == '\\') {
			buf_str(b, "\\e");
		} else if (text[i] == '-') {
			buf_str(b, "\\-");
		} else {
			buf_char(b, text[i]);
		}
	}
	if (bold)
		buf_str(b, "\\fR");
}

static void roff_line(struct buf *b, const char *text, size_t n)
{
	roff_text(b, text, n);
	buf_char(b, '\n');
}

/* A line of code: escaped only. */
static void roff_code_line(struct buf *b, const char *text, size_t n)
{
	if (n && (text[0] == '.' || text[0] == '\''))
		buf_str(b, "\\&");
	for (size_t i = 0; i < n; i++)
		buf_str(b, text[i] == '\\'  ? "\\e"
			   : text[i] == '-' ? "\\-"
					    : (char[]){text[i], '\0'});
	buf_char(b, '\n');
}

static void upper(struct buf *b, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_char(b, (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]));
}

static void heading(struct buf *b, const char *text, size_t n)
{
	buf_str(b, ".SH ");
	upper(b, text, n);
	buf_char(b, '\n');
}

static void page_to_roff(struct buf *b, const char *page)
{
	bool code = false;

	while (*page) {
		size_t n = strcspn(page, "\n");

		if (!strncmp(page, "```", 3)) {
			buf_str(b, code ? ".EE\n.PP\n" : ".PP\n.EX\n");
			code = !code;
		} else if (code) {
			roff_code_line(b, page, n);
		} else if (!strncmp(page, "# ", 2)) {
			; /* the title is in NAME already */
		} else if (!strncmp(page, "## ", 3)) {
			heading(b, page + 3, n - 3);
		} else if (!strncmp(page, "- ", 2)) {
			buf_str(b, ".IP \\(bu 2\n");
			roff_line(b, page + 2, n - 2);
		} else if (!n) {
			buf_str(b, ".PP\n");
		} else {
			size_t indent = strspn(page, " ");

			roff_line(b, page + MIN(indent, n), n - MIN(indent, n));
		}
		page += n + (page[n] == '\n');
	}
}

static void options_to_roff(struct buf *b, const struct attar_run *run)
{
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++) {
		buf_printf(b, ".SS %s\n", g->title);
		for (const struct attar_option *o = g->options; o->name; o++) {
			if (!o->help)
				continue;
			buf_str(b, ".TP\n");
			if (o->letter)
				buf_printf(b, "\\fB\\-%c\\fR, ", o->letter);
			buf_printf(
				b, "\\fB\\-\\-%s", o->type == ATTAR_OPTION_SWITCH ? "[no\\-]" : "");
			roff_text(b, o->name, strlen(o->name));
			buf_printf(b, "\\fR%s%s%s%s\n",
				o->implied ? "[=\\fI"
				: o->value ? " \\fI"
					   : "",
				o->value ? o->value : "", o->value ? "\\fR" : "",
				o->implied ? "]" : "");
			roff_line(b, o->help, strlen(o->help));
		}
	}
}

void help_man(struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler)
{
	const char *page = help_page(profiler->name);
	const char *operand = help_operand(profiler);

	buf_str(b, ".TH ATTAR\\-");
	upper(b, profiler->name, strlen(profiler->name));
	buf_printf(b, " 1 \"\" \"attar %s\" \"attar\"\n.SH NAME\nattar\\-%s \\- ", attar_version(),
		profiler->name);
	roff_line(b, profiler->summary, strlen(profiler->summary));
	buf_printf(b,
		".SH SYNOPSIS\n\\fBattar %s\\fR [\\fIOPTIONS\\fR]%s%s%s [\\fB\\-\\-\\fR "
		"\\fICOMMAND ARGS\\fR...]\n",
		profiler->name, *operand ? " [\\fI" : "", operand, *operand ? "\\fR]" : "");
	if (page)
		page_to_roff(b, page);
	buf_str(b, ".SH OPTIONS\n");
	options_to_roff(b, run);
	if (profiler->examples)
		buf_str(b, ".SH EXAMPLES\n");
	for (const struct attar_example *e = profiler->examples; e && e->command; e++) {
		buf_str(b, ".TP\n\\fBattar ");
		roff_text(b, e->command, strlen(e->command));
		buf_str(b, "\\fR\n");
		roff_line(b, e->what, strlen(e->what));
	}
	buf_str(b, SIGNALS ".SH EXIT STATUS\n" EXIT_STATUS "\n");
}

static void man_command(struct buf *b, const struct command *c)
{
	buf_str(b, ".TP\n\\fBattar ");
	roff_text(b, c->name, strlen(c->name));
	buf_str(b, "\\fR ");
	roff_text(b, c->arguments, strlen(c->arguments));
	buf_char(b, '\n');
	roff_line(b, c->summary, strlen(c->summary));
	if (c->options->spelling)
		buf_str(b, ".RS\n");
	for (const struct command_option *o = c->options; o->spelling; o++) {
		buf_str(b, ".TP\n\\fB");
		roff_text(b, o->spelling, strlen(o->spelling));
		buf_str(b, "\\fR\n");
		roff_line(b, o->help, strlen(o->help));
	}
	if (c->options->spelling)
		buf_str(b, ".RE\n");
}

void help_man_overview(struct buf *b)
{
	buf_printf(b,
		".TH ATTAR 1 \"\" \"attar %s\" \"attar\"\n.SH NAME\nattar \\- performance "
		"monitoring for Linux\n.SH SYNOPSIS\n\\fBattar\\fR "
		"\\fIPROFILER\\fR [\\fIOPTIONS\\fR] [\\fB\\-\\-\\fR \\fICOMMAND ARGS\\fR...]\n.SH "
		"PROFILERS\n",
		attar_version());
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, ".TP\n\\fBattar\\-%s\\fR(1)\n", (*p)->name);
		roff_line(b, (*p)->summary, strlen((*p)->summary));
	}
	buf_str(b, ".SH OTHER COMMANDS\n");
	for (const struct command *c = commands; c->name; c++)
		man_command(b, c);
	buf_str(b, SIGNALS
		".SH EXIT STATUS\n" EXIT_STATUS
		"\n.SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\ndisables colours on terminals\n");
}
