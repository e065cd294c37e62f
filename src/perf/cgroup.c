/* SPDX-License-Identifier: MIT */
/*
 * Control groups by name. In cgroup v1, perf_event is a separate controller; in v2, perf events
 * work with every group. Names are paths below the root of the hierarchy, with the wildcards of
 * glob(7).
 */
#include "perf/target.h"

#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/limit.h"
#include "base/log.h"

enum { LOOK_NS = 100000000 };

/* Appends the mount point of the hierarchy for perf events: v1 perf_event, otherwise v2. */
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
		return attar_fail(-ENOENT, "no control group hierarchy is mounted" ATTAR_FIX
					   "mount -t cgroup2 none /sys/fs/cgroup");
	return buf_failed(ret_root) ? base_oom() : 0;
}

static int add(struct attar_target *t, int fd, const char *name)
{
	char *copy = strdup(name);

	if (!copy || vec_push(&t->cgroup_names, copy) < 0) {
		free(copy);
		return base_oom();
	}
	if (vec_push(&t->cgroup_removed, false) < 0)
		return base_oom();
	return vec_push(&t->cgroups, fd) < 0 ? base_oom() : 0;
}

static int open_one(struct attar_target *t, const char *path, size_t root_len)
{
	struct stat st;
	int fd, r;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	fd = TEMP_FAILURE_RETRY(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return limit_fail_open(errno, "cannot open the control group %s", path);
	path += root_len + strspn(path + root_len, "/");
	r = add(t, fd, *path ? path : "/");
	if (r < 0)
		close(fd);
	return r;
}

static int open_pattern(struct attar_target *t, const char *root, const char *name)
{
	struct buf pattern _cleanup_(buf_done) = {0};
	size_t before = t->cgroups.n;
	glob_t found = {0};
	int r = 0;

	buf_printf(&pattern, "%s/%s", root, name);
	if (buf_failed(&pattern))
		return base_oom();
	if (glob(pattern.data, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc && r == 0; i++)
			r = open_one(t, found.gl_pathv[i], strlen(root));
	globfree(&found);
	if (r == 0 && t->cgroups.n == before)
		return attar_fail(-ENOENT, "no control group '%s' below %s", CLIP(name), root);
	return r;
}

int cgroup_open_list(struct attar_target *t, const char *names)
{
	struct buf root _cleanup_(buf_done) = {0};
	char *list _cleanup_free_ = strdup(names), *save = NULL;
	int r = find_root(&root);

	if (r < 0)
		return r;
	if (!list)
		return base_oom();
	for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		r = open_pattern(t, root.data, name);
		if (r < 0)
			return r;
	}
	return t->cgroups.n
		       ? 0
		       : attar_fail(-EINVAL, "'%s' does not name a control group", CLIP(names));
}

/* Every control group of v1 and v2 has this file; a removed directory has none. */
static bool exists(int fd)
{
	return faccessat(fd, "cgroup.procs", F_OK, 0) == 0 || errno != ENOENT;
}

bool cgroup_all_removed(struct attar_target *t)
{
	uint64_t now = base_now();
	size_t removed = 0;

	if (now - t->cgroups_looked < LOOK_NS)
		return false;
	t->cgroups_looked = now;
	for (size_t i = 0; i < t->cgroups.n; i++) {
		if (!t->cgroup_removed.at[i] && !exists(t->cgroups.at[i])) {
			t->cgroup_removed.at[i] = true;
			log_note("control group '%s' was removed and is no longer monitored",
				t->cgroup_names.at[i]);
		}
		removed += t->cgroup_removed.at[i];
	}
	return t->cgroups.n && removed == t->cgroups.n;
}
