/* SPDX-License-Identifier: MIT */
/* Which file lies where in one address space. */
#ifndef SYMBOL_ADDRESS_SPACE_H
#define SYMBOL_ADDRESS_SPACE_H

#include "symbol/dso_open.h"

enum { SPACE_MAX_RANGES = 65536 };

/* One executable mapping. location = dso << 48 | (ip - start + pgoff). */
struct range {
	uint64_t start, len;
	/* file offset; without a file the address itself, so that locations are addresses */
	uint64_t pgoff;
	uint16_t dso;
	bool memfd; /* JIT so far, but an ELF file may be in there: looked at when it is settled */
	bool settled; /* its DSO was looked after (opened, or given up) for this mapping */
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
	struct range *last;            /* the hit before this one; points into ranges or is NULL */
	pid_t pids[DSO_SEARCH_PIDS];   /* itself, then its ancestors; 0: none */
	uint16_t jit;                  /* the DSO of its memory without a file; 0: none yet */
};

#endif
