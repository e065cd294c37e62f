/* SPDX-License-Identifier: MIT */
/* The peer of bench/unwind_recording.c. */
#ifndef BENCH_UNWINDING_H
#define BENCH_UNWINDING_H

#include "attar/unwind.h"

/* Unwinds a user stack by libdw. Returns the number of frames, at most max; 0 on failure. */
size_t libdw_unwind(
	struct attar_address_space *space, const struct attar_unwind_input *input, size_t max);

#endif
