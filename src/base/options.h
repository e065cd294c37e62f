/* SPDX-License-Identifier: MIT */
/*
 * Tables of options (attar/option.h) with the structs that they set, and the parser of their values
 * and of words of a command line: -x, -xVALUE, -x VALUE, flags bundled as -gv, --name VALUE,
 * --name=VALUE, --no-name.
 *
 *	struct options options = {.name = "list"};
 *
 *	options_add(&options, "Options", table, &state);
 *	r = options_set_word(&options, argv[i], argv[i + 1]);
 *	if (r > 0) i += r;
 *	options_done(&options);
 */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "attar/option.h"
#include "base/intern.h"
#include "base/vec.h"

enum { OPTION_GROUPS_MAX = 12 };

struct options {
	const char *name;    /* of the profiler or command, for messages */
	const char *operand; /* the option that words without a dash set; NULL: none */
	/* -ENOENT, with an error message: it says more of an option that is hidden or missing */
	int (*check)(const void *ctx, const char *name, char letter);
	const void *ctx;
	/* Whether a word is a value of --call-graph; NULL: none is. */
	bool (*is_unwind_method)(const char *word);
	struct intern texts;                                     /* values */
	struct attar_option_group groups[OPTION_GROUPS_MAX + 1]; /* and the terminator */
	void *states[OPTION_GROUPS_MAX]; /* the struct that the options of each group set */
	size_t n;
	struct attar_option *copies[OPTION_GROUPS_MAX]; /* of changed tables, by group; or NULL */
	VEC(const struct attar_option *) given;         /* by the caller or the preset */
	bool has_preset;                                /* the preset of the profiler was applied */
	bool in_preset;                                 /* it is being applied */
	size_t n_kept; /* while it is applied: the first ones of given, which it does not change */
	VEC(struct attar_texts *) lists; /* LIST members that hold memory */
	char letter; /* that the user wrote for the option being set; '\0': its name */
};

/* Frees what the options hold, also the values. */
void options_done(struct options *options);

/* Adds a table, which ends with a NULL name, with the struct that it sets; both are borrowed. */
void options_add(
	struct options *options, const char *title, const struct attar_option *table, void *state);

/* NULL: the table has no option with this name. */
const struct attar_option *options_named(const struct attar_option *table, const char *name);

/*
 * The option with this name, and the struct that it sets unless ret_state is NULL; NULL: none.
 * "call-graph" is "unwind" in profilers that always have stacks.
 */
const struct attar_option *options_find(
	const struct options *options, const char *name, void **ret_state);
const struct attar_option *options_find_letter(const struct options *options, char letter);

/*
 * As attar_run_set() and attar_run_set_word(): a name without dashes with its value, or NULL; a
 * word of a command line with the next one.
 */
int options_set(struct options *options, const char *name, const char *value);
int options_set_word(struct options *options, const char *word, const char *next);

#endif
