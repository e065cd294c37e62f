/* SPDX-License-Identifier: MIT */
/*
 * Counts allocations of this process: tests that link allocations.c replace malloc() and related
 * functions.
 */
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

#include <stddef.h>

/* Skips the test if a sanitizer replaces them too. */
void allocations_need(void);

/* Returns the number of calls of malloc(), calloc(), realloc() and the aligned variants so far. */
size_t allocations_made(void);

#endif
