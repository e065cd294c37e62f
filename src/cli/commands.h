/* SPDX-License-Identifier: MIT */
/*
 * The commands that are not profilers. Each has a descriptor in its file; help, manual pages and
 * completion scripts are generated from it, and command_run() parses its options as the options of
 * profilers.
 */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <limits.h>

#include "attar/profiler.h"

/* What help says about words without a dash: "PATTERN", "watch NAME". */
struct command_operand {
	const char *name, *help;
};

/* A command line. */
struct command_words {
	int argc;
	char **argv;     /* all words; argv[0] is the name of the command */
	char **operands; /* the n words that are no options; ends with NULL */
	int n;
};

enum { COMMAND_ANY = INT_MAX };

struct command {
	const char *name, *usage;               /* "list", "[PATTERN]" */
	const char *summary;                    /* one line, starts in lower case, no full stop */
	const struct command_operand *operands; /* ends with a NULL name; NULL: none */
	const struct attar_option *options;     /* ends with a NULL name; NULL: none */
	size_t state_size;                      /* of the struct that the options set */
	const void *defaults;                   /* its contents before; NULL: zeroes */
	int max_operands;                       /* COMMAND_ANY: no limit */
	/* After this operand ("": any), words are operands, also with a dash. NULL: none. */
	const char *rest;
	/* All words are operands, which another program parses, except a single -h. */
	bool passes_words;
	/* how its operands are completed: "event", "name", "shell"; NULL: not at all */
	const char *complete;
	const struct attar_example *examples; /* ends with a NULL command; NULL: none */
	/* returns the exit status */
	int (*run)(void *state, const struct command_words *words);
};

extern const struct command command_agent, command_completion, command_diff, command_doctor,
	command_fleet, command_help, command_kcore, command_list, command_python, command_stack,
	command_symbols, command_usdt, command_user_events;

/* In display order; ends with NULL. */
extern const struct command *const commands[];

/* Returns NULL if no command has this name. */
const struct command *command_find(const char *name);

/* Parses the words after argv[0] and runs the command; returns the exit status. */
int command_run(const struct command *command, int argc, char **argv);

/* Prints an error for an unknown profiler or command; returns the exit status. */
int command_unknown(const char *name);

#endif
