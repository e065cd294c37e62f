/* SPDX-License-Identifier: MIT */
/* The memory of a process whose objects lie close to each other: whole pages are read and kept. */
#ifndef LANG_MEMORY_H
#define LANG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { LANG_PAGE = 4096, LANG_PAGES = 16, LANG_READS_MAX = 1 << 14 };

struct lang_page {
	uint64_t start; /* 0: none */
	size_t n;       /* bytes that could be read */
	uint8_t bytes[LANG_PAGE];
};

/* Reads memory as proc_memory_read() does, which is used where this is NULL. */
typedef ssize_t lang_read_fn(pid_t pid, uint64_t address, void *bytes, size_t n);

/* {.pid = pid} before its first use. */
struct lang_memory {
	pid_t pid;
	lang_read_fn *read;
	unsigned oldest;
	unsigned reads; /* pages, of LANG_READS_MAX at most: lists can be endless */
	struct lang_page pages[LANG_PAGES];
};

/* Forgets all pages: the process has run meanwhile. */
void lang_memory_forget(struct lang_memory *memory);

/* Reads n bytes. False if not all of them can be read. */
bool lang_memory_read(struct lang_memory *memory, uint64_t address, void *bytes, size_t n);

/* Reads a pointer or a number of 64 bits; 0 if it cannot be read. */
uint64_t lang_memory_word(struct lang_memory *memory, uint64_t address);

#endif
