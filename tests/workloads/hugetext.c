/* SPDX-License-Identifier: MIT */
/*
 * Expected: 70% of the user time is in inside(), whose code the program has copied to anonymous
 * memory at the same address, as programs do that use huge pages for their code; 30% in outside(),
 * in the mapping of the file. Prints "ready" when the code is copied. usage: hugetext [CYCLES]
 */
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

enum { HUGE_PAGE = 2 << 20 };

void inside(uint64_t n);
void outside(uint64_t n);

/* Alone in its huge page: outside() begins at the next. */
__attribute__((aligned(HUGE_PAGE))) KEEP void inside(uint64_t n)
{
	turns(7 * n);
}

__attribute__((aligned(HUGE_PAGE))) KEEP void outside(uint64_t n)
{
	turns(3 * n);
}

static int copy_code(void)
{
	char *code = (char *)((uintptr_t)inside & ~(uintptr_t)(HUGE_PAGE - 1));
	char *copy = malloc(HUGE_PAGE);

	if (!copy)
		return -1;
	memcpy(copy, code, HUGE_PAGE);
	if (mmap(code, HUGE_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -1;
	memcpy(code, copy, HUGE_PAGE);
	free(copy);
	return mprotect(code, HUGE_PAGE, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1;

	if (copy_code() < 0) {
		perror("hugetext");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (uint64_t left = argument(argc, argv, 1, 1000); left; left--) {
		uint64_t n = 20000 * uneven(&seed);

		inside(n);
		outside(n);
	}
	return 0;
}
