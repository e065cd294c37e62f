/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own symbol list, as text "ffffffff81000000 T _text [module]" per line (format:
 * kernel/kallsyms.c, s_show()). Only code is kept, and one name per address: 8 bytes and the name
 * for each.
 */
#ifndef ELF_KALLSYMS_H
#define ELF_KALLSYMS_H

#include "base/buf.h"
#include "base/vec.h"

struct kallsyms_symbol {
	uint32_t low; /* lower half of the address */
	uint32_t name : 30;
	uint32_t rank : 2; /* 0 global, 1 weak, 2 local; 3: no code starts here, one ends */
};

/* Symbols of one owner that share the upper half of their addresses; sorted. */
struct kallsyms_region {
	uint64_t high, end; /* no symbol of the region covers `end` or more */
	uint32_t first, n;
	uint32_t owner; /* offset in the names: "[ext4]"; 0: the kernel itself */
};

struct kallsyms {
	VEC(struct kallsyms_symbol) symbols;
	VEC(struct kallsyms_region) regions;
	struct buf names;
	uint64_t lines;
	bool addresses; /* false after reading: every address was 0, so they are hidden from us */
};

struct kallsyms_hit {
	const char *name;  /* borrowed from the list */
	const char *owner; /* "[ext4]", or NULL for the kernel itself */
	uint64_t start, size;
};

/*
 * Reads path. 0 or a negative errno; -EACCES when the kernel hides the addresses. For
 * kallsyms_done().
 */
int kallsyms_read(struct kallsyms *list, const char *path);

/* The same from text in memory, which need not end in a newline. */
int kallsyms_parse(struct kallsyms *list, const char *text, size_t n);

bool kallsyms_find(const struct kallsyms *list, uint64_t address, struct kallsyms_hit *ret_hit);
void kallsyms_done(struct kallsyms *list);

#endif
