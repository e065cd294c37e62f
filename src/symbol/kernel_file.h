/* SPDX-License-Identifier: MIT */
/* Finds files of the running kernel and of its modules by their build IDs. */
#ifndef SYMBOL_KERNEL_FILE_H
#define SYMBOL_KERNEL_FILE_H

#include <sys/utsname.h>

#include "attar/symbol.h"
#include "base/buf.h"
#include "elf/elf.h"

/* The file that is wanted. */
struct kernel_file {
	const char *name; /* for messages about a download */
	uint8_t id[ELF_MAX_BUILD_ID];
	size_t id_size; /* at least 2 */
	struct utsname names;
	/* Whether a file with this build ID is the one. */
	bool (*fits)(void *ctx, const struct elf *elf);
	void *ctx;
};

/* Opens a path if it is the file. Returns an fd owned by the caller, or -ENOENT. */
int kernel_file_try(const struct kernel_file *wanted, const struct buf *path);

/* The same of the file ROOT/.build-id/ab/cdef.debug. n: bytes of root. */
int kernel_file_try_id(const struct kernel_file *wanted, const char *root, size_t n);

/* The same of root + before + the release of the kernel + after. */
int kernel_file_try_release(const struct kernel_file *wanted, const char *root, size_t n,
	const char *before, const char *after);

/*
 * Calls try_root() with each folder of the debug path, and its length in bytes, until one returns
 * an fd. Returns it, or -ENOENT.
 */
int kernel_file_try_debug_path(const struct attar_symbols *symbols,
	const struct kernel_file *wanted,
	int (*try_root)(const struct kernel_file *wanted, const char *root, size_t n));

/* Asks the servers of DEBUGINFOD_URLS. */
int kernel_file_download(struct attar_symbols *symbols, const struct kernel_file *wanted);

/* The number of the DSO of an open file, which the caller still owns; 0: it cannot be added. */
uint16_t kernel_file_add(struct attar_symbols *symbols, int fd);

#endif
