/* SPDX-License-Identifier: MIT */
/*
 * The kernel's symbol list, with lines such as "ffffffff81000000 T _text [module]" (format:
 * kernel/kallsyms.c, s_show()). Only code symbols are kept, one name per address; each takes 8
 * bytes plus the name.
 */
#ifndef ELF_KALLSYMS_H
#define ELF_KALLSYMS_H

#include "base/buf.h"
#include "base/vec.h"

struct kallsyms_symbol {
	uint32_t low; /* lower half of the address */
	uint32_t name : 30;
	uint32_t rank : 2; /* 0 global, 1 weak, 2 local; 3: end marker, no code starts here */
};

/* Symbols of one owner with the same upper half of the address; sorted. */
struct kallsyms_region {
	uint64_t high, end; /* upper bound (exclusive) of the region's symbols */
	uint32_t first, n;
	uint32_t owner; /* offset in the names: "[ext4]"; 0: the kernel itself */
};

struct kallsyms {
	VEC(struct kallsyms_symbol) symbols;
	VEC(struct kallsyms_region) regions;
	struct buf names;
	uint64_t lines;
	bool addresses; /* false after reading if all addresses were 0, which means hidden */
};

struct kallsyms_hit {
	const char *name;  /* borrowed from the list */
	const char *owner; /* "[ext4]", or NULL for the kernel itself */
	uint64_t start, size;
};

/*
 * Reads the symbols from path. Returns 0 or a negative errno; -EACCES if the kernel hides the
 * addresses. Release with kallsyms_done().
 */
int kallsyms_read(struct kallsyms *list, const char *path);

/* The same for text in memory, which need not end in a newline. */
int kallsyms_parse(struct kallsyms *list, const char *text, size_t n);

bool kallsyms_find(const struct kallsyms *list, uint64_t address, struct kallsyms_hit *ret_hit);
void kallsyms_done(struct kallsyms *list);

#endif
