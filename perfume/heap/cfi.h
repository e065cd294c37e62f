/* SPDX-License-Identifier: CC0-1.0 */
/* What call frame information says for one address of x86-64 code. */
#ifndef HEAP_CFI_H
#define HEAP_CFI_H

#include <stdint.h>

/* The registers that a stack is followed by: callee-saved ones, then these two. */
enum {
	CFI_RBX,
	CFI_RBP,
	CFI_R12,
	CFI_R13,
	CFI_R14,
	CFI_R15,
	CFI_SAVED,
	CFI_RSP = CFI_SAVED,
	CFI_PC,
	CFI_REGS,
	CFI_PC_SAVED = CFI_SAVED, /* in cfi_rule.saved */
	CFI_UNCHANGED = INT16_MIN,
};

enum cfi_kind {
	CFI_END,           /* the outermost frame, or the information is missing or unusual */
	CFI_REGISTER,      /* the canonical frame address (CFA) is base + offset */
	CFI_DEREFERENCE,   /* it is in the memory at base + offset */
	CFI_SIGNAL,        /* the frame of a signal handler's return */
	CFI_FRAME_POINTER, /* there is no information */
};

struct cfi_rule {
	uint8_t kind;
	uint8_t base;
	int16_t saved[CFI_SAVED + 1]; /* at CFA + 8 * saved; CFI_UNCHANGED: not saved */
	int32_t offset;
	int32_t unused;
};

/* table: the section .eh_frame_hdr of the object that has the code at pc. */
void cfi_find(const uint8_t *table, uint64_t pc, struct cfi_rule *ret_rule);

#endif
