/* SPDX-License-Identifier: MIT */
/* stack.h - frames of samples to struct Stack with names. */
#ifndef KPERF_STACK_H
#define KPERF_STACK_H

#include "attar/symbol.h"
#include "data.h"
#include "symbol.h"

/*
 * Sets the stack of row i from its frames, with names of the origin that read the row. The caller
 * holds the lock of the list's origin. 0 or -ENOMEM.
 */
int kp_stack_resolve(struct kp_list *list, size_t i);

/* Fills a symbol; its strings are borrowed from symbols. */
void kp_symbol_fill(struct attar_symbols *symbols, const struct kp_frame *frame, bool with_lines,
	struct Symbol *ret_symbol);

#endif
