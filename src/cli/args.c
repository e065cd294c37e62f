/* SPDX-License-Identifier: MIT */
/* The command line of a profiler: options, -h, "help" after events, and -- before a command. */
#include "base/base.h"
#include "base/buf.h"
#include "cli/cli.h"

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
	struct buf events _cleanup_(buf_done) = {0};
	struct args args = {0};
	bool help = false;

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
		if (!strcmp(arg, "-V") || !strcmp(arg, "--version")) {
			args.version = true;
			continue;
		}
		if (!strcmp(arg, "help") && events.len) {
			help = true;
			continue;
		}
		if (arg[0] != '-' || !arg[1])
			return attar_fail(-EINVAL,
				"'%s' is not an option; put a command to run after --: -- %s ...",
				CLIP(arg), CLIP(arg));
		r = attar_run_set_word(run, arg, argv[i + 1]);
		if (r < 0)
			return r;
		if (event_of(arg, argv[i + 1]))
			buf_printf(
				&events, "%s%s", events.len ? "," : "", event_of(arg, argv[i + 1]));
		if (buf_failed(&events))
			return base_oom();
		i += r - 1;
	}
	if (help && !(args.events = buf_take(&events)))
		return base_oom();
	*ret_args = args;
	return attar_run_set_preset(run);
}
