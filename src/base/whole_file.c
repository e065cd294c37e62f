/* SPDX-License-Identifier: MIT */
#include "base/whole_file.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/base.h"

enum { TRIES = 100 };

static int whole_file_done(struct whole_file *f, int r)
{
	place_done(&f->place);
	free(f->temporary);
	*f = (struct whole_file){.place.dir = -1};
	return r;
}

static int open_in_place(struct whole_file *f, mode_t mode)
{
	struct stat st;
	int fd = place_open(&f->place, O_WRONLY | O_CREAT, mode);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0) {
		int error = errno;

		close(fd);
		return whole_file_done(f, -error);
	}
	return whole_file_done(f, fd);
}

/* Names of the temporary file, which nobody else has. */
static bool name_temporary(struct whole_file *f, int number)
{
	free(f->temporary);
	if (asprintf(&f->temporary, "%.200s.%d-%d.tmp", f->place.name, getpid(), number) >= 0)
		return true;
	f->temporary = NULL;
	return false;
}

static int open_unnamed(const struct whole_file *f, mode_t mode)
{
	return TEMP_FAILURE_RETRY(
		openat(f->place.dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, mode));
}

static int open_named(struct whole_file *f, mode_t mode)
{
	int fd = -1;

	for (int i = 0; i < TRIES && fd < 0; i++) {
		if (!name_temporary(f, i))
			return -1;
		fd = TEMP_FAILURE_RETRY(openat(
			f->place.dir, f->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
		if (fd < 0 && errno != EEXIST)
			return -1;
	}
	f->is_named = fd >= 0;
	return fd;
}

/* Whether a regular file belongs to the caller, or to the owner of its directory. */
static bool is_of_directory(const struct place *place, const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == place->st.st_uid;
}

/*
 * Gives the new file the owner and mode of the former one. Nothing is given to others than the
 * caller and the owner of the directory. Returns false if a caller other than root cannot do it.
 */
static bool become(const struct whole_file *f, int fd, const struct stat *former)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	if (!is_of_directory(&f->place, former) || !place_is_kept(&f->place, former))
		return geteuid() == 0;
	if ((st.st_uid != former->st_uid || st.st_gid != former->st_gid) &&
		TEMP_FAILURE_RETRY(fchown(fd, former->st_uid, former->st_gid)) < 0)
		return false;
	return TEMP_FAILURE_RETRY(fchmod(fd, former->st_mode & 0777)) == 0;
}

static void whole_file_drop(struct whole_file *f, int fd)
{
	if (fd >= 0)
		close(fd);
	if (f->is_named)
		unlinkat(f->place.dir, f->temporary, 0);
	f->is_named = false;
}

static bool is_refused(int error)
{
	return error == EACCES || error == EPERM || error == EROFS;
}

static bool is_writable(const struct place *place)
{
	return faccessat(place->dir, place->name, W_OK, AT_EACCESS) == 0;
}

static bool is_in_place(const struct place *place, const struct stat *st, bool is_atomic)
{
	if (!S_ISREG(st->st_mode) || place->is_own_file)
		return true;
	if (is_atomic || !place_is_kept(place, st))
		return false;
	return st->st_nlink > 1 || !is_writable(place);
}

int whole_file_begin(struct whole_file *f, const char *path, mode_t mode, unsigned flags)
{
	bool exists, is_atomic = flags & WHOLE_FILE_ATOMIC;
	struct stat st;
	int fd = -1, error, r;

	*f = (struct whole_file){.place.dir = -1};
	r = place_find(&f->place, path);
	if (r < 0)
		return r;
	r = place_stat(&f->place, &st);
	if (r < 0 && r != -ENOENT)
		return whole_file_done(f, r);
	exists = r == 0;
	if (exists && is_in_place(&f->place, &st, is_atomic))
		return open_in_place(f, mode);
	if (!(flags & WHOLE_FILE_NAMED))
		fd = open_unnamed(f, mode);
	if (fd < 0)
		fd = open_named(f, mode);
	error = errno;
	f->replaces = fd >= 0 && (!exists || become(f, fd, &st) || is_atomic);
	if (f->replaces)
		return fd;
	whole_file_drop(f, fd);
	return !is_atomic && (fd >= 0 || is_refused(error)) ? open_in_place(f, mode)
							    : whole_file_done(f, -error);
}

/* Gives the file without a name one. */
static int link_unnamed(struct whole_file *f, int fd)
{
	char source[32];

	snprintf(source, sizeof(source), "/proc/self/fd/%d", fd);
	for (int i = 0; i < TRIES; i++) {
		if (!name_temporary(f, i))
			return -ENOMEM;
		if (TEMP_FAILURE_RETRY(linkat(AT_FDCWD, source, f->place.dir, f->temporary,
			    AT_SYMLINK_FOLLOW)) == 0) {
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
	int r = 0, dir = f->place.dir;

	if (!f->replaces)
		return 0;
	if (is_complete && !f->is_named)
		r = link_unnamed(f, fd);
	if (is_complete && r == 0 &&
		TEMP_FAILURE_RETRY(renameat(dir, f->temporary, dir, f->place.name)) < 0)
		r = -errno;
	if (f->is_named && (!is_complete || r < 0))
		unlinkat(dir, f->temporary, 0);
	return whole_file_done(f, r);
}
