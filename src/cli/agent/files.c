/* SPDX-License-Identifier: MIT */
#include "cli/agent/files.h"

#include <sys/stat.h>

#include "base/base.h"
#include "cli/output/atomic_file.h"

static void file_done(struct agent_file *file)
{
	free(file->path);
	free(file->target);
}

static bool is_same(const struct agent_file *a, const struct agent_file *b)
{
	if (a->inode && a->inode == b->inode && a->device == b->device)
		return true;
	return !strcmp(a->target, b->target);
}

static int check_unique(const agent_files *files, const struct agent_file *file)
{
	vec_each (files, other) {
		if (!is_same(other, file))
			continue;
		if (!strcmp(other->path, file->path))
			return attar_fail(-EINVAL,
				"'%s' is also a file of section '%s'" ATTAR_FIX
				"use a separate file for each output",
				CLIP(file->path), other->section);
		return attar_fail(-EINVAL,
			"'%s' is the same file as '%s' of section '%s'" ATTAR_FIX
			"use a separate file for each output",
			CLIP(file->path), CLIP(other->path), other->section);
	}
	return 0;
}

int agent_files_add(agent_files *files, const char *section, const char *path)
{
	struct agent_file file = {.section = section};
	struct stat st;
	int r;

	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return 0;
		file.device = st.st_dev;
		file.inode = st.st_ino;
	}
	file.path = strdup(path);
	file.target = replace_identity(path);
	r = file.path && file.target ? check_unique(files, &file) : base_oom();
	if (r == 0 && vec_push(files, file) < 0)
		r = base_oom();
	if (r < 0)
		file_done(&file);
	return r;
}

int agent_files_check_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder _cleanup_free_ = slash ? strndup(path, (size_t)(slash - path) + 1) : NULL;

	if (!slash)
		return 0;
	if (!folder)
		return base_oom();
	if (access(folder, F_OK) == 0)
		return 0;
	return attar_fail(-EINVAL, "cannot write '%s': %s" ATTAR_FIX "create its directory",
		CLIP(path), strerror(errno));
}

void agent_files_done(agent_files *files)
{
	vec_each (files, file)
		file_done(file);
	vec_done(files);
}
