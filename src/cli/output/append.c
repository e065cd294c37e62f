/* SPDX-License-Identifier: MIT */
#include "cli/output/append.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/place.h"

/* CSV has the names of the columns in its first line only; others have one report. */
bool append_fits(const struct attar_sink *sink)
{
	static const char *const formats[] = {"text", "json", "folded", "sqlite"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(sink->name, formats[i]))
			return true;
	return false;
}

/* Where the last complete line of a file ends. */
static off_t end_of_lines(int fd, off_t size)
{
	char bytes[4096];
	ssize_t n;

	for (off_t from; size > 0; size = from) {
		const char *newline;

		from = MAX(size - (off_t)sizeof(bytes), 0);
		n = TEMP_FAILURE_RETRY(pread(fd, bytes, (size_t)(size - from), from));
		if (n <= 0)
			return n < 0 ? -1 : from;
		newline = memrchr(bytes, '\n', (size_t)n);
		if (newline)
			return from + (newline - bytes) + 1;
	}
	return 0;
}

/* Returns 0 or a negative errno. */
static int remove_incomplete_line(const char *path)
{
	int fd _cleanup_close_ = -1;
	struct stat st;
	off_t end;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	fd = place_open_path(path, O_RDWR, 0);
	if (fd < 0)
		return fd;
	end = fstat(fd, &st) < 0 ? -1 : end_of_lines(fd, st.st_size);
	if (end < 0 || end == st.st_size)
		return end < 0 ? -errno : 0;
	log_warn("'%s': removing the last line, which is incomplete", CLIP(path));
	return ftruncate(fd, end) < 0 ? -errno : 0;
}

int append_open(const char *path, mode_t mode, const struct attar_sink *sink)
{
	int r = sink->is_binary ? 0 : remove_incomplete_line(path);

	return r < 0 ? r : place_open_path(path, O_WRONLY | O_APPEND | O_CREAT, mode);
}

static bool has_contents(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_size;
}

/* The length of a path without its extension, such as .csv or .pb.gz. */
static int stem_of(const char *path, const char *extension)
{
	size_t n = strlen(path), after = strlen(extension);
	const char *dot = strrchr(path, '.');

	if (n > after && !strcmp(path + n - after, extension))
		return (int)(n - after) - 1;
	return dot && !strchr(dot, '/') ? (int)(dot - path) : (int)n;
}

char *append_name(const char *path, const struct attar_sink *sink)
{
	int stem = stem_of(path, sink->extension);
	struct buf name = {0};

	buf_str(&name, path);
	for (unsigned i = 1; !buf_failed(&name) && has_contents(buf_text(&name)); i++) {
		buf_reset(&name);
		buf_printf(&name, "%.*s.%u%s", stem, path, i, path + stem);
	}
	return buf_take(&name);
}
