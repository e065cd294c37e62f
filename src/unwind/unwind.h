/* SPDX-License-Identifier: MIT */
/*
 * Unwinding from a signal handler on an alternate signal stack (sigaltstack(2)) to the stack of the
 * interrupted code.
 */
#ifndef UNWIND_UNWIND_H
#define UNWIND_UNWIND_H

#include "attar/unwind.h"

/* Copied memory of the stack of the interrupted code. */
struct unwind_other {
	uint64_t sp;    /* of that code */
	uint64_t start; /* address of the first byte: above sp, if that is in a guard page */
	uint64_t size;
	const uint8_t *bytes;
};

/*
 * As attar_unwind(); other: NULL, or the other stack. *ret_sp is the stack pointer of the
 * interrupted code if the end is ATTAR_UNWIND_OTHER_STACK.
 */
size_t unwind_stacks(struct attar_address_space *space, const struct attar_unwind_input *input,
	const struct unwind_other *other, attar_location *locations, size_t max,
	enum attar_unwind_end *ret_end, uint64_t *ret_sp);

#endif
