/* SPDX-License-Identifier: MIT */
#include "cli/atomic_file.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/whole_file.h"

enum { LINKS_MAX = 40 };

/* FOLDER/NAME, where folder is that of path, with n characters. */
static char *in_folder(const char *path, size_t n, const char *name)
{
	char *copy = strndup(path, n), *folder = copy ? realpath(n ? copy : ".", NULL) : NULL;
	char *joined = NULL;

	if (folder && asprintf(&joined, "%s/%s", folder, name) < 0)
		joined = NULL;
	free(folder);
	free(copy);
	return joined;
}

/* The file that path, or what it links to, would create. NULL: there is no such folder. */
static char *new_file(const char *path, int links)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char link[PATH_MAX], *next, *target;
	ssize_t n = readlink(path, link, sizeof(link) - 1);

	if (n < 0)
		return in_folder(path, (size_t)(name - path), name);
	if (links == 0)
		return NULL;
	link[n] = '\0';
	next = *link == '/' ? strdup(link) : in_folder(path, (size_t)(name - path), link);
	target = next ? new_file(next, links - 1) : NULL;
	free(next);
	return target;
}

char *replace_target(const char *path)
{
	return realpath(path, NULL) ?: new_file(path, LINKS_MAX) ?: strdup(path);
}

static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* check: only whether it works. */
static int replace(const char *path, const void *bytes, size_t n, bool check)
{
	char *target _cleanup_free_ = replace_target(path);
	int fd _cleanup_close_ = -1;
	struct whole_file file;
	int r, finished;

	if (!target)
		return -ENOMEM;
	if (check && is_special(target)) /* to open a pipe for writing waits for its reader */
		return access(target, W_OK) < 0 ? -errno : 0;
	fd = whole_file_begin(&file, target, WHOLE_FILE_ATOMIC);
	if (fd < 0)
		return fd;
	r = file_write_all(fd, bytes, n);
	finished = whole_file_finish(&file, fd, r == 0 && !check);
	return r < 0 ? r : finished;
}

int replace_file(const char *path, const void *bytes, size_t n)
{
	return replace(path, bytes, n, false);
}

int replace_check(const char *path)
{
	return replace(path, NULL, 0, true);
}
