/* SPDX-License-Identifier: MIT */
/*
 * A file with the functions of the running kernel, so that kallsyms, which takes the kernel half a
 * microsecond a line, is read once after a boot. It is valid for one boot, with the same modules at
 * the same addresses, and only if kallsyms begins with the same lines: a kernel that hides
 * addresses from this process shows others.
 *
 * It answers only for functions that another function of the same owner follows. BPF programs and
 * other code that comes and goes, and the last function of each module, whose end is unknown, are
 * not in it.
 */
#ifndef SYMBOL_KERNEL_CACHE_H
#define SYMBOL_KERNEL_CACHE_H

#include "elf/kallsyms.h"

struct kernel_cache_key {
	const char *kallsyms; /* path */
	uint64_t modules;     /* a hash of the loaded modules */
};

/*
 * Reads the file in a directory that only this user can write. Returns whether list was read; free
 * it with kallsyms_done().
 */
bool kernel_cache_read(
	const char *directory, const struct kernel_cache_key *key, struct kallsyms *list);

/* Writes the file, and makes the directory. Failures, as on a full disk, have no effect. */
void kernel_cache_write(
	const char *directory, const struct kernel_cache_key *key, const struct kallsyms *list);

#endif
