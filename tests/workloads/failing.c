/* SPDX-License-Identifier: MIT */
/*
 * Expected: N (argument) system calls that fail: of every four, one rmdir() with ENOENT and three
 * close() with EBADF; 0: until it is killed. N more, with EAGAIN, which are expected errors.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, value;
	int empty = eventfd(0, EFD_NONBLOCK);

	for (uint64_t i = 0; !n || i < n; i++) {
		if (i % 4)
			close(-1);
		else
			rmdir("/nonexistent");
		if (read(empty, &value, sizeof(value)) > 0)
			return 1;
	}
	return 0;
}
