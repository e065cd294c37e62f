/* SPDX-License-Identifier: MIT */
#include "elf/byte_source.h"

#include <sys/stat.h>
#include <sys/syscall.h>

int byte_source_read(const struct byte_source *source, uint64_t offset, void *bytes, size_t n)
{
	char *p = bytes;

	if (offset > source->size || n > source->size - offset)
		return -ENODATA;
	if (source->memory) {
		memcpy(bytes, source->memory + offset, n);
		return 0;
	}
	while (n) {
		ssize_t got = pread(source->fd, p, n, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		p += got;
		offset += (size_t)got;
		n -= (size_t)got;
	}
	return 0;
}

int byte_source_file(int fd, struct byte_source *ret_source)
{
	struct stat st;

	/* fstat(3) may be newfstatat(2), which a reader (symbol/reader.h) has no right to use. */
	if (syscall(SYS_fstat, fd, &st) < 0)
		return attar_fail(-errno, "cannot stat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return attar_fail(-ENOEXEC, "not a regular file");
	*ret_source = (struct byte_source){.fd = fd, .size = (uint64_t)st.st_size};
	return 0;
}

bool byte_window_read(struct byte_window *window, const struct byte_source *source, uint64_t offset,
	void *bytes, size_t n)
{
	if (offset > source->size || n > source->size - offset || n > sizeof(window->bytes))
		return false;
	if (source->memory)
		return byte_source_read(source, offset, bytes, n) == 0;
	if (offset < window->at || offset - window->at > window->n ||
		n > window->n - (offset - window->at)) {
		window->at = offset;
		window->n = (size_t)MIN(source->size - offset, (uint64_t)sizeof(window->bytes));
		if (byte_source_read(source, offset, window->bytes, window->n) < 0) {
			window->n = 0;
			return false;
		}
	}
	memcpy(bytes, window->bytes + (offset - window->at), n);
	return true;
}
