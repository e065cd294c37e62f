/* SPDX-License-Identifier: MIT */
/*
 * attar/unwind.h - user stacks of programs without frame pointers.
 *
 * A sample with PERF_SAMPLE_REGS_USER and PERF_SAMPLE_STACK_USER has the registers of the thread
 * and a copy of the top of its stack. From these the callers are found by the call frame
 * information (CFI) of the binaries: .eh_frame, which binaries have for exceptions, or
 * .debug_frame. Each binary's CFI is compiled once into a compact table. Code without CFI, such as
 * the code of a JIT compiler, is unwound by frame pointers.
 *
 * attar_event_stack() calls this for samples that have registers and a stack:
 *
 *	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;	// of the kernel
 *	attar_unwind_attr(&attr, 0);
 *
 * x86-64 and arm64; 64-bit programs.
 */
#ifndef ATTAR_UNWIND_H
#define ATTAR_UNWIND_H

#include "attar/record.h"
#include "attar/symbol.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	ATTAR_UNWIND_STACK_DEFAULT = 8192, /* bytes copied per sample */
	ATTAR_UNWIND_STACK_MAX = 65528,    /* of the kernel: less than 64 KiB, a multiple of 8 */
};

/*
 * Requests in attr what unwinding needs: the user registers and stack_bytes of the stack (0: the
 * default), and no user call chain from the kernel. Returns 0; -EINVAL if stack_bytes is not a
 * multiple of 8, or too large; -EOPNOTSUPP on other architectures.
 */
ATTAR_API int attar_unwind_attr(struct perf_event_attr *attr, uint32_t stack_bytes);

/* Why a stack ends where it does. */
enum attar_unwind_end {
	ATTAR_UNWIND_COMPLETE,  /* at the start of the thread */
	ATTAR_UNWIND_TRUNCATED, /* the next frame is beyond the copied part of the stack */
	ATTAR_UNWIND_LIMIT,     /* after the maximum number of locations */
	ATTAR_UNWIND_LOST,      /* no CFI and no valid frame pointer, or inconsistent data */
	/* where a signal interrupted code on another stack, of which nothing was copied */
	ATTAR_UNWIND_OTHER_STACK,
};

/* The registers and stack of a thread at one moment. Borrowed for the call. */
struct attar_unwind_input {
	struct attar_regs regs; /* as sampled: in the order of enum perf_event_*_regs */
	const void *stack;      /* copied from the stack pointer upwards; NULL: not copied */
	uint64_t stack_size;    /* bytes */
};

/*
 * The locations of a user stack, innermost frame first; the locations of callers are in the call:
 * the return address minus 1. Writes at most max locations and returns their number; 0 without
 * usable registers. Without a stack: only the innermost frame, which is not part of the statistics.
 * Allocates memory and reads files only when a binary or address is new. ret_end may be NULL.
 */
ATTAR_API size_t attar_unwind(struct attar_address_space *space,
	const struct attar_unwind_input *input, attar_location *locations, size_t max,
	enum attar_unwind_end *ret_end);

#ifdef __cplusplus
}
#endif

#endif
