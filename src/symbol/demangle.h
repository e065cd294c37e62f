/* SPDX-License-Identifier: MIT */
/* C++ (Itanium ABI) and Rust (legacy and v0) names as people write them. */
#ifndef SYMBOL_DEMANGLE_H
#define SYMBOL_DEMANGLE_H

#include "base/buf.h"

/*
 * Appends the plain form of a mangled name: without parameters, without Rust's hash, with a clone's
 * suffix ("f [clone .cold]"). False, and nothing appended, when it is not mangled or not
 * understood.
 */
bool demangle(const char *mangled, struct buf *ret_plain);

#endif
