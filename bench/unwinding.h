/* SPDX-License-Identifier: MIT */
/* The peers of bench/unwind_recording.c and tests/e2e/unwind_compare.c. */
#ifndef BENCH_UNWINDING_H
#define BENCH_UNWINDING_H

#include "attar/unwind.h"

/*
 * Unwinds a user stack by libdw. Stores the addresses of its frames, the innermost first, those of
 * callers after the call. Returns their number, at most max; 0 on failure.
 */
size_t libdw_unwind(struct attar_address_space *space, const struct attar_unwind_input *input,
	uint64_t *ret_addresses, size_t max);

/* The same by libunwind, on x86-64. */
size_t libunwind_unwind(struct attar_address_space *space, const struct attar_unwind_input *input,
	uint64_t *ret_addresses, size_t max);

#endif
