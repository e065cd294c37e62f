/* SPDX-License-Identifier: MIT */
#include "cli/output/atomic_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "base/whole_file.h"

char *replace_identity(const char *path)
{
	struct place place;
	char *text = NULL;

	if (place_find(&place, path) < 0)
		return strdup(path);
	if (asprintf(&text, "%llu:%llu/%s", (unsigned long long)place.st.st_dev,
		    (unsigned long long)place.st.st_ino, place.name) < 0)
		text = NULL;
	place_done(&place);
	return text;
}

static bool is_special(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

/* check: only whether it works. */
static int replace(const char *path, mode_t mode, const void *bytes, size_t n, bool check)
{
	int fd _cleanup_close_ = -1;
	struct whole_file file;
	int r, finished;

	if (check && is_special(path)) /* to open a pipe for writing waits for its reader */
		return access(path, W_OK) < 0 ? -errno : 0;
	fd = whole_file_begin(&file, path, mode, WHOLE_FILE_ATOMIC);
	if (fd < 0)
		return fd;
	r = file_write_all(fd, bytes, n);
	finished = whole_file_finish(&file, fd, r == 0 && !check);
	return r < 0 ? r : finished;
}

int replace_file(const char *path, mode_t mode, const void *bytes, size_t n)
{
	return replace(path, mode, bytes, n, false);
}

int replace_check(const char *path)
{
	return replace(path, 0600, NULL, 0, true);
}
