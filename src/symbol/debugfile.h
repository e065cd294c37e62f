/* SPDX-License-Identifier: MIT */
/*
 * Separate debug files of stripped binaries, and the small symbol table that some distributions
 * embed in binaries. Conventions: "Debugging Information in Separate Files" in GDB's manual,
 * "MiniDebugInfo" there.
 */
#ifndef SYMBOL_DEBUGFILE_H
#define SYMBOL_DEBUGFILE_H

#include "base/buf.h"
#include "elf/elf.h"
#include "symbol/debuginfod.h"
#include "symbol/file_opener.h"

/* The binary, and search paths. */
struct debugfile {
	const struct elf *elf;
	const char *path;          /* the binary's, below root */
	const char *roots;         /* colon-separated directories below root: "/usr/lib/debug" */
	int root;                  /* a directory handle, or AT_FDCWD */
	struct debuginfod *server; /* asked if no file is found; NULL: none */
	const struct file_opener *opener; /* opens files instead; NULL: none */
	/* If none fits: set to the path of one that is not used, and the reason; may be NULL */
	struct buf *unfit;
	const char **reason;
};

/* Appends "ROOT/.build-id/ab/cd....debug" to path; n: bytes of root; id_size: at least 2. */
void debugfile_id_path(
	struct buf *path, const char *root, size_t n, const uint8_t *id, size_t id_size);

/*
 * Opens the debug file: by build ID, then by debug link next to the binary, in .debug, and below
 * the roots, then from the server. The file matches if its build ID is the build ID of the binary,
 * or, if one of them has no build ID, if its CRC is that in the link. Returns an fd owned by the
 * caller, or
 * -ENOENT.
 */
int debugfile_open(const struct debugfile *which);

/*
 * Decompresses .gnu_debugdata (xz); the caller frees *ret_image. Returns 0; -ENOENT if the section
 * is missing or malformed; -ENOMEM.
 */
int debugfile_unpack(const struct elf *elf, uint8_t **ret_image, size_t *ret_size);

#endif
