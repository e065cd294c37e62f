/* SPDX-License-Identifier: MIT */
/*
 * Completion scripts for three shells, generated from the option tables. Names of events and
 * processes are queried at completion time and are never expanded by the shell.
 */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/output_options.h"
#include "cli/output/outputs.h"

typedef void option_fn(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o);

static void each_option(struct buf *b, const struct attar_profiler *profiler, option_fn *fn)
{
	struct output_options output;
	struct attar_run *run;

	if (output_options_run_new(profiler->name, &output, &run) < 0)
		return;
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (o->help)
				fn(b, profiler, o);
	attar_run_free(run);
}

typedef void dashed_fn(struct buf *b, const char *option, size_t n, const char *help);

/* Calls fn for -v and --verbose in "-v, --verbose"; a spelling without a dash is an argument. */
static void each_dashed(struct buf *b, const struct command *c, dashed_fn *fn)
{
	for (const struct command_option *o = c->options; o->spelling; o++)
		for (const char *p = strchr(o->spelling, '-'); p && p[0] == '-';) {
			size_t n = strcspn(p, ", ");

			fn(b, p, n, o->help);
			p += n;
			p += strspn(p, ", ");
		}
}

/* How each shell completes the value of an option or command. @: the names of all sinks. */
static const struct action {
	const char *what, *bash, *zsh, *fish;
} actions[] = {
	{"file", "_attar_files", "_files", " -r -F"},
	{"pid", "ps -eo pid= 2>/dev/null | _attar_match", "_pids",
		" -x -a '(__fish_complete_pids)'"},
	{"cpu", "cat /sys/devices/system/cpu/online | _attar_match", " ",
		" -x -a '(cat /sys/devices/system/cpu/online)'"},
	{"format", "printf '%s\\n' @ | _attar_match", "(@)", " -x -a '@'"},
	{"shell", "printf '%s\\n' bash zsh fish | _attar_match", "(bash zsh fish)",
		" -x -a 'bash zsh fish'"},
	{"event", "\"$attar\" list --names 2>/dev/null | _attar_match", "_attar_events",
		" -x -a '(__fish_complete_list , \"attar list --names 2>/dev/null\")'"},
	{"name", "printf '%s\\n' $names | _attar_match", "_attar_names", " -x -a \"$attar_names\""},
	{NULL, "true", " ", " -x"},
};

static const struct action *action_of(const char *what)
{
	const struct action *a = actions;

	while (a->what && (!what || strcmp(a->what, what)))
		a++;
	return a;
}

static void add_action(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (*text != '@') {
			buf_char(b, *text);
			continue;
		}
		for (const struct attar_sink *const *sink = attar_sinks(); *sink; sink++)
			if (sink_fits_stdout(*sink))
				buf_printf(
					b, "%s%s", sink == attar_sinks() ? "" : " ", (*sink)->name);
	}
}

static void all_names(struct buf *b)
{
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		buf_printf(b, "%s ", (*p)->name);
	for (const struct command *c = commands; c->name; c++)
		buf_printf(b, "%s%s", c->name, c[1].name ? " " : "");
}

/* ---- bash ---- */

static const char bash_begin[] =
	"# bash completion for attar\n"
	"# Lines of stdin that begin with the last of $cur, a list with commas.\n"
	"_attar_match()\n"
	"{\n"
	"\tlocal word\n"
	"\twhile read -r word; do\n"
	"\t\t[[ $word == \"${cur##*,}\"* ]] && printf '%s\\n' \"${cur%\"${cur##*,}\"}$word\"\n"
	"\tdone\n"
	"}\n"
	"_attar_files()\n"
	"{\n"
	"\tcompgen -f -- \"$cur\"\n"
	"}\n"
	"_attar_words()\n"
	"{\n"
	"\tif [[ $before == \"$attar\" ]]; then\n"
	"\t\tprintf '%s\\n' --version -h $names | _attar_match\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ \"$before \" == *' -- '* ]]; then\n"
	"\t\tcompgen -c -f -- \"$cur\" | sort -u\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tcase \"$name:$prev\" in\n";

