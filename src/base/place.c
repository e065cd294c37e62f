/* SPDX-License-Identifier: MIT */
#include "base/place.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/statfs.h>

#include "base/base.h"
#include "base/user_file.h"

enum { LINKS_MAX = 40, TRIES = 100 };

/* ---- what is trusted ---- */

static bool is_shared(const struct stat *dir)
{
	return dir->st_mode & S_ISVTX && dir->st_mode & (S_IWGRP | S_IWOTH);
}

/* For root, links of other users are never followed. */
static bool is_trusted_link(const struct stat *dir, const struct stat *link)
{
	uid_t self = geteuid();

	return link->st_uid == self || link->st_uid == 0 ||
	       (self && (!is_shared(dir) || link->st_uid == dir->st_uid));
}

/* For root, also FIFOs of other users, who may never read them, are not opened. */
static bool is_trusted_file(const struct stat *dir, const struct stat *file)
{
	if (geteuid() == 0 && file->st_uid != 0 && S_ISFIFO(file->st_mode))
		return false;
	return !is_shared(dir) || file->st_uid == geteuid() || file->st_uid == dir->st_uid;
}

/* A file of another user in a directory of a third one: see the rules in the header. */
static bool is_of_third_user(const struct stat *dir, const struct stat *file)
{
	return file->st_uid != 0 && file->st_uid != dir->st_uid;
}

/* A file of root to which another user may have given a name in this directory. */
static bool may_be_linked(const struct stat *dir, const struct stat *file)
{
	return file->st_uid == 0 && file->st_nlink > 1 &&
	       (dir->st_uid != 0 || dir->st_mode & (S_IWGRP | S_IWOTH));
}

bool place_is_kept(const struct place *p, const struct stat *file)
{
	return geteuid() != 0 || p->is_own_file || !S_ISREG(file->st_mode) ||
	       (!is_of_third_user(&p->st, file) && !may_be_linked(&p->st, file));
}

/* ---- finding ---- */

