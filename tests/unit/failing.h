/* SPDX-License-Identifier: MIT */
/*
 * Allocations that are counted or fail: tests that link failing.c wrap malloc(), calloc() and
 * realloc().
 */
#ifndef FAILING_H
#define FAILING_H

#include <stddef.h>

/* Allocations since the start. */
extern size_t failing_calls;

/* Lets the n-th allocation from now on, and all after it, fail; 0: none. */
void failing_from(size_t n);

#endif
