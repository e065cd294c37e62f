/* SPDX-License-Identifier: MIT */
/*
 * The separate debug file of a stripped binary, and the small symbol table that some distributions
 * leave in one. Conventions: "Debugging Information in Separate Files" in GDB's manual,
 * "MiniDebugInfo" there.
 */
#ifndef SYMBOL_DEBUGFILE_H
#define SYMBOL_DEBUGFILE_H

#include "elf/elf.h"

/* Which binary, and where to look. */
struct debugfile {
	const struct elf *elf;
	const char *path;  /* the binary's, below root */
	const char *roots; /* colon-separated directories below root: "/usr/lib/debug" */
	int root;          /* a directory handle, or AT_FDCWD */
};

/*
 * Opens the debug file: by build-id, then by debug link next to the binary, in .debug and below the
 * roots. It is the right one when its build-id is the binary's or, where one of them has none, the
 * link's CRC. The fd is the caller's. -ENOENT when there is none.
 */
int debugfile_open(const struct debugfile *which);

/*
 * Unpacks .gnu_debugdata (xz) into memory of the caller's. 0; -ENOENT when there is none, or a broken one;
 * -ENOMEM.
 */
int debugfile_unpack(const struct elf *elf, uint8_t **ret_image, size_t *ret_size);

#endif
