/* SPDX-License-Identifier: MIT */
#include "base/whole_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/base.h"

enum { TRIES = 100 };

static int open_in_place(const char *path)
{
	int fd = TEMP_FAILURE_RETRY(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));

	return fd < 0 ? -errno : fd;
}

static int done(struct whole_file *f, int r)
{
	free(f->target);
	free(f->temporary);
	*f = (struct whole_file){0};
	return r;
}

/* Names of the temporary file, which nobody else has. */
static bool name_temporary(struct whole_file *f, int number)
{
	free(f->temporary);
	if (asprintf(&f->temporary, "%s.%d-%d.tmp", f->target, getpid(), number) >= 0)
		return true;
	f->temporary = NULL;
	return false;
}

static int open_unnamed(const struct whole_file *f)
{
	char *folder = strdup(f->target), *slash = folder ? strrchr(folder, '/') : NULL;
	int fd = -1;

	if (slash)
		slash[slash == folder] = '\0';
	if (folder)
		fd = TEMP_FAILURE_RETRY(
			open(slash ? folder : ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666));
	free(folder);
	return fd;
}

static int open_named(struct whole_file *f)
{
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		if (!name_temporary(f, i))
			return -1;
		fd = TEMP_FAILURE_RETRY(
			open(f->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	f->is_named = fd >= 0;
	return fd;
}

/* Gives it the owner and mode of the former file. */
static bool become(int fd, const struct stat *former)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	if ((st.st_uid != former->st_uid || st.st_gid != former->st_gid) &&
		TEMP_FAILURE_RETRY(fchown(fd, former->st_uid, former->st_gid)) < 0)
		return false;
	return TEMP_FAILURE_RETRY(fchmod(fd, former->st_mode & 07777)) == 0;
}

static void drop(struct whole_file *f, int fd)
{
	if (fd >= 0)
		close(fd);
	if (f->is_named)
		unlink(f->temporary);
	done(f, 0);
}

static bool is_refused(int error)
{
	return error == EACCES || error == EPERM || error == EROFS;
}

static bool is_in_place(const char *path, const struct stat *st, bool is_atomic)
{
	return !S_ISREG(st->st_mode) ||
	       (!is_atomic && (st->st_nlink > 1 || access(path, W_OK) < 0));
}

int whole_file_begin(struct whole_file *f, const char *path, unsigned flags)
{
	struct stat st;
	bool exists = stat(path, &st) == 0, is_atomic = flags & WHOLE_FILE_ATOMIC;
	int fd = -1, error;

	*f = (struct whole_file){0};
	if (exists && is_in_place(path, &st, is_atomic))
		return open_in_place(path);
	f->target = exists ? realpath(path, NULL) : strdup(path);
	if (!f->target)
		return is_atomic ? -errno : open_in_place(path);
	if (!(flags & WHOLE_FILE_NAMED))
		fd = open_unnamed(f);
	if (fd < 0)
		fd = open_named(f);
	error = errno;
	if (fd >= 0 && (!exists || become(fd, &st) || is_atomic))
		return fd;
	drop(f, fd);
	return !is_atomic && (fd >= 0 || is_refused(error)) ? open_in_place(path) : -error;
}

/* Gives the file without a name one. */
static int link_unnamed(struct whole_file *f, int fd)
{
	char source[32];

	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	for (int i = 0; i < TRIES; i++) {
		if (!name_temporary(f, i))
			return -ENOMEM;
		if (TEMP_FAILURE_RETRY(linkat(
			    AT_FDCWD, source, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW)) == 0) {
			f->is_named = true;
			return 0;
		}
		if (errno != EEXIST)
			break;
	}
	return -errno;
}

int whole_file_finish(struct whole_file *f, int fd, bool is_complete)
{
	int r = 0;

	if (!f->target)
		return 0;
	if (is_complete && !f->is_named)
		r = link_unnamed(f, fd);
	if (is_complete && r == 0 && TEMP_FAILURE_RETRY(rename(f->temporary, f->target)) < 0)
		r = -errno;
	if (f->is_named && (!is_complete || r < 0))
		unlink(f->temporary);
	return done(f, r);
}
