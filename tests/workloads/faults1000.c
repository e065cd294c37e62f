/* SPDX-License-Identifier: MIT */
/*
 * Expected: touch() takes exactly COUNT (1000) page faults, one on each page of a fresh mapping of
 * 4 KiB pages. usage: faults1000 [COUNT]
 */
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

static KEEP void touch(volatile char *byte)
{
	*byte = 1;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 1000), page = sysconf(_SC_PAGESIZE);
	char *fresh = mmap(
		NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fresh == MAP_FAILED || madvise(fresh, count * page, MADV_NOHUGEPAGE))
		return 1;
	for (uint64_t i = 0; i < count; i++)
		touch(fresh + i * page);
	return 0;
}
