/* SPDX-License-Identifier: MIT */
/*
 * Control groups by name. perf events are a controller of their own in a v1 hierarchy; in v2 they work on
 * every group. Names are paths below the root of either, with the wildcards of glob(7).
 */
#include "perf/target.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"

/* Appends the mount point of a hierarchy that perf events take: v1 perf_event first, then v2. */
static int find_root(struct buf *ret_root)
{
	struct buf mounts _cleanup_(buf_done) = {0};
	char *line, *save = NULL;
	bool found_v1 = false;
	int r = file_read("/proc/self/mounts", 4 << 20, &mounts);

	if (r < 0)
		return r;
	for (line = strtok_r(mounts.data, "\n", &save); line && !found_v1;
		line = strtok_r(NULL, "\n", &save)) {
		char device[256], where[4096], type[64], options[4096];

		if (sscanf(line, "%255s %4095s %63s %4095s", device, where, type, options) != 4)
			continue;
		found_v1 = !strcmp(type, "cgroup") && strstr(options, "perf_event");
		if (found_v1 || (!strcmp(type, "cgroup2") && !ret_root->len)) {
			buf_reset(ret_root);
			buf_str(ret_root, where);
		}
	}
	if (!ret_root->len)
		return attar_fail(-ENOENT, "no control group hierarchy is mounted: mount -t "
					   "cgroup2 none /sys/fs/cgroup");
	return buf_failed(ret_root) ? base_oom() : 0;
}

static int open_one(const char *path, parse_ints *ret_fds)
{
	struct stat st;
	int fd;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return attar_fail(
			-errno, "cannot open the control group %s: %s", path, strerror(errno));
	if (vec_push(ret_fds, fd) < 0) {
		close(fd);
		return base_oom();
	}
	return 0;
}

static int open_pattern(const char *root, const char *name, parse_ints *ret_fds)
{
	struct buf pattern _cleanup_(buf_done) = {0};
	size_t before = ret_fds->n;
	glob_t found = {0};
	int r = 0;

	buf_printf(&pattern, "%s/%s", root, name);
	if (buf_failed(&pattern))
		return base_oom();
	if (glob(pattern.data, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && r == 0; i++)
			r = open_one(found.gl_pathv[i], ret_fds);
	globfree(&found);
	if (r == 0 && ret_fds->n == before)
		return attar_fail(-ENOENT, "there is no control group '%s' below %s", name, root);
	return r;
}

int cgroup_open_list(const char *names, parse_ints *ret_fds)
{
	struct buf root _cleanup_(buf_done) = {0};
	char *list _cleanup_free_ = strdup(names), *save = NULL;
	int r = find_root(&root);

	if (r < 0)
		return r;
	if (!list)
		return base_oom();
	for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		r = open_pattern(root.data, name, ret_fds);
		if (r < 0)
			return r;
	}
	return ret_fds->n ? 0 : attar_fail(-EINVAL, "'%s' names no control group", names);
}
