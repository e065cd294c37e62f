/* SPDX-License-Identifier: MIT */
/* Takes all rights from this process, except those that a reader (symbol/reader.h) needs. */
#ifndef SYMBOL_READER_SANDBOX_H
#define SYMBOL_READER_SANDBOX_H

enum { READER_MEMORY_MAX = 1 << 30 }; /* bytes of address space */

/*
 * Keeps one descriptor, and closes the others. The process can then receive descriptors, read files
 * that it has, and take memory up to the limit; it cannot open, create, connect, signal or execute
 * anything. Returns 0 or a negative errno: the process must then not continue.
 */
int reader_sandbox_enter(int fd);

#endif
