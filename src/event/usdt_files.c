/* SPDX-License-Identifier: MIT */
#include "event/usdt_files.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/user_file.h"

enum { MAPS_MAX = 64 << 20, PATH_BYTES = 4200 };

/* The path of an executable mapping, from a line of /proc/PID/maps; NULL for other lines. */
static char *code_path(char *line)
{
	char *path = strchr(line, '/'), *access = strchr(line, ' ');

	return path && access && access[3] == 'x' ? path : NULL;
}

/* Calls fn for an O_PATH descriptor, which this function closes. */
static int give(int handle, const char *path, usdt_file_fn *fn, void *ctx)
{
	int fd _cleanup_close_ = handle;
	struct usdt_file file = {.path = path, .fd = fd};
	char link[32];

	if (fd < 0 || fstat(fd, &file.st) < 0 || !S_ISREG(file.st.st_mode))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	file.link = link;
	return fn(ctx, &file);
}

/*
 * The file of a mapping: what was mapped (which needs privileges), or else what is at its path now
 * in the process's root.
 */
static int open_mapped(pid_t pid, const char *line, const char *in_root)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%.*s", pid, (int)strcspn(line, " "), line);
	fd = TEMP_FAILURE_RETRY(open(path, O_PATH | O_CLOEXEC));
	return fd < 0 ? TEMP_FAILURE_RETRY(open(in_root, O_PATH | O_CLOEXEC)) : fd;
}

static bool is_same(const char *path, int fd)
{
	struct stat at_path, opened;

	return stat(path, &at_path) == 0 && fstat(fd, &opened) == 0 &&
	       at_path.st_dev == opened.st_dev && at_path.st_ino == opened.st_ino;
}

static int give_mapped(pid_t pid, char *line, usdt_file_fn *fn, void *ctx)
{
	char *path = code_path(line), in_root[PATH_BYTES];
	int fd;

	if (!path)
		return 0;
	snprintf(in_root, sizeof(in_root), "/proc/%d/root%s", pid, path);
	fd = open_mapped(pid, line, in_root);
	if (fd < 0)
		return 0;
	return give(fd, is_same(path, fd) ? path : in_root, fn, ctx);
}

int usdt_each_file(pid_t pid, usdt_file_fn *fn, void *ctx)
{
	struct buf b _cleanup_(buf_done) = {0};
	char path[PATH_BYTES], *save = NULL;
	int r = 0;

	pid = proc_with_memory(pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (file_read(path, MAPS_MAX, &b) < 0 || !b.len) {
		attar_error_clear();
		return 0;
	}
	for (char *line = strtok_r(b.data, "\n", &save); line && r == 0;
		line = strtok_r(NULL, "\n", &save))
		r = give_mapped(pid, line, fn, ctx);
	return r;
}

int usdt_named_file(const char *path, usdt_file_fn *fn, void *ctx)
{
	return give(user_file_open_handle(path), path, fn, ctx);
}

/* The real path of the file that execvp(3) would run, to be freed; NULL if there is none. */
static char *program_path(const char *name)
{
	const char *folders = getenv("PATH");
	char path[PATH_BYTES];

	if (strchr(name, '/') || !folders)
		return realpath(name, NULL);
	for (const char *p = folders; *p; p += strspn(p, ":")) {
		size_t n = strcspn(p, ":");

		snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, name);
		p += n;
		if (access(path, X_OK) == 0)
			return realpath(path, NULL);
	}
	return NULL;
}

int usdt_program_file(const char *name, usdt_file_fn *fn, void *ctx)
{
	char *path = program_path(name);
	int r = path ? usdt_named_file(path, fn, ctx) : 0;

	free(path);
	return r;
}
