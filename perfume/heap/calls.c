/* SPDX-License-Identifier: CC0-1.0 */
/*
 * The functions that replace functions of the C library, or of another allocator, which they call.
 * `new` and `delete` of C++ call malloc() and free() of the C library, unless an allocator has its
 * own ones.
 */
#undef _FILE_OFFSET_BITS /* mmap() and mmap64() are the same function */
#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REPLACES __attribute__((visibility("default")))

static struct {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	void (*free)(void *);
	int (*dlclose)(void *);
} next;

/* ---- until the next functions are known ---- */

/* dlsym() may allocate while it looks for them. This memory is never given back. */
static char early[64 * 1024] __attribute__((aligned(16)));
static size_t early_used;

static int is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof(early);
}

static void *early_malloc(size_t size)
{
	size_t whole = (size + 31) & ~(size_t)15, at;

	if (whole < size || whole > sizeof(early))
		return NULL;
	at = __atomic_fetch_add(&early_used, whole, __ATOMIC_RELAXED);
	if (at + whole > sizeof(early))
		return NULL;
	memcpy(early + at, &size, sizeof(size));
	return early + at + 16;
}

static void *early_realloc(void *old, size_t size)
{
	void *moved = next.malloc ? next.malloc(size) : early_malloc(size);
	size_t had;

	if (!moved)
		return NULL;
	memcpy(&had, (char *)old - 16, sizeof(had));
	return memcpy(moved, old, had < size ? had : size);
}

static void *find(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

static void look_up(void)
{
	next.calloc = (void *(*)(size_t, size_t))find("calloc");
	next.realloc = (void *(*)(void *, size_t))find("realloc");
	next.memalign = (void *(*)(size_t, size_t))find("memalign");
	next.aligned_alloc = (void *(*)(size_t, size_t))find("aligned_alloc");
	next.posix_memalign = (int (*)(void **, size_t, size_t))find("posix_memalign");
	next.valloc = (void *(*)(size_t))find("valloc");
	next.pvalloc = (void *(*)(size_t))find("pvalloc");
	next.free = (void (*)(void *))find("free");
	next.dlclose = (int (*)(void *))find("dlclose");
	__atomic_store_n(&next.malloc, (void *(*)(size_t))find("malloc"), __ATOMIC_RELEASE);
}

static void begin(void)
{
	static uint32_t begun;
	uint32_t not_yet = 0;

	/* Before the C library is ready, the first calls of the dynamic linker are not watched. */
	if (!environ || !__atomic_compare_exchange_n(
				&begun, &not_yet, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	heap_thread.busy = 1;
	heap_sample_begin();
	heap_events_begin();
	heap_thread.busy = 0;
}

/* False: in the middle of looking them up. */
static __attribute__((noinline, cold)) int is_ready(void)
{
	static uint32_t state;
	uint32_t none = 0;
	int saved = errno;

	if (__atomic_compare_exchange_n(&state, &none, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		look_up();
		begin();
	}
	errno = saved;
	return next.malloc != NULL;
}

static __attribute__((constructor)) void enter(void)
{
	is_ready();
	begin();
}

#define READY (likely(next.malloc != NULL) || is_ready())

/* ---- what is sampled ---- */

static inline uint32_t is_watched(void)
{
	return __atomic_load_n(&perfume_word_heap_alloc, __ATOMIC_RELAXED);
}

static inline void *took(void *p, size_t size, enum heap_call call)
{
	if (unlikely(is_watched()) && p && (heap_thread.left -= (int64_t)(size + !size)) <= 0)
		heap_sample_take(p, size, call);
	return p;
}

/* Returns whether the free was written. */
static inline int gave(const void *p)
{
	return unlikely(is_watched()) && p && heap_set_may_have(p) && heap_sample_give(p);
}

/* ---- functions ---- */

REPLACES void *malloc(size_t size)
{
	return READY ? took(next.malloc(size), size, HEAP_MALLOC) : early_malloc(size);
}

int heap_is_used(void)
{
	return heap_is_own((uintptr_t)dlsym(RTLD_DEFAULT, "malloc"));
}

REPLACES void *calloc(size_t n, size_t size)
{
	size_t whole;

	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return READY ? took(next.calloc(n, size), whole, HEAP_CALLOC) : early_malloc(whole);
}

static void *change(void *old, size_t size)
{
	int was_sampled;
	void *p;

	if (unlikely(is_early(old)))
		return early_realloc(old, size);
	if (!READY)
		return early_malloc(size);
	was_sampled = gave(old);
	p = next.realloc(old, size);
	if (unlikely(was_sampled && !p && size))
		heap_sample_keep(old);
	return took(p, size, HEAP_REALLOC);
}

REPLACES void *realloc(void *old, size_t size)
{
	return change(old, size);
}

REPLACES void *reallocarray(void *old, size_t n, size_t size)
{
	size_t whole;

	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	return change(old, whole);
}

REPLACES void *memalign(size_t alignment, size_t size)
{
	return READY ? took(next.memalign(alignment, size), size, HEAP_ALIGNED) : NULL;
}

REPLACES void *aligned_alloc(size_t alignment, size_t size)
{
	return READY ? took(next.aligned_alloc(alignment, size), size, HEAP_ALIGNED) : NULL;
}

REPLACES int posix_memalign(void **ret_p, size_t alignment, size_t size)
{
	int r = READY ? next.posix_memalign(ret_p, alignment, size) : ENOMEM;

	if (!r)
		took(*ret_p, size, HEAP_ALIGNED);
	return r;
}

REPLACES void *valloc(size_t size)
{
	return READY ? took(next.valloc(size), size, HEAP_ALIGNED) : NULL;
}

REPLACES void *pvalloc(size_t size)
{
	return READY ? took(next.pvalloc(size), size, HEAP_ALIGNED) : NULL;
}

REPLACES void free(void *p)
{
	if (unlikely(is_early(p)) || !READY)
		return;
	gave(p);
	next.free(p);
}

/* ---- mappings, with PERFUME_HEAP_MMAP ---- */

static int maps_are_watched(void)
{
	return unlikely(is_watched()) && heap_maps && !heap_thread.busy;
}

REPLACES void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, at, size, access, flags, fd, offset);

	return p != MAP_FAILED && maps_are_watched() ? took(p, size, HEAP_MMAP) : p;
}

REPLACES void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

REPLACES int munmap(void *p, size_t size)
{
	if (maps_are_watched())
		heap_sample_unmap(p, size);
	return (int)syscall(SYS_munmap, p, size);
}

REPLACES void *mremap(void *old, size_t had, size_t size, int flags, ...)
{
	void *at = NULL, *p;
	int was_sampled;
	va_list args;

	va_start(args, flags);
	if (flags & MREMAP_FIXED)
		at = va_arg(args, void *);
	va_end(args);
	was_sampled = maps_are_watched() && gave(old);
	p = (void *)syscall(SYS_mremap, old, had, size, flags, at);
	if (p != MAP_FAILED)
		return maps_are_watched() ? took(p, size, HEAP_MMAP) : p;
	if (was_sampled)
		heap_sample_keep(old);
	return p;
}

/* ---- code ---- */

REPLACES int dlclose(void *handle)
{
	int r = READY && next.dlclose ? next.dlclose(handle) : -1;

	heap_walk_forget();
	return r;
}
