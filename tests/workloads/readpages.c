/* SPDX-License-Identifier: MIT */
/*
 * Expected: reads a file TIMES (10) times from its start to its end, one page with each call. If
 * none of it is cached, all pages are missing the first time, and found TIMES - 1 times. Prints the
 * number of pages. usage: readpages FILE [TIMES]
 */
#include <fcntl.h>
#include <unistd.h>

#include "workload.h"

int main(int argc, char **argv)
{
	uint64_t times = argument(argc, argv, 2, 10), pages = 0;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	char *buffer = malloc(page);

	if (fd < 0 || !buffer)
		return 1;
	for (uint64_t i = 0; i < times; i++)
		for (pages = 0; pread(fd, buffer, page, (off_t)(pages * page)) > 0;)
			pages++;
	printf("%llu\n", (unsigned long long)pages);
	return 0;
}
