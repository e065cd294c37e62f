/* SPDX-License-Identifier: MIT */
#include "symbol/build_id_cache.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "symbol/dso_open.h"

/* ---- the configuration of perf ---- */

/* A file that is opened without side effects: only if it is a regular one. */
static int open_regular(const char *path)
{
	int handle _cleanup_close_ = dso_open_path(AT_FDCWD, path, 0);

	return handle < 0 ? handle : dso_reopen(handle);
}

/* Removes the comment, quotes and spaces around a value. */
static char *value_of(char *text)
{
	size_t n;

	text += strspn(text, " \t\"");
	n = strcspn(text, "\"#;\r\n");
	while (n && isspace((unsigned char)text[n - 1]))
		n--;
	text[n] = '\0';
	return text;
}

/* is_inside: in the section "buildid", in which the member is "dir". */
static void take_line(char *line, bool *is_inside, struct buf *dir)
{
	char *value = strchr(line, '=');

	line += strspn(line, " \t");
	if (*line == '[')
		*is_inside = !strncasecmp(line, "[buildid]", 9);
	if (!*is_inside || !value || strncasecmp(line, "dir", 3) != 0 ||
		line + 3 + strspn(line + 3, " \t") != value)
		return;
	buf_reset(dir);
	buf_str(dir, value_of(value + 1));
}

static void read_config(const char *path, struct buf *dir)
{
	int fd = open_regular(path);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	char *line = NULL;
	size_t size = 0;
	bool is_inside = false;

	if (!file) {
		base_close_p(&fd);
		return;
	}
	while (getline(&line, &size, file) > 0)
		take_line(line, &is_inside, dir);
	free(line);
	fclose(file);
}

/* Appends a path in which "~" is the home directory. */
static void add_path(struct buf *b, const char *path)
{
	const char *home = secure_getenv("HOME");

	if (strncmp(path, "~/", 2) != 0)
		buf_str(b, path);
	else if (home && *home)
		buf_printf(b, "%s%s", home, path + 1);
}

/* What is set later has precedence, as in perf. */
static void configured_dir(struct buf *dir)
{
	struct buf user _cleanup_(buf_done) = {0};
	const char *only = secure_getenv("PERF_CONFIG");

	if (only) {
		read_config(only, dir);
		return;
	}
	read_config("/etc/perfconfig", dir);
	add_path(&user, "~/.perfconfig");
	if (user.len && !buf_failed(&user))
		read_config(buf_text(&user), dir);
}

/* Empty if there is none. */
static void add_dir(struct buf *b)
{
	struct buf dir _cleanup_(buf_done) = {0};
	const char *given = secure_getenv("PERF_BUILDID_DIR");

	if (given && *given)
		buf_str(&dir, given);
	else
		configured_dir(&dir);
	add_path(b, dir.len && !buf_failed(&dir) ? buf_text(&dir) : "~/.debug");
}

/* ---- the files ---- */

static int open_build(const char *path, const uint8_t *id, size_t size)
{
	int fd _cleanup_close_ = open_regular(path);

	return fd >= 0 && dso_is_build(fd, id, size) ? TAKE_FD(fd) : -ENOENT;
}

int build_id_cache_open(const uint8_t *id, size_t size)
{
	struct buf path _cleanup_(buf_done) = {0};
	size_t n;
	int fd;

	if (size < 2)
		return -ENOENT;
	add_dir(&path);
	if (!path.len)
		return -ENOENT;
	buf_printf(&path, "/.build-id/%02x/", id[0]);
	for (size_t i = 1; i < size; i++)
		buf_printf(&path, "%02x", id[i]);
	n = path.len;
	buf_str(&path, "/elf");
	if (buf_failed(&path))
		return -ENOENT;
	fd = open_build(buf_text(&path), id, size);
	if (fd >= 0)
		return fd;
	path.data[n] = '\0';
	return open_build(path.data, id, size);
}
