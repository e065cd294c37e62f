/* SPDX-License-Identifier: MIT */
/* Registers of samples (PERF_SAMPLE_REGS_USER and _INTR) of this machine, by name. */
#ifndef PROFILERS_LIB_REGISTERS_H
#define PROFILERS_LIB_REGISTERS_H

#include "attar/record.h"

enum { REGISTERS_TEXT_MAX = 1024 };

/* Masks for perf_event_attr: all general registers; the stack pointer. */
uint64_t registers_all(void);
uint64_t registers_stack_pointer_mask(void);

/* A register by its number in the mask; false: it was not sampled. */
bool registers_get(const struct attar_regs *regs, unsigned number, uint64_t *ret_value);
bool registers_stack_pointer(const struct attar_regs *regs, uint64_t *ret_value);

/*
 * Argument `n` (0 to 5) of the system call that a thread is in, from its registers in user code;
 * false: it was not sampled.
 */
uint64_t registers_syscall_argument_mask(unsigned n);
bool registers_syscall_argument(const struct attar_regs *regs, unsigned n, uint64_t *ret_value);

/* "ax=0x1 bx=0x0 ..."; "" without registers. */
void registers_text(const struct attar_regs *regs, char text[REGISTERS_TEXT_MAX]);

#endif
