/* SPDX-License-Identifier: MIT */
/*
 * Manual pages in roff (man(7)), generated from the descriptor of a profiler and its Markdown page.
 * Supported Markdown: "## " and "### " headings, paragraphs, "- " items, indented or fenced code,
 * `code`, **bold**, *emphasis* and [links](FILE).
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
	".SH SIGNALS\nThe first SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the run and prints the "   \
	"report. A second one ends attar immediately. Signals within half a second, or the same "  \
	"signal again from the same process, count as one, because \\fBtimeout\\fR(1) sends its "  \
	"signal to its child and then to the process group. SIGINT and SIGTERM are handled even "  \
	"if they were ignored when attar was started, as SIGINT is in background commands "        \
	"(\\fB&\\fR) of scripts; an ignored SIGHUP or SIGQUIT stays ignored. A command after "     \
	"\\fB\\-\\-\\fR inherits the ignored signals. The kernel takes about 30 ms to close a "    \
	"tracepoint; for more than 16, a process named attar-closing does this in the "            \
	"background.\n.PP\nSIGUSR1 requests a report of the time since the previous one; the "     \
	"last report of the run then covers the rest. SIGUSR2 "                                    \
	"prints the state of the run on stderr: events, losses, rings, caches, memory. If "        \
	"standard input is a pipe or socket that no command inherits, each line on it requests a " \
	"report, in which it is shown as a marker. SIGWINCH adapts the output to the size of the " \
	"terminal.\n"

/* What marks of Markdown have begun: the font is the outermost, of roff. */
struct marks {
	bool is_bold, is_italic;
};

/* The number of characters of a mark at text[i], whose font begins or ends; 0: it is none. */
static size_t roff_mark(struct buf *b, struct marks *m, const char *text, size_t i, size_t n)
{
	bool double_star = text[i] == '*' && i + 1 < n && text[i + 1] == '*';

	if (text[i] == '`' || double_star) {
		m->is_bold = !m->is_bold;
		buf_str(b, m->is_bold ? "\\fB" : "\\fR");
		return 1 + double_star;
	}
	if (text[i] != '*' || m->is_bold)
		return 0;
	if (!m->is_italic && ((i && text[i - 1] != ' ') || i + 1 >= n || text[i + 1] == ' ' ||
				     !memchr(text + i + 1, '*', n - i - 1)))
		return 0;
	m->is_italic = !m->is_italic;
	buf_str(b, m->is_italic ? "\\fI" : "\\fR");
	return 1;
}

static void roff_char(struct buf *b, char c)
{
	buf_str(b, c == '\\' ? "\\e" : c == '-' ? "\\-" : (char[]){c, '\0'});
}

/*
 * The number of characters of [TEXT](TARGET), of which the text is written, or the name of the file
 * that it leads to; 0: it is none.
 */
static size_t roff_link(struct buf *b, const char *text, size_t n)
{
	const char *middle = *text == '[' ? memmem(text, n, "](", 2) : NULL;
	const char *end = middle ? memchr(middle, ')', n - (size_t)(middle - text)) : NULL;
	const char *shown = text + 1, *until = middle;

	if (!end)
		return 0;
	if (middle[2] != '#') {
		until = middle + 2 + strcspn(middle + 2, "#)");
		for (shown = until; shown[-1] != '/' && shown[-1] != '(';)
			shown--;
	}
	buf_str(b, "\\fI");
	while (shown < until)
		roff_char(b, *shown++);
	buf_str(b, "\\fR");
	return (size_t)(end - text) + 1;
}

