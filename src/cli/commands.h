/* SPDX-License-Identifier: MIT */
/* The commands beside the profilers: the table that help, manual and completion are read from. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

struct command_option {
	const char *spelling; /* "-v, --verbose", "watch NAME" */
	const char *help;
};

struct command {
	const char *name, *arguments;         /* "list", "[PATTERN]" */
	const char *summary;                  /* one line, begins in lower case, no full stop */
	const struct command_option *options; /* ends with a NULL spelling */
	int (*run)(int argc, char **argv);    /* argv[0] is the name; the exit status */
	/* what its arguments are: "event", "name", "shell"; NULL: nobody knows */
	const char *complete;
};

/* In the order in which they are shown; ends with a NULL name. */
extern const struct command commands[];

/* NULL: no command has this name. */
const struct command *command_find(const char *name);

/* Complains that there is neither a profiler nor a command of this name; the exit status. */
int command_unknown(const char *name);

#endif
