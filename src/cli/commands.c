/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include <string.h>

#include "base/suggest.h"
#include "cli/cli.h"

static const struct command_option list_options[] = {
	{"PATTERN", "only events whose names have this part, or of this kind (hardware, cache,"
		    " software, PMU, tracepoint); * and ? match as in a shell. The whole name of a"
		    " tracepoint shows its fields and commands to begin with"},
	{"-v, --verbose", "also what cannot be opened here, with the reason"},
	{"--names", "names alone, one a line"},
	{"--json", "a report for programs"},
	{0},
};

static const struct command_option doctor_options[] = {
	{"(no option)",
		"looks and changes nothing; exit status 0: nothing is blocked, 4: something is"},
	{"--json", "a report for programs"},
	{0},
};

static const struct command_option user_events_options[] = {
	{"PART", "only events whose names have this part"},
	{"-d, --duration TIME", "count for this time: seconds, or with a unit: 500ms, 5s, 1m"},
	{"--json", "a report for programs"},
	{"watch NAME", "print the event as it comes; then every option of 'attar trace'"},
	{0},
};

static const struct command_option no_options[] = {{0}};

const struct command commands[] = {
	{"list", "[PATTERN]", "events that can be watched here", list_options, command_list,
		"event"},
	{"doctor", "[--json]", "what works here, and the least that mends what does not",
		doctor_options, command_doctor},
	{"user-events", "[PART] | watch NAME", "events that programs have registered",
		user_events_options, command_user_events},
	{"help", "[NAME]", "the manual of a profiler or command", no_options, command_help, "name"},
	{"completion", "bash|zsh|fish", "a completion script", no_options, command_completion,
		"shell"},
	{0},
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

int command_unknown(const char *name)
{
	struct suggest near = {.word = name};

	for (const struct attar_profiler *const *p = attar_profilers(); *p; p++)
		suggest_offer(&near, (*p)->name);
	for (const struct command *c = commands; c->name; c++)
		suggest_offer(&near, c->name);
	if (near.best)
		attar_fail(-ENOENT, "there is no profiler '%s': did you mean '%s'?", CLIP(name),
			near.best);
	else
		attar_fail(-ENOENT, "there is no profiler '%s': 'attar -h' lists them", CLIP(name));
	return report_error(STATUS_USAGE);
}
