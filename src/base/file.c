/* SPDX-License-Identifier: MIT */
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file_limit.h"

int file_read_fd(int fd, const char *name, size_t max, struct buf *b)
{
	char chunk[16384];
	size_t start = b->len;

	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return attar_fail(-errno, "cannot read %s: %s", name, strerror(errno));
		if (n == 0)
			break;
		if (b->len - start + (size_t)n > max)
			return attar_fail(-EFBIG, "%s is larger than %zu bytes", name, max);
		buf_add(b, chunk, (size_t)n);
	}
	buf_add(b, "", 0);
	return buf_failed(b) ? base_oom() : 0;
}

int file_read(const char *path, size_t max, struct buf *b)
{
	/* O_NONBLOCK: do not block if the path is a FIFO. */
	int fd _cleanup_close_ =
		TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));

	if (fd < 0)
		return file_limit_fail(errno, "cannot open %s", path);
	return file_read_fd(fd, path, max, b);
}

int file_read_i64(const char *path, int64_t *ret_value)
{
	struct buf b _cleanup_(buf_done) = {0};
	char *end;
	long long value;
	int r = file_read(path, 256, &b);

	if (r < 0)
		return r;
	errno = 0;
	value = strtoll(buf_text(&b), &end, strstr(buf_text(&b), "0x") ? 16 : 10);
	if (errno || end == buf_text(&b) || end[strspn(end, " \t\n")])
		return attar_fail(-EINVAL, "%s does not contain a number", path);
	*ret_value = value;
	return 0;
}

bool file_exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

bool file_is_listable(const char *path)
{
	int fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int file_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

void file_of_program(char *ret_path, size_t max)
{
	ssize_t n = readlink("/proc/self/exe", ret_path, max - 1);

	if (n > 0)
		ret_path[n] = '\0';
	else
		snprintf(ret_path, max, "%s", program_invocation_short_name);
}
