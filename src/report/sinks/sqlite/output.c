/* SPDX-License-Identifier: MIT */
#include "report/sinks/sqlite/output.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

#include "base/base.h"

#define VFS    "attar"
#define FOLDER "/proc/self/fd/"

static sqlite3_vfs *system_vfs, own_vfs;

/* "/proc/self/fd/NUMBER/NAME": SQLite would replace it by the path of the directory. */
static int full_path(sqlite3_vfs *vfs, const char *name, int size, char *ret_path)
{
	return snprintf(ret_path, (size_t)size, "%s", name) < size ? SQLITE_OK : SQLITE_CANTOPEN;
}

/*
 * Creates the file, or refuses one of another user. SQLite then opens it: where files of others are
 * refused, others cannot replace it.
 */
static int check_file(const char *path)
{
	char *name;
	struct place place = {.dir = (int)strtol(path + strlen(FOLDER), &name, 10)};
	struct stat st;
	int r;

	place.name = name + 1;
	if (fstat(place.dir, &place.st) < 0)
		return -errno;
	r = place_stat(&place, &st);
	if (r == 0 && !S_ISREG(st.st_mode))
		return -EINVAL;
	if (r < 0 && r != -ENOENT)
		return r;
	r = place_open(&place, O_RDWR | O_CREAT, place_default_mode());
	if (r >= 0)
		close(r);
	return MIN(r, 0);
}

static int open_file(
	sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	bool is_created =
		flags & SQLITE_OPEN_CREATE && name && !strncmp(name, FOLDER, strlen(FOLDER));

	if (is_created && check_file(name) < 0)
		return SQLITE_CANTOPEN;
	return system_vfs->xOpen(vfs, name, file, flags, ret_flags);
}

static void add_vfs(void)
{
	system_vfs = sqlite3_vfs_find(NULL);
	if (!system_vfs)
		return;
	own_vfs = *system_vfs;
	own_vfs.zName = VFS;
	own_vfs.pNext = NULL;
	own_vfs.xFullPathname = full_path;
	own_vfs.xOpen = open_file;
	sqlite3_vfs_register(&own_vfs, 0);
}

int sqlite_open_output(const struct place *place, struct sqlite3 **ret_db)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	char path[sizeof(FOLDER) + NAME_MAX + 16];
	sqlite3 *db = NULL;
	int r;

	if (place->is_own_file)
		return -EINVAL;
	if (snprintf(path, sizeof(path), FOLDER "%d/%s", place->dir, place->name) >=
		(int)sizeof(path))
		return -ENAMETOOLONG;
	r = check_file(path);
	if (r < 0)
		return r;
	pthread_once(&once, add_vfs);
	if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, VFS) !=
		SQLITE_OK) {
		r = db ? sqlite3_system_errno(db) : ENOMEM;
		sqlite3_close(db);
		return r ? -r : -EIO;
	}
	*ret_db = db;
	return 0;
}
