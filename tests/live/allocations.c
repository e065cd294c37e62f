/* SPDX-License-Identifier: MIT */
#include "allocations.h"
#include "live.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

static size_t made;

size_t allocations_made(void)
{
	return __atomic_load_n(&made, __ATOMIC_RELAXED);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif

#ifdef SANITIZED

void allocations_need(void)
{
	live_skip("a sanitizer allocates in this build");
}

#else

void allocations_need(void)
{
	size_t before = allocations_made();
	void *volatile some = malloc(1);

	free(some);
	assert_int_equal(allocations_made(), before + 1);
}

/* glibc's own functions, under the names that it exports. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static void count(void)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	count();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	count();
	return __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
	count();
	return __libc_realloc(old, size);
}

void *memalign(size_t align, size_t size)
{
	count();
	return __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **ret_memory, size_t align, size_t size)
{
	void *memory = memalign(align, size);

	if (!memory)
		return ENOMEM;
	*ret_memory = memory;
	return 0;
}

#endif
