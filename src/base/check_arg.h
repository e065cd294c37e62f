/* SPDX-License-Identifier: MIT */
/*
 * Checks of the arguments of public functions. On failure, each macro returns from the calling
 * function and sets an error message that names function and argument.
 *
 *	int attar_counter_read(struct attar_counter *c, struct attar_value *ret_value)
 *	{
 *		CHECK_ARG(c, "counter");
 *		CHECK_ARG(ret_value, "ret_value");
 *
 * Functions that are called per event have no checks; attar/base.h lists them.
 */
#ifndef BASE_CHECK_ARG_H
#define BASE_CHECK_ARG_H

#include "base/base.h"

/*
 * The number of forks of this process and its ancestors since the library was loaded. An object
 * stores the value at its creation; a child process has a different one.
 */
extern unsigned check_process;

/* Each sets the error message of a public function and returns the errno: -EINVAL, -ECHILD. */
int check_missing(const char *function, const char *argument);
int check_flags(const char *function, unsigned unknown);
int check_range(const char *function, const char *argument, size_t value, size_t end);
int check_foreign(const char *function, const char *argument);

/* The argument is not NULL. */
#define CHECK_ARG(argument, name)                                                                  \
	do {                                                                                       \
		if (unlikely(!(argument)))                                                         \
			return check_missing(__func__, name);                                      \
	} while (0)

/* The same for a function that returns `failure` (which may be empty) instead of an errno. */
#define CHECK_ARG_OR(argument, name, failure)                                                      \
	do {                                                                                       \
		if (unlikely(!(argument))) {                                                       \
			check_missing(__func__, name);                                             \
			return failure;                                                            \
		}                                                                                  \
	} while (0)

/* The object is not NULL, and this process is the one that created it. */
#define CHECK_OWN(object, name)                                                                    \
	do {                                                                                       \
		if (unlikely(!(object)))                                                           \
			return check_missing(__func__, name);                                      \
		if (unlikely(!is_own_process(object)))                                             \
			return check_foreign(__func__, name);                                      \
	} while (0)

#define CHECK_OWN_OR(object, name, failure)                                                        \
	do {                                                                                       \
		CHECK_ARG_OR(object, name, failure);                                               \
		if (unlikely(!is_own_process(object))) {                                           \
			check_foreign(__func__, name);                                             \
			return failure;                                                            \
		}                                                                                  \
	} while (0)

/* No other flags than the known ones are set. */
#define CHECK_FLAGS(flags, known)                                                                  \
	do {                                                                                       \
		if (unlikely((flags) & ~(unsigned)(known)))                                        \
			return check_flags(__func__, (flags) & ~(unsigned)(known));                \
	} while (0)

/* The index, or value of an enum, is below end. */
#define CHECK_BELOW(value, name, end)                                                              \
	do {                                                                                       \
		if (unlikely((size_t)(value) >= (size_t)(end)))                                    \
			return check_range(__func__, name, (size_t)(value), (size_t)(end));        \
	} while (0)

/* False in a child that was forked after the object was created. */
#define is_own_process(object) ((object)->process == check_process)

#endif