/* Escapes a line of text for roff. */
static void roff_text(struct buf *b, const char *text, size_t n)
{
	struct marks marks = {0};
	size_t length;

	if (n && (text[0] == '.' || text[0] == '\''))
		buf_str(b, "\\&");
	for (size_t i = 0; i < n; i += length) {
		length = roff_mark(b, &marks, text, i, n);
		if (!length && !marks.is_bold)
			length = roff_link(b, text + i, n - i);
		if (length)
			continue;
		length = 1;
		if (text[i] != '\\' || i + 1 >= n || text[i + 1] != '|') /* a bar within a cell */
			roff_char(b, text[i]);
	}
	if (marks.is_bold || marks.is_italic)
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
		roff_char(b, text[i]);
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

/* ---- tables: tbl(1) ---- */

/* The cell of a row that begins after the '|' at *line, without blanks around; NULL: no more. */
static const char *next_cell(const char **line, const char *end, size_t *ret_n)
{
	const char *cell = *line + 1, *bar = cell;

	while (bar < end && (*bar != '|' || bar[-1] == '\\'))
		bar++;
	if (bar >= end)
		return NULL;
	*line = bar;
	while (cell < bar && *cell == ' ')
		cell++;
	while (bar > cell && bar[-1] == ' ')
		bar--;
	*ret_n = (size_t)(bar - cell);
	return cell;
}

/*
 * All columns are text blocks, which are narrow, so not adjusted; the last one takes the room that
 * the others leave.
 */
static void begin_table(struct buf *b, const char *line, const char *end)
{
	size_t columns = 0, n;

	while (next_cell(&line, end, &n))
		columns++;
	buf_str(b, ".ad l\n.TS\n");
	while (columns-- > 1)
		buf_str(b, "l ");
	buf_str(b, "lx.\n");
}

/* The first row without text, and the line below the headings, are left out. */
static void table_row(struct buf *b, const char *line, const char *end)
{
	const char *cell, *rest = line, *between = "";
	bool is_empty = true;
	size_t n;

	while ((cell = next_cell(&rest, end, &n)))
		is_empty &= n == 0 || strspn(cell, "-") >= n;
	if (is_empty)
		return;
	for (rest = line; (cell = next_cell(&rest, end, &n)); between = "\t") {
		buf_printf(b, "%sT{\n", between);
		roff_line(b, cell, n);
		buf_str(b, "T}");
	}
	buf_char(b, '\n');
}

/* ---- pages ---- */

enum block { PARAGRAPH, CODE, INDENTED_CODE, TABLE };

static const char *const ends[] = {[PARAGRAPH] = "",
	[CODE] = ".EE\n.PP\n",
	[INDENTED_CODE] = ".EE\n.PP\n",
	[TABLE] = ".TE\n.ad b\n.PP\n"};

/* The block that a line of at least one character belongs to, after one of `before`. */
static enum block block_of(enum block before, bool after_blank, const char *line)
{
	if (before == CODE)
		return CODE;
	if (*line == '|')
		return TABLE;
	if (!strncmp(line, "    ", 4) && (before == INDENTED_CODE || after_blank))
		return INDENTED_CODE;
	return PARAGRAPH;
}

static void change_block(struct buf *b, enum block *block, enum block to, const char *line)
{
	if (*block == to)
		return;
	buf_str(b, ends[*block]);
	if (to == CODE || to == INDENTED_CODE)
		buf_str(b, ".PP\n.EX\n");
	else if (to == TABLE)
		begin_table(b, line, line + strcspn(line, "\n"));
	*block = to;
}

static void paragraph_line(struct buf *b, const char *line, size_t n)
{
	size_t indent = strspn(line, " ");

	indent = MIN(indent, n);
	if (!strncmp(line, "# ", 2))
		return; /* the title is in NAME already */
	if (!strncmp(line, "## ", 3)) {
		heading(b, line + 3, n - 3);
	} else if (!strncmp(line, "### ", 4)) {
		buf_str(b, ".SS ");
		roff_line(b, line + 4, n - 4);
	} else if (!strncmp(line, "- ", 2)) {
		buf_str(b, ".IP \\(bu 2\n");
		roff_line(b, line + 2, n - 2);
	} else if (*line >= '1' && *line <= '9' && !strncmp(line + 1, ". ", 2)) {
		buf_printf(b, ".IP %c. 3\n", *line);
		roff_line(b, line + 3, n - 3);
	} else {
		roff_line(b, line + indent, n - indent);
	}
}

static void page_to_roff(struct buf *b, const char *page)
{
	enum block block = PARAGRAPH;
	bool after_blank = false;

	for (size_t n; *page; page += n + (page[n] == '\n')) {
		n = strcspn(page, "\n");
		if (!strncmp(page, "```", 3)) {
			change_block(b, &block, block == CODE ? PARAGRAPH : CODE, page);
			continue;
		}
		if (n)
			change_block(b, &block, block_of(block, after_blank, page), page);
		else if (block == TABLE)
			change_block(b, &block, PARAGRAPH, page);
		after_blank = !n;
		if (block == TABLE)
			table_row(b, page, page + n);
		else if (block == CODE || block == INDENTED_CODE)
			roff_code_line(b, page, n);
		else if (n)
			paragraph_line(b, page, n);
		else
			buf_str(b, ".PP\n");
	}
	change_block(b, &block, PARAGRAPH, page);
}

static void options_to_roff(struct buf *b, const struct attar_option *options)
{
	for (const struct attar_option *o = options; o && o->name; o++) {
		if (!o->help)
			continue;
		buf_str(b, ".TP\n");
		if (o->letter)
			buf_printf(b, "\\fB\\-%c\\fR, ", o->letter);
		buf_printf(b, "\\fB\\-\\-%s", o->type == ATTAR_OPTION_SWITCH ? "[no\\-]" : "");
		roff_text(b, o->name, strlen(o->name));
		buf_str(b, "\\fR");
		if (o->value)
			buf_printf(b, o->implied ? "[=\\fI%s\\fR]" : " \\fI%s\\fR", o->value);
		buf_char(b, '\n');
		roff_line(b, o->help, strlen(o->help));
	}
}

static void man_title(struct buf *b, const char *name, const char *summary)
{
	/* It has tables; on a terminal, one page is long enough for each of their cells. */
	buf_str(b, "'\\\" t\n.if n .pl 10000v\n.TH ATTAR\\-");
	upper(b, name, strlen(name));
	buf_printf(b, " 1 \"\" \"attar %s\" \"attar\"\n.SH NAME\nattar\\-%s \\- ", attar_version(),
		name);
	roff_line(b, summary, strlen(summary));
}

static void man_examples(struct buf *b, const struct attar_example *e)
{
	if (e)
		buf_str(b, ".SH EXAMPLES\n");
	for (; e && e->command; e++) {
		buf_str(b, ".TP\n\\fBattar ");
		roff_text(b, e->command, strlen(e->command));
		buf_str(b, "\\fR\n");
		roff_line(b, e->what, strlen(e->what));
	}
}

void help_man(struct buf *b, const struct attar_run *run, const struct attar_profiler *profiler)
{
	const char *page = help_page(profiler->name);
	const char *operand = help_operand(profiler);

	man_title(b, profiler->name, profiler->summary);
	buf_printf(b,
		".SH SYNOPSIS\n\\fBattar %s\\fR [\\fIOPTIONS\\fR]%s%s%s [\\fB\\-\\-\\fR "
		"\\fICOMMAND ARGS\\fR...]\n",
		profiler->name, *operand ? " [\\fI" : "", operand, *operand ? "\\fR]" : "");
	if (page)
		page_to_roff(b, page);
	buf_str(b, ".SH OPTIONS\n");
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++) {
		buf_printf(b, ".SS %s\n", g->title);
		options_to_roff(b, g->options);
	}
	man_examples(b, profiler->examples);
	buf_str(b, SIGNALS ".SH EXIT STATUS\n" EXIT_STATUS "\n");
}

