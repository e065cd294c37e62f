/* SPDX-License-Identifier: MIT */
/* Completion scripts for three shells, made from the option tables. */
#include "base/base.h"
#include "cli/cli.h"
#include "cli/commands.h"

typedef void option_fn(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o);

static void each_option(struct buf *b, const struct attar_profiler *profiler, option_fn *fn)
{
	struct attar_run *run;

	if (attar_run_new(profiler->name, &run) < 0)
		return;
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			fn(b, profiler, o);
	attar_run_free(run);
}

/* ---- bash ---- */

static void bash_word(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	buf_printf(b, " --%s", o->name);
	if (o->type == ATTAR_OPTION_SWITCH)
		buf_printf(b, " --no-%s", o->name);
	if (o->letter)
		buf_printf(b, " -%c", o->letter);
}

static const char *bash_action(const char *what)
{
	static const struct {
		const char *what, *action;
	} actions[] = {
		{"file", "compgen -f -- \"$cur\""},
		{"pid", "compgen -W \"$(ps -eo pid= 2>/dev/null)\" -- \"$cur\""},
		{"cpu", "compgen -W \"$(cat /sys/devices/system/cpu/online 2>/dev/null)\" -- "
			"\"$cur\""},
		{"format", "compgen -W \"text json csv folded html\" -- \"$cur\""},
		{"event", "compgen -W \"$(attar list --names 2>/dev/null)\" -- \"$cur\""},
	};

	for (size_t i = 0; what && i < ARRAY_SIZE(actions); i++)
		if (!strcmp(actions[i].what, what))
			return actions[i].action;
	return "true";
}

static void bash_value(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	if (!o->value)
		return;
	buf_printf(b, "\t%s:--%s", profiler->name, o->name);
	if (o->letter)
		buf_printf(b, "|%s:-%c", profiler->name, o->letter);
	buf_printf(b, ") mapfile -t COMPREPLY < <(%s); return;;\n", bash_action(o->complete));
}

static void bash(struct buf *b)
{
	buf_str(b, "# bash completion for attar\n_attar()\n{\n\tlocal "
		   "cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} "
		   "name=${COMP_WORDS[1]}\n\tCOMPREPLY=()\n\tif [ \"$COMP_CWORD\" = 1 ]; "
		   "then\n\t\tmapfile -t COMPREPLY < <(compgen -W \"--version -h");
	for (const struct command *c = commands; c->name; c++)
		buf_printf(b, " %s", c->name);
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		buf_printf(b, " %s", (*p)->name);
	buf_str(b, "\" -- \"$cur\")\n\t\treturn\n\tfi\n\tcase \"$name:$prev\" in\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		each_option(b, *p, bash_value);
	buf_str(b, "\tesac\n\tcase \"$name\" in\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, "\t%s) mapfile -t COMPREPLY < <(compgen -W \"-h --help", (*p)->name);
		each_option(b, *p, bash_word);
		buf_str(b, "\" -- \"$cur\");;\n");
	}
	buf_str(b, "\tesac\n}\ncomplete -F _attar attar\n");
}

/* ---- zsh ---- */

/* Inside '...[...]': brackets, colons and quotes have meanings of their own. */
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
	buf_printf(b, " \\\n\t\t'*%s%s%s[", dashes, name, o->value ? (dashes[1] ? "=" : "+") : "");
	zsh_text(b, o->help);
	buf_char(b, ']');
	if (o->value)
		buf_printf(b, ":%s:%s", o->value,
			o->complete && !strcmp(o->complete, "file")  ? "_files"
			: o->complete && !strcmp(o->complete, "pid") ? "_pids"
			: o->complete && !strcmp(o->complete, "format")
				? "(text json csv folded html)"
				: " ");
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

static void zsh(struct buf *b)
{
	buf_str(b, "#compdef attar\n# zsh completion for attar\n_attar()\n{\n\tlocal "
		   "name=$words[2]\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a names=(");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, "'%s:", (*p)->name);
		zsh_text(b, (*p)->summary);
		buf_str(b, "' ");
	}
	for (const struct command *c = commands; c->name; c++) {
		buf_printf(b, "'%s:", c->name);
		zsh_text(b, c->summary);
		buf_str(b, "' ");
	}
	buf_str(b, ")\n\t\t_describe profiler names\n\t\treturn\n\tfi\n\tshift words; (( "
		   "CURRENT-- ))\n\tcase $name in\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, "\t%s) _arguments", (*p)->name);
		each_option(b, *p, zsh_option);
		buf_str(b, ";;\n");
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

static void fish_option(
	struct buf *b, const struct attar_profiler *profiler, const struct attar_option *o)
{
	buf_printf(b, "complete -c attar -n '__fish_seen_subcommand_from %s' -l %s", profiler->name,
		o->name);
	if (o->letter)
		buf_printf(b, " -s %c", o->letter);
	if (o->value)
		buf_str(b, o->complete && !strcmp(o->complete, "file") ? " -r -F" : " -x");
	if (o->complete && !strcmp(o->complete, "pid"))
		buf_str(b, " -a '(__fish_complete_pids)'");
	if (o->complete && !strcmp(o->complete, "format"))
		buf_str(b, " -a 'text json csv folded html'");
	buf_str(b, " -d '");
	fish_text(b, o->help);
	buf_str(b, "'\n");
}

static void fish(struct buf *b)
{
	buf_str(b, "# fish completion for attar\ncomplete -c attar -f\n");
	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++) {
		buf_printf(b, "complete -c attar -n __fish_use_subcommand -a %s -d '", (*p)->name);
		fish_text(b, (*p)->summary);
		buf_str(b, "'\n");
		each_option(b, *p, fish_option);
	}
	for (const struct command *c = commands; c->name; c++) {
		buf_printf(b, "complete -c attar -n __fish_use_subcommand -a %s -d '", c->name);
		fish_text(b, c->summary);
		buf_str(b, "'\n");
	}
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
