/* SPDX-License-Identifier: MIT */
#include "cli/agent/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/base.h"

#define PREFIX "attar-agent-"

enum { TRIES = 10 };

static const char *temporary(void)
{
	return getenv("TMPDIR") ?: "/tmp";
}

static int open_at(int at, const char *name)
{
	return openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Whether nobody has removed the directory before it was locked. */
static bool still_exists(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink > 0;
}

static void remove_files(int fd)
{
	int copy = open_at(fd, ".");
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;

	if (!dir) {
		if (copy >= 0)
			close(copy);
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(fd, entry->d_name, 0); /* fails for "." and ".." */
	closedir(dir);
}

/* Removes a directory of this user that no running agent has locked. */
static void remove_stale(int at, const char *name)
{
	int fd _cleanup_close_ = open_at(at, name);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() ||
		flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	remove_files(fd);
	unlinkat(at, name, AT_REMOVEDIR);
}

static void remove_all_stale(void)
{
	DIR *dir = opendir(temporary());

	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (!strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			remove_stale(dirfd(dir), entry->d_name);
	closedir(dir);
}

/* Another agent that starts now can remove the new directory before it is locked. */
static int create(struct agent_directory *d)
{
	for (int i = 0; i < TRIES; i++) {
		free(d->path);
		if (asprintf(&d->path, "%s/" PREFIX "XXXXXX", temporary()) < 0) {
			d->path = NULL;
			return base_oom();
		}
		if (!mkdtemp(d->path))
			break;
		d->lock = open_at(AT_FDCWD, d->path);
		if (d->lock >= 0 && flock(d->lock, LOCK_EX) == 0 && still_exists(d->lock))
			return 0;
		if (d->lock >= 0)
			close(TAKE_FD(d->lock));
	}
	return attar_fail(
		-EIO, "cannot create '%s' for metrics: %s", CLIP(d->path), strerror(errno));
}

int agent_directory_open(struct agent_directory *d)
{
	const char *given = getenv("RUNTIME_DIRECTORY");

	*d = (struct agent_directory){.lock = -1};
	if (given) {
		d->path = strdup(given);
		return d->path ? 0 : base_oom();
	}
	remove_all_stale();
	return create(d);
}

void agent_directory_close(struct agent_directory *d)
{
	if (d->path && d->lock >= 0) {
		remove_files(d->lock);
		rmdir(d->path);
		close(TAKE_FD(d->lock));
	}
	free(d->path);
	d->path = NULL;
}