/* Readline also splits words at : and =, and expects only the part after the last one. */
static const char bash_end[] =
	"'\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} attar=${COMP_WORDS[0]} name\n"
	"\tlocal cur=${line##*[[:space:]]} before prev\n"
	"\tbefore=${line%\"$cur\"}\n"
	"\tbefore=${before%\"${before##*[![:space:]]}\"}\n"
	"\tbefore=${before#\"${before%%\"$attar\"*}\"}\n"
	"\tprev=${before##*[[:space:]]}\n"
	"\tread -r _ name _ <<<\"$before\"\n"
	"\tcase $cur in --*=*) prev=${cur%%=*} cur=${cur#*=};; esac\n"
	"\tmapfile -t COMPREPLY < <(_attar_words)\n"
	"\tcase $prev in -o|--output|--flame-graph) compopt -o filenames 2>/dev/null;; esac\n"
	"\tif [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
	"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"${cur%\"${cur##*:}\"}\"}\")\n"
	"\tfi\n"
	"}\n"
	"complete -F _attar attar\n";

static void bash_word(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	buf_printf(b, " --%s", o->name);
	if (o->type == ATTAR_OPTION_SWITCH)
		buf_printf(b, " --no-%s", o->name);
	if (o->letter)
		buf_printf(b, " -%c", o->letter);
}

static void bash_dashed(struct buf *b, const char *option, size_t n, const char *help)
{
	buf_printf(b, " %.*s", (int)n, option);
}

static void bash_value(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	if (!o->value || o->implied)
		return;
	buf_printf(b, "\t%s:--%s", profiler->name, o->name);
	if (o->letter)
		buf_printf(b, "|%s:-%c", profiler->name, o->letter);
	buf_str(b, ") ");
	add_action(b, action_of(o->complete)->bash);
	buf_str(b, "; return;;\n");
}

static void bash_command(struct buf *b, const struct command *c)
{
	buf_printf(b, "\t%s)\n\t\tprintf '%%s\\n' -h", c->name);
	each_dashed(b, c, bash_dashed);
	buf_str(b, " | _attar_match\n");
	if (c->complete)
		buf_printf(b, "\t\t%s\n", action_of(c->complete)->bash);
	buf_str(b, "\t\t;;\n");
}

static void bash(struct buf *b)
{
	buf_str(b, bash_begin);
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		each_option(b, *p, bash_value);
	buf_str(b, "\tesac\n\tcase $name in\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, "\t%s)\n\t\tprintf '%%s\\n' -h --help --", (*p)->name);
		each_option(b, *p, bash_word);
		buf_str(b, " | _attar_match\n\t\t;;\n");
	}
	for (const struct command *c = commands; c->name; c++)
		bash_command(b, c);
	buf_str(b, "\tesac\n}\n");
	buf_str(b, "_attar()\n{\n\tlocal names='");
	all_names(b);
	buf_str(b, bash_end);
}

/* ---- zsh ---- */

/* Inside '...[...]': brackets, colons and quotes have a special meaning. */
static void zsh_text(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (strchr("[]:\\", *text))
			buf_char(b, '\\');
		buf_str(b, *text == '\'' ? "'\\''" : (char[]){*text, '\0'});
	}
}

static void zsh_spec(
	struct buf *b, const char *dashes, const char *name, const struct attar_option *o)
{
	buf_printf(b, " \\\n\t\t'*%s%s%s[", dashes, name,
		o->implied ? "=-"
		: o->value ? (dashes[1] ? "=" : "+")
			   : "");
	zsh_text(b, o->help);
	buf_char(b, ']');
	if (o->value) {
		buf_printf(b, o->implied ? "::%s:" : ":%s:", o->value);
		add_action(b, action_of(o->complete)->zsh);
	}
	buf_char(b, '\'');
}

static void zsh_option(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	char letter[2] = {o->letter, '\0'};

	zsh_spec(b, "--", o->name, o);
	if (o->letter)
		zsh_spec(b, "-", letter, o);
}

static void zsh_dashed(struct buf *b, const char *option, size_t n, const char *help)
{
	buf_printf(b, " \\\n\t\t'%.*s[", (int)n, option);
	zsh_text(b, help);
	buf_str(b, "]'");
}

static void zsh_name(struct buf *b, const char *name, const char *summary)
{
	buf_str(b, "\t\t'");
	zsh_text(b, name);
	buf_char(b, ':');
	zsh_text(b, summary);
	buf_str(b, "'\n");
}

