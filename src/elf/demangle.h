/* SPDX-License-Identifier: MIT */
/* Names of C++ (Itanium ABI), Rust (legacy and v0) and D demangled. */
#ifndef ELF_DEMANGLE_H
#define ELF_DEMANGLE_H

#include "base/buf.h"

/*
 * Appends a demangled name: without parameters, without Rust's hash, with a clone's suffix ("f
 * [clone .cold]"). Returns false and appends nothing if it is not mangled or cannot be demangled.
 */
bool demangle(const char *mangled, struct buf *ret_plain);

/*
 * The same with parameters, as other tools print names: "f(int) (.cold)".
 */
bool demangle_whole(const char *mangled, struct buf *ret_text);

#endif
