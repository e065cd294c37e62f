/* SPDX-License-Identifier: MIT */
#include "failing.h"

#include <stdbool.h>
#include <stdlib.h>

size_t failing_calls;
static size_t first_failure; /* number of the call; 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *at, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *at, size_t size);

void failing_from(size_t n)
{
	first_failure = n ? failing_calls + n : 0;
}

static bool fails(void)
{
	failing_calls++;
	return first_failure && failing_calls >= first_failure;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *at, size_t size)
{
	return fails() ? NULL : __real_realloc(at, size);
}
