/* SPDX-License-Identifier: MIT */
/*
 * Optional libraries, which are loaded when they are used. They stay loaded: other parts of the
 * program may use them too, and they may have threads.
 *
 *     #define FUNCTIONS(F) F(open, cs_open) F(close, cs_close)
 *     LIBRARY_FUNCTIONS(capstone, FUNCTIONS);
 *     struct capstone lib;
 *     int r = library_load("libcapstone.so.4", capstone_names, ARRAY_SIZE(capstone_names), &lib);
 */
#ifndef BASE_LIBRARY_H
#define BASE_LIBRARY_H

#include "base/base.h"

#define LIBRARY_MEMBER(member, function) __typeof__(function) *member;
#define LIBRARY_NAME(member, function)   #function,

/* A struct of pointers to functions, and the list of their names. */
#define LIBRARY_FUNCTIONS(type, LIST)                                                              \
	struct type {                                                                              \
		LIST(LIBRARY_MEMBER)                                                               \
	};                                                                                         \
	static const char *const type##_names[] = {LIST(LIBRARY_NAME)}

/*
 * Stores pointers to the functions in ret_functions, a struct with n pointers in the order of
 * names. -ENOENT: the library cannot be loaded, see dlerror(3); -ENOSYS: it lacks a function.
 */
int library_load(const char *soname, const char *const *names, size_t n, void *ret_functions);

/* The message for an error of library_load(): user needs the library. Returns -EOPNOTSUPP. */
int library_fail(int error, const char *user, const char *library, const char *package);

/* A function of a library that was loaded before. NULL: there is none. */
void *library_function(const char *soname, const char *name);

#endif
