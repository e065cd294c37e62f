/* SPDX-License-Identifier: MIT */
#include "cli/output/file_stream.h"

#include "base/base.h"

enum { WAITING_MAX = 4 << 20 }; /* bytes */

static ssize_t file_stream_take(void *cookie, const char *text, size_t n)
{
	int r = file_writer_add(cookie, text, n);

	r = r < 0 ? r : file_writer_push(cookie);
	errno = -r;
	return r < 0 ? 0 : (ssize_t)n;
}

static int file_stream_end(void *cookie)
{
	int r = file_writer_free(cookie);

	errno = -r;
	return r < 0 ? EOF : 0;
}

FILE *file_stream_open(int fd, struct file_writer **ret_writer)
{
	const cookie_io_functions_t functions = {
		.write = file_stream_take, .close = file_stream_end};
	struct file_writer *w = file_writer_new(fd, WAITING_MAX);
	FILE *file = w ? fopencookie(w, "w", functions) : NULL;

	if (file) {
		setvbuf(file, NULL, _IONBF, 0);
		*ret_writer = w;
		return file;
	}
	if (w)
		file_writer_free(w);
	else
		close(fd);
	errno = ENOMEM;
	return NULL;
}

FILE *file_stream_open_pipe(int fd, struct wait_limit limit, struct file_writer **ret_writer)
{
	FILE *file = file_stream_open(fd, ret_writer);

	if (file)
		file_writer_set_wait_limit(*ret_writer, limit);
	return file;
}
