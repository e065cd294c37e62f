/* SPDX-License-Identifier: MIT */
/* The command line of a profiler: options, -h, "help" after events, and -- before a command. */
#include "base/base.h"
#include "base/buf.h"
#include "cli/cli.h"

/* The value that a word, or the next one, gives to the option; NULL: it is another option. */
static const char *value_of(const struct attar_option *o, const char *word, const char *next)
{
	size_t n = strlen(o->name);

	if (word[1] != '-')
		return word[1] != o->letter ? NULL : word[2] ? word + 2 : next;
	if (strncmp(word + 2, o->name, n) != 0)
		return NULL;
	return word[2 + n] == '=' ? word + 3 + n : word[2 + n] ? NULL : next;
}

static const char *find_value(const struct attar_run *run,
	bool (*fits)(const struct attar_option *, const char *), const char *wanted,
	const char *word, const char *next)
{
	const char *value = NULL;

	if (word[0] != '-' || !word[1])
		return NULL;
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		for (const struct attar_option *o = g->options; o->name && !value; o++)
			if (fits(o, wanted))
				value = value_of(o, word, next);
	return value;
}

static bool completes(const struct attar_option *o, const char *what)
{
	return o->complete && !strcmp(o->complete, what);
}

static bool is_named(const struct attar_option *o, const char *name)
{
	return !strcmp(o->name, name);
}

const char *args_event(const struct attar_run *run, const char *word, const char *next)
{
	return find_value(run, completes, "event", word, next);
}

const char *args_value(const struct attar_run *run, char *const *words, const char *name)
{
	const char *value = NULL;

	for (; *words; words++)
		value = find_value(run, is_named, name, words[0], words[1]) ?: value;
	return value;
}

int args_set(struct attar_run *run, const char *word, const char *next)
{
	const char *operand = attar_run_profiler(run)->operand;
	int r;

	if (word[0] == '-' && word[1])
		return attar_run_set_word(run, word, next);
	if (operand) {
		r = attar_run_set(run, operand, word);
		return r < 0 ? r : 1;
	}
	if (!strcmp(word, "help"))
		return attar_fail(-EINVAL,
			"'help' shows the events of -e, which is missing;" ATTAR_FIX
			"'attar help %s' shows the manual page",
			attar_run_profiler(run)->name);
	return attar_fail(-EINVAL,
		"'%s' is not an option;" ATTAR_FIX "put a command to run after --: -- %s ...",
		CLIP(word), CLIP(word));
}

int args_parse(struct attar_run *run, int argc, char **argv, struct args *ret_args)
{
	struct buf events _cleanup_(buf_done) = {0};
	struct args args = {0};
	bool help = false;

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *event;
		int r;

		if (!strcmp(arg, "--")) {
			if (i + 1 == argc)
				return attar_fail(-EINVAL, "expected a command after --");
			args.command = argv + i + 1;
			break;
		}
		if (!strcmp(arg, "-h") || !strcmp(arg, "--help")) {
			args.help = true;
			if (argv[i + 1] && !strcmp(argv[i + 1], "all")) {
				args.help_all = true;
				i++;
			}
			continue;
		}
		if (!strcmp(arg, "-V") || !strcmp(arg, "--version")) {
			args.version = true;
			continue;
		}
		if (!strcmp(arg, "help") && events.len) {
			help = true;
			continue;
		}
		r = args_set(run, arg, argv[i + 1]);
		if (r < 0)
			return r;
		event = args_event(run, arg, argv[i + 1]);
		if (event)
			buf_printf(&events, "%s%s", events.len ? "," : "", event);
		if (buf_failed(&events))
			return base_oom();
		i += r - 1;
	}
	if (help && !(args.events = buf_take(&events)))
		return base_oom();
	*ret_args = args;
	return run_set_preset(run);
}

char *args_join(int argc, char **argv)
{
	struct buf b = {0};

	buf_str(&b, "attar");
	for (int i = 0; i < argc; i++)
		buf_printf(&b, " %s", argv[i]);
	return buf_take(&b);
}
