/* SPDX-License-Identifier: MIT */
#include "overview/file_systems.h"

#include <math.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

enum { MOUNTS_MAX = 256 };

static bool is_local(const char *type)
{
	static const char *const types[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "tmpfs",
		"overlay", "zfs", "vfat", "jfs", "reiserfs", "bcachefs", "ntfs3", "exfat"};

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return false;
}

/* As df(1): of what programs without privileges may use. */
static bool read_usage(const char *path, struct file_system *ret_system)
{
	struct statvfs st;
	unsigned long long used, inodes;

	if (statvfs(path, &st) < 0 || !st.f_blocks)
		return false;
	used = st.f_blocks - st.f_bfree;
	inodes = st.f_files - st.f_ffree;
	*ret_system = (struct file_system){
		.used = used + st.f_bavail ? 100 * (double)used / (double)(used + st.f_bavail) : 0};
	if (st.f_files)
		ret_system->inodes_used = 100 * (double)inodes / (double)st.f_files;
	snprintf(ret_system->path, sizeof(ret_system->path), "%s", path);
	return true;
}

static double most_of(const struct file_system *system)
{
	return fmax(system->used, system->inodes_used);
}

bool file_systems_fullest(const char *mounts, struct file_system *ret_fullest)
{
	FILE *file = setmntent(mounts, "re");
	const struct mntent *mount;
	struct file_system system;

	*ret_fullest = (struct file_system){.used = 0};
	for (int i = 0; file && i < MOUNTS_MAX && (mount = getmntent(file)); i++)
		if (is_local(mount->mnt_type) && !hasmntopt(mount, "ro") &&
			read_usage(mount->mnt_dir, &system) &&
			most_of(&system) > most_of(ret_fullest))
			*ret_fullest = system;
	if (file)
		endmntent(file);
	return *ret_fullest->path;
}
