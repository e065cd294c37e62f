/* SPDX-License-Identifier: MIT */
/*
 * Names of the D language (https://dlang.org/spec/abi.html#name_mangling, since D 2.077). The
 * demangler of libiberty allocates without a limit: a name of a few hundred bytes whose parts refer
 * to each other can have any length. This one ends at limits of steps, depth and output.
 */
#ifndef ELF_DEMANGLE_D_H
#define ELF_DEMANGLE_D_H

#include "base/buf.h"

enum {
	DEMANGLE_D_OUTPUT = 8 << 10, /* bytes */
	DEMANGLE_D_STEPS = 32 << 10, /* types, values and identifiers read */
	DEMANGLE_D_DEPTH = 128,      /* of those within each other */
};

/*
 * Appends a demangled name; parameters: with the parameters of functions, as "f(int)". Returns
 * false, and appends nothing, if it is not a name of D or exceeds a limit.
 */
bool demangle_d(const char *mangled, bool parameters, struct buf *ret_text);

#endif
