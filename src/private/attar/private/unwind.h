/* SPDX-License-Identifier: MIT */
/*
 * What attar/unwind.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_UNWIND_H
#define ATTAR_PRIVATE_UNWIND_H

#include "attar/unwind.h"

struct attar_unwind_stats {
	uint64_t stacks;       /* unwound */
	uint64_t by_end[5];    /* by enum attar_unwind_end */
	uint64_t cfi_frames;   /* callers found by CFI */
	uint64_t fp_frames;    /* callers found by frame pointers */
	uint64_t cfi_binaries; /* tables built */
	uint64_t cfi_bytes;    /* their memory */
};

/* The statistics of all stacks unwound with these symbols. */
void unwind_get_stats(const struct attar_symbols *symbols, struct attar_unwind_stats *ret_stats);

#endif
