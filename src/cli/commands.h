/* SPDX-License-Identifier: MIT */
/*
 * The commands that are not profilers. Help texts, manual pages and completion scripts are
 * generated from this table.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "attar/profiler.h"

struct command_option {
	const char *spelling; /* "-v, --verbose", "watch NAME" */
	const char *help;
};

struct command {
	const char *name, *arguments;         /* "list", "[PATTERN]" */
	const char *summary;                  /* one line, starts in lower case, no full stop */
	const struct command_option *options; /* ends with a NULL spelling */
	int (*run)(int argc, char **argv);    /* argv[0] is the name; the exit status */
	/* how its arguments are completed: "event", "name", "shell"; NULL: not at all */
	const char *complete;
	const struct attar_example *examples; /* ends with a NULL command; NULL: none */
};

/* In display order; ends with a NULL name. */
extern const struct command commands[];

/* Returns NULL if no command has this name. */
const struct command *command_find(const char *name);

/* Prints an error for an unknown profiler or command; returns the exit status. */
int command_unknown(const char *name);

#endif
