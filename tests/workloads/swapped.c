/* SPDX-License-Identifier: MIT */
/*
 * Expected: writes COUNT (500) pages, lets the kernel move them to the swap area, and reads them:
 * with vm.page-cluster=0, COUNT pages are read from swap, one at a time. Prints how many of them
 * were not in memory before they were read. usage: swapped [COUNT]
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

static uint64_t absent(char *memory, uint64_t count, size_t page)
{
	unsigned char *resident = calloc(count, 1);
	uint64_t n = 0;

	if (!resident || mincore(memory, count * page, resident))
		exit(1);
	for (uint64_t i = 0; i < count; i++)
		n += !(resident[i] & 1);
	free(resident);
	return n;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 500), sum = 0, out;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(
		NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || madvise(memory, count * page, MADV_NOHUGEPAGE))
		return 1;
	for (uint64_t i = 0; i < count; i++)
		memset(memory + i * page, (int)i + 1, page);
	if (madvise(memory, count * page, MADV_PAGEOUT))
		return 1;
	out = absent(memory, count, page);
	for (uint64_t i = 0; i < count; i++)
		sum += *(volatile char *)(memory + i * page) != (char)(i + 1);
	printf("%llu\n", (unsigned long long)out);
	return sum ? 1 : 0;
}
