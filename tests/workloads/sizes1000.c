/* SPDX-License-Identifier: MIT */
/* Expected: calls write() with 1, 2, ... COUNT (1000) bytes, once each. usage: sizes1000 [COUNT] */
#include <fcntl.h>
#include <unistd.h>

#include "workload.h"

int main(int argc, char **argv)
{
	uint64_t count = argument(argc, argv, 1, 1000);
	int fd = open("/dev/null", O_WRONLY);
	char *bytes = calloc(1, count);

	if (fd < 0 || !bytes)
		return 1;
	for (uint64_t i = 1; i <= count; i++)
		if (write(fd, bytes, i) != (ssize_t)i)
			return 1;
	return 0;
}
