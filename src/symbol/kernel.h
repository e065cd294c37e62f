/* SPDX-License-Identifier: MIT */
/* The kernel's names: its own list, read at the first question, and the symbols that came later (BPF). */
#ifndef SYMBOL_KERNEL_H
#define SYMBOL_KERNEL_H

#include "elf/kallsyms.h"
#include "symbol/string_pool.h"

struct kernel_symbol { /* announced by PERF_RECORD_KSYMBOL */
	uint64_t start;
	uint32_t len; /* bytes */
	const char *name;
};

enum { KERNEL_MAX_LISTS = 4 };

struct kernel {
	const char *path; /* of kallsyms; NULL: never read; borrowed */
	/* as read, again when modules came: oldest first */
	struct kallsyms lists[KERNEL_MAX_LISTS];
	unsigned n;
	bool tried;          /* read, with or without success */
	uint64_t modules;    /* a hash of the names of those that were loaded at the last reading */
	uint64_t checked_ns; /* when that was last compared */
	VEC(struct kernel_symbol) late; /* sorted by start, disjoint */
};

struct kernel_hit {
	const char *name;  /* borrowed from the kernel */
	const char *owner; /* "[kernel.kallsyms]" or a module's "[name]" */
	uint64_t start, size;
};

/* May read the list, at the first question and when modules have come since. */
bool kernel_find(struct kernel *kernel, uint64_t address, struct kernel_hit *ret_hit);

/*
 * Enters a late symbol over whatever was there. name is borrowed for as long as the kernel lives.
 * 0; -EINVAL: it has no extent; -ENOSPC: there are too many; -ENOMEM.
 */
int kernel_add(struct kernel *kernel, uint64_t start, uint32_t len, const char *name);
void kernel_done(struct kernel *kernel);

#endif
