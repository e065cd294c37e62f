/* SPDX-License-Identifier: MIT */
/* Source of the format: https://www.sqlite.org/fileformat.html, section 1.3. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/base.h"
#include "report/sinks/sqlite/input.h"

bool sqlite_is_database(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	char start[sizeof(magic)];
	struct stat st;
	bool is;
	int fd;

	/* Opening a FIFO would unblock its writer, which would end before the recording is read. */
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		return false;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	is = pread(fd, start, sizeof(start), 0) == sizeof(start) &&
	     !memcmp(start, magic, sizeof(magic));
	close(fd);
	return is;
}
