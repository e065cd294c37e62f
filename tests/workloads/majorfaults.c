/* SPDX-License-Identifier: MIT */
/*
 * Expected: touch() waits for the disk in most of COUNT (2000) page faults, each on another page of
 * the file at PATH, which has that many and whose pages are not cached at first.
 * usage: majorfaults PATH [COUNT]
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

static KEEP char touch(const volatile char *byte)
{
	return *byte;
}

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 2, 2000), page = (uint64_t)sysconf(_SC_PAGESIZE);
	int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
	char *mapped;

	if (fd < 0 || fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return 1;
	mapped = mmap(NULL, count * page, PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED || madvise(mapped, count * page, MADV_RANDOM))
		return 1;
	for (uint64_t i = 0; i < count; i++)
		touch(mapped + i * page);
	return 0;
}
