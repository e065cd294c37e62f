/* SPDX-License-Identifier: MIT */
/*
 * The command line of a profiler: -x, -xVALUE, -x VALUE, flags bundled as -gv, --name VALUE,
 * --name=VALUE,
 * --no-name, and -- before a command. The option tables define whether an option takes a value.
 */
#include "base/base.h"
#include "cli/cli.h"

static const struct attar_option *find_letter(const struct attar_run *run, char letter)
{
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

static const struct attar_option *find_name(const struct attar_run *run, const char *name)
{
	for (const struct attar_option_group *g = attar_run_option_groups(run); g->title; g++)
		for (const struct attar_option *o = g->options; o->name; o++)
			if (!strcmp(o->name, name))
				return o;
	return NULL;
}

static bool takes_value(const struct attar_option *o)
{
	return o && o->type != ATTAR_OPTION_FLAG && o->type != ATTAR_OPTION_SWITCH;
}

/* Returns the number of additional arguments consumed (0 or 1), or a negative errno. */
static int long_option(struct attar_run *run, const char *arg, const char *next)
{
	const char *equals = strchr(arg, '=');
	char *name _cleanup_free_ = equals ? strndup(arg, (size_t)(equals - arg)) : strdup(arg);
	bool separate;
	int r;

	if (!name)
		return base_oom();
	separate = !equals && takes_value(find_name(run, name));
	r = attar_run_set(run, name, equals ? equals + 1 : separate ? next : NULL);
	return r < 0 ? r : separate;
}

static int letters(struct attar_run *run, const char *profiler, const char *arg, const char *next)
{
	for (const char *p = arg; *p; p++) {
		const struct attar_option *o = find_letter(run, *p);
		int r;

		if (!o)
			return attar_fail(-ENOENT, "no such option -%c: 'attar %s -h' lists them",
				*p, profiler);
		if (takes_value(o)) {
			r = attar_run_set(run, o->name, p[1] ? p + 1 : next);
			return r < 0 ? r : !p[1];
		}
		r = attar_run_set(run, o->name, NULL);
		if (r < 0)
			return r;
	}
	return 0;
}

/* The value of -e or --event; NULL for any other option. */
static const char *event_of(const char *arg, const char *next)
{
	if (!strcmp(arg, "-e") || !strcmp(arg, "--event"))
		return next;
	if (!strncmp(arg, "--event=", 8))
		return arg + 8;
	return !strncmp(arg, "-e", 2) ? arg + 2 : NULL;
}

int args_parse(struct attar_run *run, int argc, char **argv, struct args *ret_args)
{
	const char *event = NULL;
	struct args args = {0};

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];
		int r;

		if (!strcmp(arg, "--")) {
			if (i + 1 == argc)
				return attar_fail(-EINVAL, "a command is expected after --");
			args.command = argv + i + 1;
			break;
		}
		if (!strcmp(arg, "-h") || !strcmp(arg, "--help")) {
			args.help = true;
			continue;
		}
		if (!strcmp(arg, "help") && event) {
			args.events = event;
			continue;
		}
		if (arg[0] != '-' || !arg[1])
			return attar_fail(-EINVAL,
				"'%s' is not an option; put a command to run after --: -- %s ...",
				CLIP(arg), CLIP(arg));
		r = arg[1] == '-' ? long_option(run, arg + 2, argv[i + 1])
				  : letters(run, argv[0], arg + 1, argv[i + 1]);
		if (r < 0)
			return r;
		if (event_of(arg, argv[i + 1]))
			event = event_of(arg, argv[i + 1]);
		i += r;
	}
	*ret_args = args;
	return 0;
}
