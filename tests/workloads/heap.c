/* SPDX-License-Identifier: MIT */
/*
 * heap [WAIT]: allocates with each function of the C library, and keeps what this table says; with
 * WAIT, it first waits for a line on its standard input, and for another one before it exits.
 *
 *	function        calls    kept  bytes of each
 *	malloc          100      10    1,000
 *	calloc          20       2     3 * 700
 *	realloc         5 + 5    5     5,000 (twice as large as before)
 *	realloc(NULL)   3        3     300
 *	aligned_alloc   4        1     4,096
 *	posix_memalign  6        2     2,048, the address of one stored in a static variable
 *	mmap            3        1     65,536
 *	strdup          1        1     11, by malloc
 *
 * All from keep_NAME(). A realloc() that fails keeps its object, and so does a refused mmap().
 */
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

static void *kept[64];
static unsigned n;
static void *volatile sink, *volatile nothing; /* the compiler makes malloc() of a NULL */

static KEEP void *keep(void *p)
{
	kept[n++] = p;
	return p;
}

static KEEP void keep_malloc(void)
{
	for (int i = 0; i < 100; i++) {
		sink = malloc(1000);
		if (i % 10 == 0)
			keep(sink);
		else
			free(sink);
	}
}

static KEEP void keep_calloc(void)
{
	for (int i = 0; i < 20; i++) {
		sink = calloc(3, 700);
		if (i % 10 == 0)
			keep(sink);
		else
			free(sink);
	}
}

static KEEP void keep_realloc(void)
{
	for (int i = 0; i < 5; i++) {
		sink = malloc(2500);
		sink = realloc(sink, 5000);
		keep(sink);
	}
	for (int i = 0; i < 3; i++) {
		sink = realloc(nothing, 300);
		keep(sink);
	}
	sink = realloc(kept[n - 1], SIZE_MAX / 4); /* fails */
}

static KEEP void keep_aligned(void)
{
	static void *pointer;
	void *local;

	for (int i = 0; i < 4; i++) {
		sink = aligned_alloc(4096, 4096);
		if (i == 0)
			keep(sink);
		else
			free(sink);
	}
	for (int i = 0; i < 6; i++) {
		if (posix_memalign(i == 5 ? &pointer : &local, 64, 2048) != 0)
			abort();
		sink = i == 5 ? pointer : local;
		if (i >= 4)
			keep(sink);
		else
			free(sink);
	}
}

static KEEP void keep_mmap(void)
{
	for (int i = 0; i < 3; i++) {
		sink = mmap(
			NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (i == 0)
			keep(sink);
		else
			munmap(sink, 65536);
	}
	sink = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); /* fails */
}

static KEEP void keep_strdup(void)
{
	keep(strdup("0123456789"));
}

static void wait_for_line(void)
{
	char c;

	while (fread(&c, 1, 1, stdin) == 1 && c != '\n')
		;
}

int main(int argc, char **argv)
{
	(void)argv;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 1)
		wait_for_line();
	keep_malloc();
	keep_calloc();
	keep_realloc();
	keep_aligned();
	keep_mmap();
	keep_strdup();
	if (argc > 1) {
		puts("done");
		wait_for_line();
	}
	return n == 25 ? 0 : 1;
}