static bool is_in_proc(int dir)
{
	struct statfs fs;

	return fstatfs(dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static int walk(int at, const char *path, int links);

/* Opens a component of a path in a directory: a directory, or a link to one. */
static int enter(int dir, const char *name, int links)
{
	int fd _cleanup_close_ =
		TEMP_FAILURE_RETRY(openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	char target[PATH_MAX];
	struct stat of_dir, st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || fstat(dir, &of_dir) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return S_ISDIR(st.st_mode) ? TAKE_FD(fd) : -ENOTDIR;
	if (is_in_proc(dir)) { /* what a process has open, which is no path */
		int found =
			TEMP_FAILURE_RETRY(openat(dir, name, O_PATH | O_DIRECTORY | O_CLOEXEC));

		return found < 0 ? -errno : found;
	}
	if (!is_trusted_link(&of_dir, &st))
		return -EPERM;
	if (links == 0)
		return -ELOOP;
	n = readlinkat(fd, "", target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	return walk(dir, target, links - 1);
}

/* Opens a directory, relative to `at`. Links of other users on the way are not followed. */
static int walk(int at, const char *path, int links)
{
	char name[NAME_MAX + 1];
	int dir = TEMP_FAILURE_RETRY(
		openat(at, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));

	if (dir < 0)
		return -errno;
	while (*(path += strspn(path, "/"))) {
		size_t n = strcspn(path, "/");
		int next;

		if (n > NAME_MAX) {
			close(dir);
			return -ENAMETOOLONG;
		}
		memcpy(name, path, n);
		name[n] = '\0';
		next = enter(dir, name, links);
		close(dir);
		if (next < 0)
			return next;
		dir = next;
		path += n;
	}
	return dir;
}

/* Opens the directory of a path, relative to `at`, and copies the name in it. */
static int open_parent(struct place *p, int at, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *folder = slash ? strndup(path, (size_t)(name - path)) : strdup(".");
	int r = 0;

	p->name = strdup(name);
	p->dir = folder ? walk(at, folder, LINKS_MAX) : -1;
	if (!p->name || !folder)
		r = -ENOMEM;
	else if (p->dir < 0)
		r = p->dir;
	else if (fstat(p->dir, &p->st) < 0)
		r = -errno;
	else if (!*path)
		r = -ENOENT;
	else if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		r = -EISDIR;
	free(folder);
	return r;
}

/* The target of the link at the place. Returns its length, 0 if it is no link, or an errno. */
static ssize_t read_link(const struct place *p, char target[static PATH_MAX])
{
	int fd _cleanup_close_ =
		TEMP_FAILURE_RETRY(openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	struct stat st;
	ssize_t n;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode))
		return 0;
	if (!is_trusted_link(&p->st, &st))
		return -EPERM;
	n = readlinkat(fd, "", target, PATH_MAX - 1);
	if (n < 0)
		return -errno;
	target[n] = '\0';
	return n;
}

static int follow(struct place *p, int links)
{
	char target[PATH_MAX];
	struct place next = {.dir = -1};
	ssize_t n = read_link(p, target);
	int r;

	if (n <= 0)
		return (int)n;
	if (is_in_proc(p->dir)) {
		p->is_own_file = true;
		return 0;
	}
	if (links == 0)
		return -ELOOP;
	r = open_parent(&next, p->dir, target);
	place_done(p);
	*p = next;
	return r < 0 ? r : follow(p, links - 1);
}

static int find(struct place *p, const char *path, bool follows)
{
	USER_RIGHTS;
	int r;

	*p = (struct place){.dir = -1};
	r = open_parent(p, AT_FDCWD, path);
	if (r == 0 && follows)
		r = follow(p, LINKS_MAX);
	if (r < 0)
		place_done(p);
	return r;
}

int place_find(struct place *p, const char *path)
{
	return find(p, path, true);
}

void place_done(struct place *p)
{
	if (p->name && p->dir >= 0)
		close(p->dir);
	free(p->name);
	*p = (struct place){.dir = -1};
}

/* ---- opening ---- */

int place_stat(const struct place *p, struct stat *ret_st)
{
	if (fstatat(p->dir, p->name, ret_st, p->is_own_file ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return p->is_own_file || is_trusted_file(&p->st, ret_st) ? 0 : -EPERM;
}

/* Opens an existing file, which is checked before. */
static int open_existing(const struct place *p, int flags)
{
	int fd _cleanup_close_ =
		TEMP_FAILURE_RETRY(openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
	int opened;
	char link[32];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode)) /* since it was found */
		return -ELOOP;
	if (!is_trusted_file(&p->st, &st) ||
		((flags & O_ACCMODE) != O_RDONLY && !place_is_kept(p, &st)))
		return -EPERM;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	opened = TEMP_FAILURE_RETRY(open(link, flags));
	return opened < 0 ? -errno : opened;
}

int place_open(const struct place *p, int flags, mode_t mode)
{
	USER_RIGHTS;
	int fd, r = -ENOENT;

	assert(!(flags & O_TRUNC));
	flags |= O_CLOEXEC | O_NOCTTY;
	if (p->is_own_file) {
		fd = TEMP_FAILURE_RETRY(openat(p->dir, p->name, flags & ~O_CREAT));
		return fd < 0 ? -errno : fd;
	}
	for (int i = 0; i < TRIES && r == -ENOENT; i++) {
		r = flags & O_EXCL ? -ENOENT : open_existing(p, flags & ~O_CREAT);
		if (r != -ENOENT || !(flags & O_CREAT))
			return r;
		fd = TEMP_FAILURE_RETRY(openat(p->dir, p->name, flags | O_EXCL, mode));
		if (fd >= 0)
			return fd;
		if (flags & O_EXCL)
			return -errno;
		r = errno == EEXIST ? -ENOENT : -errno; /* made by others meanwhile */
	}
	return r;
}

int place_open_path(const char *path, int flags, mode_t mode)
{
	struct place place;
	int r = find(&place, path, !(flags & O_EXCL));

	if (r < 0)
		return r;
	r = place_open(&place, flags, mode);
	place_done(&place);
	return r;
}

static int replace(const struct place *p, int flags, mode_t mode)
{
	struct stat st;
	int r = place_stat(p, &st);

	if (r < 0 || place_is_kept(p, &st))
		return -EPERM;
	if (unlinkat(p->dir, p->name, 0) < 0)
		return -errno;
	return place_open(p, flags | O_CREAT | O_EXCL, mode);
}

int place_open_result(const char *path, int flags, mode_t mode)
{
	struct place place;
	int r = place_find(&place, path);

	if (r < 0)
		return r;
	r = place_open(&place, flags, mode);
	if (r == -EPERM)
		r = replace(&place, flags, mode);
	place_done(&place);
	return r;
}

void place_unlink_path(const char *path)
{
	struct place place;

	if (find(&place, path, false) < 0)
		return;
	unlinkat(place.dir, place.name, 0);
	place_done(&place);
}

int place_open_directory(const char *path)
{
	struct place place;
	int fd, r = find(&place, path, false);

	if (r < 0)
		return r;
	fd = TEMP_FAILURE_RETRY(openat(place.dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	r = fd < 0 ? -errno : fd;
	place_done(&place);
	return r;
}

mode_t place_default_mode(void)
{
	return geteuid() ? 0666 : 0600;
}

int place_parse_mode(const char *text, mode_t *ret_mode)
{
	size_t n = strspn(text, "01234567");
	unsigned long mode = strtoul(text, NULL, 8);

	if (!n || text[n] || n > 4 || mode > 0777 || !mode)
		return attar_fail(-EINVAL, "'%s' is not a mode of a file such as 0640", CLIP(text));
	*ret_mode = (mode_t)mode;
	return 0;
}

const char *place_error(int error)
{
	if (error == EPERM)
		return "the file or link belongs to another user, or is immutable; "
		       "use a directory in which others cannot create files";
	return strerror(error);
}
