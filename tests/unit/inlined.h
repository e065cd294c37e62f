/* SPDX-License-Identifier: MIT */
/* Functions inlined into each other, whose lines are known; and where their code is. */
#ifndef INLINED_H
#define INLINED_H

#include <link.h>
#include <stdint.h>

static volatile int sink;

/* The address of the call of this function, in the caller. */
static __attribute__((noinline)) uintptr_t where(void)
{
	sink++;
	return (uintptr_t)__builtin_return_address(0) - 1;
}

enum { INNER_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) uintptr_t inner(void)
{
	uintptr_t at = where();

	sink++;
	return at;
}

enum { MIDDLE_LINE = __LINE__ + 3 };
static inline __attribute__((always_inline)) uintptr_t middle(void)
{
	return inner();
}

enum { OUTER_LINE = __LINE__ + 3 };
static __attribute__((noinline)) uintptr_t outer(void)
{
	uintptr_t at = middle();

	sink++;
	return at;
}

static int bias_of(struct dl_phdr_info *info, size_t size, void *bias)
{
	*(uintptr_t *)bias = info->dlpi_addr;
	return 1; /* the first is the program */
}

static uint64_t vaddr_of(uintptr_t address)
{
	uintptr_t bias = 0;

	dl_iterate_phdr(bias_of, &bias);
	return address - bias;
}

#endif
