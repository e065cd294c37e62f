/* SPDX-License-Identifier: MIT */
/*
 * Expected: touch() takes exactly COUNT (1000) page faults, one on each page of a private mapping
 * of the file at PATH, which it creates; each page is written, so none is mapped ahead.
 * usage: faultsfile PATH [COUNT]
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

static KEEP void touch(volatile char *byte)
{
	*byte = 1;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 2, 1000), page = sysconf(_SC_PAGESIZE);
	int fd = argc > 1 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	char *mapped;

	if (fd < 0 || ftruncate(fd, count * page))
		return 1;
	mapped = mmap(NULL, count * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (mapped == MAP_FAILED)
		return 1;
	for (uint64_t i = 0; i < count; i++)
		touch(mapped + i * page);
	return 0;
}
