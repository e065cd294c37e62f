/* SPDX-License-Identifier: MIT */
/*
 * attar/private/lang.h - functions of interpreted languages in which a running thread is.
 *
 * An interpreter executes all functions of its language in one native function, its loop, so that
 * native stacks say nothing about the program. The frames of the language are in the memory of the
 * process:
 *
 *	struct lang *lang;
 *	lang_open(pid, &lang);
 *	lang_take(lang, tid);			// while the thread is still
 *	while (lang_next(lang, &frame))			// innermost first
 *		...
 *	lang_free(lang);
 *
 * Supported: CPython 3.8 to 3.13 on x86-64 and arm64, CRuby 3.1 on x86-64, PHP 8.2,
 * Perl 5.36 with threads.
 */
#ifndef ATTAR_PRIVATE_LANG_H
#define ATTAR_PRIVATE_LANG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct lang;

/* A function of the language. The strings are valid until lang_free(). */
struct lang_frame {
	const char *name; /* "outer.<locals>.inner" */
	const char *file; /* as the language names it; "": it has none */
	uint32_t line;    /* 0: unknown */
	bool is_entry;    /* native code called it: the loop's frame ends here */
};

/*
 * Finds the runtime in a process. *ret_lang is NULL if it has none. Returns 0; -EOPNOTSUPP, with a
 * sentence, if it has a version of a runtime that is not known; -ESRCH; -EPERM; -ENOMEM.
 */
int lang_open(pid_t pid, struct lang **ret_lang);
struct lang *lang_free(struct lang *lang);

/* "Python 3.11" */
const char *lang_title(const struct lang *lang);

/* Whether the native function with this name is the loop. */
bool lang_is_loop(const struct lang *lang, const char *symbol);

/* Whether a file is the one that has the runtime, whose native frames tell nothing either. */
bool lang_is_runtime(const struct lang *lang, const char *path);

/* The time that reading may take begins anew: the threads are visited again. */
void lang_begin_turn(struct lang *lang);

/*
 * A child process reads the memory, since a read of the memory of a hostile process may never end.
 * Each call starts one, unless it is held: for calls that follow each other for some time.
 */
void lang_hold(void);
void lang_release(void);

/*
 * Reads where the frames of a thread are, and forgets the frames of the thread before. The frames
 * of a thread that runs meanwhile may be wrong. Returns the number of frames.
 */
size_t lang_take(struct lang *lang, pid_t tid);

/* The next frame of those that were taken. False after the last one. */
bool lang_next(struct lang *lang, struct lang_frame *ret_frame);

#endif
