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

/* A profiler or command. */
struct entry {
	const char *name, *summary;
	const struct command *command; /* NULL: a profiler */
};

typedef void entry_fn(struct buf *b, const struct entry *e);
typedef void option_fn(struct buf *b, const char *name, const struct attar_option *o);

static void each_entry(struct buf *b, entry_fn *fn)
{
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		fn(b, &(struct entry){(*p)->name, (*p)->summary, NULL});
	for (const struct command *const *c = commands; *c; c++)
		fn(b, &(struct entry){(*c)->name, (*c)->summary, *c});
}

static void each_of(
	struct buf *b, const char *name, const struct attar_option *options, option_fn *fn)
{
	for (const struct attar_option *o = options; o && o->name; o++)
		if (o->help)
			fn(b, name, o);
}

static void each_option(struct buf *b, const struct entry *e, option_fn *fn)
{
	struct output_options output;
	struct attar_run *run;

	if (e->command) {
		each_of(b, e->name, e->command->options, fn);
		return;
	}
	if (output_options_run_new(e->name, &output, &run) < 0)
		return;
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		each_of(b, e->name, g->options, fn);
	attar_run_free(run);
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

static void add_name(struct buf *b, const struct entry *e)
{
	buf_printf(b, "%s ", e->name);
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

static void bash_word(struct buf *b, const char *name, const struct attar_option *o)
{
	buf_printf(b, " --%s", o->name);
	if (o->type == ATTAR_OPTION_SWITCH)
		buf_printf(b, " --no-%s", o->name);
	if (o->letter)
		buf_printf(b, " -%c", o->letter);
}

static void bash_value(struct buf *b, const char *name, const struct attar_option *o)
{
	if (!o->value || o->implied)
		return;
	buf_printf(b, "\t%s:--%s", name, o->name);
	if (o->letter)
		buf_printf(b, "|%s:-%c", name, o->letter);
	buf_str(b, ") ");
	add_action(b, action_of(o->complete)->bash);
	buf_str(b, "; return;;\n");
}

static void bash_values(struct buf *b, const struct entry *e)
{
	each_option(b, e, bash_value);
}

static void bash_words(struct buf *b, const struct entry *e)
{
	buf_printf(b, "\t%s)\n\t\tprintf '%%s\\n' -h --help --", e->name);
	each_option(b, e, bash_word);
	buf_str(b, " | _attar_match\n");
	if (e->command && e->command->complete)
		buf_printf(b, "\t\t%s\n", action_of(e->command->complete)->bash);
	buf_str(b, "\t\t;;\n");
}

static void bash(struct buf *b)
{
	buf_str(b, bash_begin);
	each_entry(b, bash_values);
	buf_str(b, "\tesac\n\tcase $name in\n");
	each_entry(b, bash_words);
	buf_str(b, "\tesac\n}\n");
	buf_str(b, "_attar()\n{\n\tlocal names='");
	each_entry(b, add_name);
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
		!o->value    ? ""
		: o->implied ? "=-"
		: dashes[1]  ? "="
			     : "+");
	zsh_text(b, o->help);
	buf_char(b, ']');
	if (o->value) {
		buf_str(b, o->implied ? "::" : ":");
		zsh_text(b, o->value);
		buf_char(b, ':');
		add_action(b, action_of(o->complete)->zsh);
	}
	buf_char(b, '\'');
}

static void zsh_option(struct buf *b, const char *name, const struct attar_option *o)
{
	char letter[2] = {o->letter, '\0'};

	zsh_spec(b, "--", o->name, o);
	if (o->letter)
		zsh_spec(b, "-", letter, o);
}

static void zsh_name(struct buf *b, const struct entry *e)
{
	buf_str(b, "\t\t'");
	zsh_text(b, e->name);
	buf_char(b, ':');
	zsh_text(b, e->summary);
	buf_str(b, "'\n");
}

static void zsh_entry(struct buf *b, const struct entry *e)
{
	buf_printf(b, "\t%s) _arguments -S", e->name);
	each_option(b, e, zsh_option);
	if (e->command)
		buf_printf(b, " \\\n\t\t'*:argument:%s';;\n", action_of(e->command->complete)->zsh);
	else
		buf_str(b, " \\\n\t\t'*::command:_normal';;\n");
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
	each_entry(b, zsh_name);
	buf_str(b, "\t)\n\t_describe profiler names\n}\n_attar()\n{\n"
		   "\tlocal name=$words[2]\n"
		   "\tif (( CURRENT == 2 )); then\n\t\t_attar_names\n\t\treturn\n\tfi\n"
		   "\tshift words; (( CURRENT-- ))\n\tcase $name in\n");
	each_entry(b, zsh_entry);
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

static void fish_form(struct buf *b, const char *name, const struct attar_option *o, const char *no)
{
	buf_printf(b, "complete -c attar -n '__fish_seen_subcommand_from %s' -l %s%s", name, no,
		o->name);
	if (o->letter)
		buf_printf(b, " -s %c", o->letter);
	if (o->value && !o->implied)
		add_action(b, action_of(o->complete)->fish);
	buf_str(b, " -d '");
	fish_text(b, o->help);
	buf_str(b, "'\n");
}

static void fish_option(struct buf *b, const char *name, const struct attar_option *o)
{
	fish_form(b, name, o, "");
	if (o->type == ATTAR_OPTION_SWITCH)
		fish_form(b, name, o, "no-");
}

static void fish_entry(struct buf *b, const struct entry *e)
{
	buf_printf(b, "complete -c attar -n __fish_use_subcommand -a %s -d '", e->name);
	fish_text(b, e->summary);
	buf_str(b, "'\n");
	each_option(b, e, fish_option);
	if (e->command && e->command->complete)
		buf_printf(b, "complete -c attar -n '__fish_seen_subcommand_from %s'%s\n", e->name,
			action_of(e->command->complete)->fish);
}

static void fish(struct buf *b)
{
	buf_str(b, "# fish completion for attar\nset -g attar_names '");
	each_entry(b, add_name);
	buf_str(b, "'\ncomplete -c attar -f\n"
		   "complete -c attar -n 'contains -- -- (commandline -opc)' -F -a "
		   "'(__fish_complete_command)'\n");
	each_entry(b, fish_entry);
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
