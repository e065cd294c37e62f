/* SPDX-License-Identifier: MIT */
/*
 * Counts what this process allocates: malloc() and its kin are replaced in the tests that link
 * allocations.c.
 */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>

/* Skips the test where a sanitizer has replaced them already. */
void allocations_need(void);

/* Calls of malloc(), calloc(), realloc() and the aligned ones so far. */
size_t allocations_made(void);

#endif
