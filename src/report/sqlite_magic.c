/* SPDX-License-Identifier: MIT */
/* Source of the format: https://www.sqlite.org/fileformat.html, section 1.3. */
#include <fcntl.h>

#include "base/base.h"
#include "report/sqlite_input.h"

bool sqlite_is_database(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char start[sizeof(magic)];
	bool is;

	if (fd < 0)
		return false;
	/* fails for a pipe, whose bytes are left to other readers */
	is = pread(fd, start, sizeof(start), 0) == sizeof(start) &&
	     !memcmp(start, magic, sizeof(magic));
	close(fd);
	return is;
}
