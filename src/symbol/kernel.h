/* SPDX-License-Identifier: MIT */
/*
 * Kernel symbols: kallsyms, read on first use, and symbols added later (BPF, modules of a sender).
 */
#ifndef SYMBOL_KERNEL_H
#define SYMBOL_KERNEL_H

#include "elf/kallsyms.h"
#include "symbol/string_pool.h"

struct kernel_symbol { /* from PERF_RECORD_KSYMBOL */
	uint64_t start;
	uint32_t len; /* bytes */
	const char *name;
	const char *owner; /* a module's "[name]"; NULL: the kernel or BPF */
};

enum { KERNEL_MAX_LISTS = 5 };

struct kernel {
	const char *path;  /* of kallsyms; NULL: never read; borrowed */
	const char *cache; /* directory, see symbol/kernel_cache.h; NULL: none; borrowed */
	/* oldest first; read again after modules were loaded */
	struct kallsyms lists[KERNEL_MAX_LISTS];
	unsigned n;
	bool tried;                     /* read, with or without success */
	bool refused;                   /* an address was looked up without a path */
	bool is_cached;                 /* the only list is from the cache: it is not complete */
	uint64_t modules;               /* hash of the modules that were loaded at the last read */
	const char *modules_path;       /* NULL: /proc/modules; borrowed */
	uint64_t checked_to;            /* ns; moves on with each check for new modules */
	VEC(struct kernel_symbol) late; /* sorted by start, disjoint */
};

struct kernel_hit {
	const char *name;  /* borrowed from the kernel */
	const char *owner; /* "[kernel.kallsyms]" or a module's "[name]" */
	uint64_t start, size;
};

/*
 * May read kallsyms: on first use, and if modules were loaded since. No function is at UINT64_MAX:
 * this only reads the names, from the cache if there is one.
 */
bool kernel_find(struct kernel *kernel, uint64_t address, struct kernel_hit *ret_hit);

/*
 * Adds a symbol, replacing overlapping ones. Its strings are borrowed until kernel_done(). Returns
 * 0; -EINVAL: empty or overflowing range; -ENOSPC: too many symbols; -ENOMEM.
 */
int kernel_add(struct kernel *kernel, const struct kernel_symbol *symbol);

/*
 * Adds the names in the text of a kallsyms file. Returns 0, or a negative errno with an error
 * message.
 */
int kernel_add_list(struct kernel *kernel, const char *kallsyms, size_t n);

void kernel_done(struct kernel *kernel);

#endif
