/* SPDX-License-Identifier: MIT */
/* asm.h - machine code, by objdump(1). */
#ifndef KPERF_ASM_H
#define KPERF_ASM_H

#include <stddef.h>

/*
 * The offsets of the instructions in a function at which it returns. Returns their number: 0 if
 * objdump is not installed, or the file has no such function. The caller frees *ret_offsets.
 */
size_t kp_asm_returns(const char *path, const char *function, unsigned long **ret_offsets);

#endif
