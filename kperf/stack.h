/* SPDX-License-Identifier: MIT */
/* stack.h - frames of samples to struct Stack with names. */
#ifndef KPERF_STACK_H
#define KPERF_STACK_H

#include "attar/symbol.h"
#include "data.h"
#include "symbol.h"

/*
 * The stack of frames with names of their origin, in memory of the list; NULL without frames. The
 * caller holds the lock of the origin. 0 or -ENOMEM.
 */
int kp_stack_make(struct kp_list *memory, const struct kp_frames *frames, struct Stack **ret_stack);

/*
 * Fills a symbol of the function that has the code of a frame. Its strings are borrowed from
 * symbols. It has no source line; kp_symbol_line() sets the line of the innermost function.
 */
void kp_symbol_fill(
	struct attar_symbols *symbols, const struct kp_frame *frame, struct Symbol *ret_symbol);
void kp_symbol_line(
	struct attar_symbols *symbols, const struct kp_frame *frame, struct Symbol *symbol);

/*
 * The same for each function at a frame with its source line: the innermost inlined function first.
 * Returns their number, at least 1.
 */
enum { KP_MOST_INLINED = 32 };
size_t kp_symbols_fill(struct attar_symbols *symbols, const struct kp_frame *frame,
	struct Symbol ret_symbols[static KP_MOST_INLINED]);

#endif