static void man_command_options(struct buf *b, const struct command *c)
{
	for (const struct command_operand *o = c->operands; o && o->name; o++) {
		buf_str(b, ".TP\n\\fB");
		roff_text(b, o->name, strlen(o->name));
		buf_str(b, "\\fR\n");
		roff_line(b, o->help, strlen(o->help));
	}
	options_to_roff(b, c->options);
}

static void man_command(struct buf *b, const struct command *c)
{
	buf_str(b, ".TP\n\\fBattar ");
	roff_text(b, c->name, strlen(c->name));
	buf_str(b, "\\fR ");
	roff_text(b, c->usage, strlen(c->usage));
	buf_char(b, '\n');
	roff_line(b, c->summary, strlen(c->summary));
	buf_str(b, ".RS\n");
	man_command_options(b, c);
	buf_str(b, ".RE\n");
}

void help_man_command(struct buf *b, const struct command *c)
{
	const char *page = help_page(c->name);

	man_title(b, c->name, c->summary);
	buf_printf(b, ".SH SYNOPSIS\n\\fBattar %s\\fR ", c->name);
	roff_line(b, c->usage, strlen(c->usage));
	if (page)
		page_to_roff(b, page);
	buf_str(b, ".SH OPTIONS\n");
	man_command_options(b, c);
	man_examples(b, c->examples);
}

static void man_environment(struct buf *b)
{
	static const struct {
		const char *names, *effect;
	} variables[] = {
		{"ATTAR_NO_READERS", "if set, attar parses files of programs itself, instead of a "
				     "process without rights"},
		{"ATTAR_PRESETS", "the directory of the user's presets; empty: none"},
		{"ATTAR_PYTHON", "the interpreter of attar python (default: python3 in PATH)"},
		{"PYTHONPATH", "folders of modules for attar python; relative ones are left out"},
		{"CLICKHOUSE_PASSWORD", "the password for -o clickhouse://"},
		{"DEBUGINFOD_URLS",
			"servers from which missing debug files are downloaded; DEBUGINFOD_TIMEOUT "
			"and DEBUGINFOD_CACHE_PATH are those of debuginfod-find(1)"},
		{"LD_PRELOAD", "libraries that the command of attar heap loads, after its own"},
		{"NO_COLOR", "disables colours on terminals"},
		{"PERF_BUILDID_DIR, PERF_CONFIG", "the cache of binaries of perf, which --input "
						  "also reads, and the file with "
						  "its path, as for perf-buildid-cache(1)"},
		{"TERM", "dumb: the terminal has no escape sequences"},
		{"TMPDIR", "where attar agent creates its directory if systemd gives none, and "
			   "attar fleet --copy on a host (default: /tmp)"},
		{"XDG_CONFIG_HOME",
			"its directory attar/presets has the user's presets (default: ~/.config)"},
		{"XDG_RUNTIME_DIR",
			"has a file whose time says when a user was last told that there is no "
			"hardware cycle counter: once a day (root: /run/attar)"},
		{"XDG_STATE_HOME",
			"its directory attar has rows that a ClickHouse server has not stored yet "
			"(default: ~/.local/state; for root /var/lib)"},
	};

	buf_str(b, "\n.SH ENVIRONMENT\n");
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		buf_printf(b, ".TP\n\\fB%s\\fR\n", variables[i].names);
		roff_line(b, variables[i].effect, strlen(variables[i].effect));
	}
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
	for (const struct command *const *c = commands; *c; c++)
		man_command(b, *c);
	buf_str(b, SIGNALS ".SH EXIT STATUS\n" EXIT_STATUS);
	man_environment(b);
}
