/* SPDX-License-Identifier: MIT */
/*
 * In which functions of an interpreted language processes are, seen about ten times a second while
 * they run or wait for a CPU: samples only show the interpreter. Threads are not stopped.
 */
#ifndef PROFILERS_OVERVIEW_LANGUAGES_H
#define PROFILERS_OVERVIEW_LANGUAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LANGUAGES_MAX = 8, LANGUAGE_FUNCTIONS_MAX = 64, LANGUAGE_NAME_BYTES = 64 };

struct language_function {
	char name[LANGUAGE_NAME_BYTES], file[LANGUAGE_NAME_BYTES]; /* file: without its folder */
	uint64_t inner;  /* looks in which it was the innermost function */
	uint64_t all;    /* in which it was one of the functions */
	uint64_t depth;  /* the functions inside of it, the sum over all looks */
	uint64_t looked; /* the number of the last look that saw it */
};

struct lang;

/* A process. */
struct language {
	pid_t pid;
	struct lang *lang; /* NULL: it has no interpreter that is known */
	uint64_t searches; /* without success */
	uint64_t looks;    /* that found a function */
	struct language_function functions[LANGUAGE_FUNCTIONS_MAX];
	size_t n;
};

struct languages {
	uint64_t time; /* ns: of the last look */
	bool is_held;  /* lang_hold() */
	struct language at[LANGUAGES_MAX];
	size_t n;
};

struct usages;

/* Looks at the selected processes, if it is time and they are few. */
void languages_look(const struct usages *usages, struct languages *languages);
void languages_done(struct languages *languages);

/*
 * The innermost function that, with all that it calls, was seen in 60 % of the looks, and their
 * number; *ret_looks is then what it was seen in. NULL: there is none, or there were few looks.
 */
const struct language_function *languages_caller(
	const struct languages *languages, pid_t pid, uint64_t *ret_looks);

#endif
