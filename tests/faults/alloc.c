/* SPDX-License-Identifier: MIT */
/*
 * LD_PRELOAD: allocations that fail, in the program itself and not in programs that it starts.
 *
 *     FAULT_ALLOC=17    the 17th allocation since main() fails
 *     FAULT_ALLOC=17+   it and all later ones fail
 *     FAULT_COUNT=FILE  the number of allocations is written there at exit
 *
 * Calls of malloc, calloc, realloc and mmap by any library are counted together.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* glibc's own functions, under the names that it exports. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static unsigned long fails_at, count;
static bool fails_on, counts;
static pid_t owner;
static char count_file[4096];

static __attribute__((constructor)) void begin(void)
{
	const char *at = getenv("FAULT_ALLOC"), *file = getenv("FAULT_COUNT");
	char *end = NULL;

	if (at) {
		fails_at = strtoul(at, &end, 10);
		fails_on = *end == '+';
	}
	if (file)
		snprintf(count_file, sizeof(count_file), "%s", file);
	unsetenv("LD_PRELOAD");
	owner = getpid();
	counts = true;
}

static __attribute__((destructor)) void finish(void)
{
	FILE *f;

	counts = false;
	if (!*count_file || getpid() != owner || !(f = fopen(count_file, "w")))
		return;
	fprintf(f, "%lu\n", count);
	fclose(f);
}

static bool fails(void)
{
	unsigned long n;

	if (!counts)
		return false;
	n = __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
	if (!fails_at || n < fails_at || (n > fails_at && !fails_on))
		return false;
	errno = ENOMEM;
	return true;
}

EXPORT void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

EXPORT void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	return fails() ? MAP_FAILED
		       : (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}
