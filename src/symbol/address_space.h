/* SPDX-License-Identifier: MIT */
/* The file mappings of an address space. */
#ifndef SYMBOL_ADDRESS_SPACE_H
#define SYMBOL_ADDRESS_SPACE_H

#include "symbol/dso_open.h"

enum { SPACE_MAX_RANGES = 65536, SPACE_RECENT = 8 };

/* One executable mapping. location = dso << 48 | (ip - start + pgoff). */
struct range {
	uint64_t start, len;
	/* file offset; for settled anonymous memory the address, so that locations are addresses */
	uint64_t pgoff;
	uint16_t dso;
	uint16_t memfd; /* the DSO if it is a program, not a JIT compiler's: checked when settled */
	bool settled;   /* its DSO was opened, or failed to open, for this mapping */
};

/* Mappings, sorted and disjoint; shared by a process and its children until one of them changes. */
struct ranges {
	unsigned refs;
	size_t n, size;
	struct range at[];
};

struct attar_address_space {
	struct attar_symbols *symbols; /* borrowed */
	struct ranges *ranges;         /* NULL: none */
	struct range *last; /* range of the previous lookup; points into ranges, or NULL */
	struct range *recent[SPACE_RECENT]; /* of other lookups; NULL: none, as those that follow */
	unsigned oldest;                    /* modulo their number: the next one to replace */
	pid_t pids[DSO_SEARCH_PIDS];        /* itself, then its ancestors; 0: none */
	uint16_t jit;                       /* the DSO of its anonymous memory; 0: none yet */
	uint16_t kernel; /* the DSO of its kernel; ATTAR_DSO_UNKNOWN: one without names */
	bool is_foreign; /* registers are of an architecture whose stacks cannot be unwound */
	bool is_cut;     /* it has more mappings than are read */
};

/* attar_address_space_locate(), quick for an address in the mapping of the one before. */
static inline attar_location address_space_locate(struct attar_address_space *space, uint64_t ip)
{
	const struct range *range = space->last;

	if (unlikely(!range || ip - range->start >= range->len || !range->settled))
		return attar_address_space_locate(space, ip);
	return (uint64_t)range->dso << 48 | ((ip - range->start + range->pgoff) & PLACE_OFFSET);
}

/* The location of a kernel address. */
static inline attar_location address_space_kernel(
	const struct attar_address_space *space, uint64_t ip)
{
	return (uint64_t)space->kernel << 48 | (ip & PLACE_OFFSET);
}

#endif