static const char zsh_begin[] = "#compdef attar\n"
				"# zsh completion for attar\n"
				"_attar_events()\n"
				"{\n"
				"\tlocal -a events=(${(f)\"$(attar list --names 2>/dev/null)\"})\n"
				"\tcompset -P '*,'\n"
				"\tcompadd -a events\n"
				"}\n"
				"_attar_names()\n"
				"{\n"
				"\tlocal -a names=(\n";

static void zsh(struct buf *b)
{
	buf_str(b, zsh_begin);
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		zsh_name(b, (*p)->name, (*p)->summary);
	for (const struct command *c = commands; c->name; c++)
		zsh_name(b, c->name, c->summary);
	buf_str(b, "\t)\n\t_describe profiler names\n}\n_attar()\n{\n"
		   "\tlocal name=$words[2]\n"
		   "\tif (( CURRENT == 2 )); then\n\t\t_attar_names\n\t\treturn\n\tfi\n"
		   "\tshift words; (( CURRENT-- ))\n\tcase $name in\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, "\t%s) _arguments -S", (*p)->name);
		each_option(b, *p, zsh_option);
		buf_str(b, " \\\n\t\t'*::command:_normal';;\n");
	}
	for (const struct command *c = commands; c->name; c++) {
		buf_printf(b, "\t%s) _arguments", c->name);
		each_dashed(b, c, zsh_dashed);
		buf_printf(b, " \\\n\t\t'*:argument:%s';;\n", action_of(c->complete)->zsh);
	}
	buf_str(b, "\tesac\n}\n_attar \"$@\"\n");
}

/* ---- fish ---- */

static void fish_text(struct buf *b, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_char(b, '\\');
		buf_char(b, *text);
	}
}

static void fish_form(struct buf *b, const struct attar_profiler *profiler,
	const struct attar_option *o, const char *no)
{
	buf_printf(b, "complete -c attar -n '__fish_seen_subcommand_from %s' -l %s%s",
		profiler->name, no, o->name);
	if (o->letter)
		buf_printf(b, " -s %c", o->letter);
	if (o->value && !o->implied)
		add_action(b, action_of(o->complete)->fish);
	buf_str(b, " -d '");
	fish_text(b, o->help);
	buf_str(b, "'\n");
}

static void fish_option(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	fish_form(b, profiler, o, "");
	if (o->type == ATTAR_OPTION_SWITCH)
		fish_form(b, profiler, o, "no-");
}

static void fish_dashed(struct buf *b, const char *option, size_t n, const char *help)
{
	bool is_long = n > 2;

	buf_printf(b, " -%c %.*s -d '", is_long ? 'l' : 's', (int)(n - 1 - is_long),
		option + 1 + is_long);
	fish_text(b, help);
	buf_char(b, '\'');
}

static void fish_name(struct buf *b, const char *name, const char *summary)
{
	buf_printf(b, "complete -c attar -n __fish_use_subcommand -a %s -d '", name);
	fish_text(b, summary);
	buf_str(b, "'\n");
}

static void fish_command(struct buf *b, const struct command *c)
{
	fish_name(b, c->name, c->summary);
	for (const struct command_option *o = c->options; o->spelling; o++) {
		struct command_option one[] = {*o, {0}};
		struct command alone = {.options = one};

		if (o->spelling[0] != '-')
			continue;
		buf_printf(b, "complete -c attar -n '__fish_seen_subcommand_from %s'", c->name);
		each_dashed(b, &alone, fish_dashed);
		buf_char(b, '\n');
	}
	if (c->complete)
		buf_printf(b, "complete -c attar -n '__fish_seen_subcommand_from %s'%s\n", c->name,
			action_of(c->complete)->fish);
}

static void fish(struct buf *b)
{
	buf_str(b, "# fish completion for attar\nset -g attar_names '");
	all_names(b);
	buf_str(b, "'\ncomplete -c attar -f\n"
		   "complete -c attar -n 'contains -- -- (commandline -opc)' -F -a "
		   "'(__fish_complete_command)'\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		fish_name(b, (*p)->name, (*p)->summary);
		each_option(b, *p, fish_option);
	}
	for (const struct command *c = commands; c->name; c++)
		fish_command(b, c);
}

bool complete_script(struct buf *b, const char *shell)
{
	if (!strcmp(shell, "bash"))
		bash(b);
	else if (!strcmp(shell, "zsh"))
		zsh(b);
	else if (!strcmp(shell, "fish"))
		fish(b);
	else
		return false;
	return true;
}
