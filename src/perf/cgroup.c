/* SPDX-License-Identifier: MIT */
/*
 * Control groups by name. In cgroup v1, perf_event is a separate controller; in v2, perf events
 * work with every group. Names are paths below the root of the hierarchy, with the wildcards of
 * glob(7).
 */
#include "perf/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/file_limit.h"
#include "base/log.h"
#include "perf/target.h"

enum { LOOK_NS = 100000000, THREADS_BYTES = 64 << 20 };

/* ---- the hierarchy ---- */

/* A line of /proc/PID/mountinfo: the hierarchy, if it is one of perf events. 1, 0 or -ENOMEM. */
static int take_mount(struct cgroup_hierarchy *h, const char *line)
{
	char above[4096], where[4096], type[64], options[4096];
	const char *rest = strstr(line, " - ");

	if (!rest || sscanf(line, "%*s %*s %*s %4095s %4095s", above, where) != 2 ||
		sscanf(rest, " - %63s %*s %4095s", type, options) != 2)
		return 0;
	h->is_v1 = !strcmp(type, "cgroup") && strstr(options, "perf_event");
	if (!h->is_v1 && (strcmp(type, "cgroup2") != 0 || h->where.len))
		return 0;
	buf_reset(&h->where);
	buf_reset(&h->above);
	buf_str(&h->where, where);
	buf_str(&h->above, above);
	return buf_failed(&h->where) || buf_failed(&h->above) ? base_oom() : 1;
}

int cgroup_hierarchy_find(struct cgroup_hierarchy *h)
{
	struct buf mounts _cleanup_(buf_done) = {0};
	char *line, *save = NULL;
	int r = file_read("/proc/self/mountinfo", 4 << 20, &mounts);

	*h = (struct cgroup_hierarchy){0};
	if (r < 0)
		return r;
	for (line = strtok_r(mounts.data, "\n", &save); line && r >= 0 && !h->is_v1;
		line = strtok_r(NULL, "\n", &save))
		r = take_mount(h, line);
	if (r >= 0 && !h->where.len)
		return attar_fail(-ENOENT, "no control group hierarchy is mounted" ATTAR_FIX
					   "mount -t cgroup2 none /sys/fs/cgroup");
	return MIN(r, 0);
}

void cgroup_hierarchy_done(struct cgroup_hierarchy *h)
{
	buf_done(&h->where);
	buf_done(&h->above);
}

/* ---- paths ---- */

void cgroup_path(const struct cgroup_hierarchy *h, const char *name, struct buf *path)
{
	bool is_root = !strcmp(buf_text(&h->above), "/"), is_top = !strcmp(name, "/");

	if (!is_root || is_top)
		buf_str(path, buf_text(&h->above));
	if (!is_top)
		buf_printf(path, "/%s", name);
}

bool cgroup_contains(const char *group, const char *path, size_t length)
{
	size_t n = strlen(group);

	if (!strcmp(group, "/"))
		return true;
	return length >= n && !memcmp(group, path, n) && (length == n || path[n] == '/');
}

/* Whether a line of /proc/PID/cgroup, NUMBER:CONTROLLERS:PATH, is of the hierarchy. */
static bool is_line_of(const struct cgroup_hierarchy *h, const char *controllers, size_t n)
{
	static const char name[] = "perf_event";
	const size_t length = sizeof(name) - 1;

	if (!h->is_v1)
		return n == 0;
	for (const char *end = controllers + n, *at = controllers; at + length <= end; at++)
		if ((at == controllers || at[-1] == ',') && !memcmp(at, name, length) &&
			(at + length == end || at[length] == ','))
			return true;
	return false;
}

int cgroup_in_text(
	const struct cgroup_hierarchy *h, const char *text, struct buf *path, int *ret_number)
{
	for (const char *line = text, *end; *line; line = end + (*end == '\n')) {
		const char *controllers, *at;

		end = strchrnul(line, '\n');
		controllers = memchr(line, ':', (size_t)(end - line));
		if (!controllers++)
			continue;
		at = memchr(controllers, ':', (size_t)(end - controllers));
		if (!at || !is_line_of(h, controllers, (size_t)(at - controllers)))
			continue;
		buf_add(path, at + 1, (size_t)(end - at - 1));
		if (ret_number)
			*ret_number = atoi(line);
		return buf_failed(path) ? -ENOMEM : 0;
	}
	return -ENOENT;
}

int cgroup_of_thread(const struct cgroup_hierarchy *h, pid_t tid, struct buf *path, int *ret_number)
{
	struct buf text _cleanup_(buf_done) = {0};
	char file[64];
	int r;

	snprintf(file, sizeof(file), "/proc/%d/cgroup", tid);
	r = file_read(file, 1 << 20, &text);
	attar_error_clear();
	return r < 0 ? r : cgroup_in_text(h, buf_text(&text), path, ret_number);
}

bool cgroup_paths_are_whole(void)
{
	char name[64] = "", first[64];

	/* the number of the first namespace is constant: PROC_CGROUP_INIT_INO of the kernel */
	snprintf(first, sizeof(first), "cgroup:[%u]", 0xEFFFFFFBU);
	return readlink("/proc/self/ns/cgroup", name, sizeof(name) - 1) < 0 || !strcmp(name, first);
}

/* ---- threads ---- */

/* 0 if the group was removed meanwhile. */
static int read_threads(const char *directory, struct buf *ret_list)
{
	/* of v2, of v1, and of v2 before Linux 4.14, which lists processes only */
	static const char *const files[] = {"cgroup.threads", "tasks", "cgroup.procs"};
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < ARRAY_SIZE(files); i++) {
		struct buf path _cleanup_(buf_done) = {0};

		buf_printf(&path, "%s/%s", directory, files[i]);
		r = buf_failed(&path) ? base_oom()
				      : file_read(buf_text(&path), THREADS_BYTES, ret_list);
	}
	if (r != -ENOENT && r != -ENODEV)
		return r;
	attar_error_clear();
	return 0;
}

/* A thread in a PID namespace that is not visible here has the number 0. */
static int each_in(const char *directory, cgroup_thread_fn *fn, void *ctx)
{
	struct buf list _cleanup_(buf_done) = {0};
	int r = read_threads(directory, &list);

	for (const char *at = buf_text(&list); r >= 0 && *at; at += strspn(at, "\n")) {
		char *end;
		long tid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (tid > 0)
			r = fn(ctx, (pid_t)tid);
		at = end;
	}
	return r;
}

static int each_below(const char *directory, cgroup_thread_fn *fn, void *ctx)
{
	int r = each_in(directory, fn, ctx);
	DIR *dir = r < 0 ? NULL : opendir(directory);
	struct dirent *entry;

	while (dir && r >= 0 && (entry = readdir(dir))) {
		struct buf path _cleanup_(buf_done) = {0};

		if (entry->d_type != DT_DIR || *entry->d_name == '.')
			continue;
		buf_printf(&path, "%s/%s", directory, entry->d_name);
		r = buf_failed(&path) ? base_oom() : each_below(buf_text(&path), fn, ctx);
	}
	if (dir)
		closedir(dir);
	return r;
}

int cgroup_each_thread(
	const struct cgroup_hierarchy *h, const char *name, cgroup_thread_fn *fn, void *ctx)
{
	struct buf path _cleanup_(buf_done) = {0};
	int r;

	buf_printf(&path, "%s/%s", buf_text(&h->where), name);
	r = buf_failed(&path) ? base_oom() : each_below(buf_text(&path), fn, ctx);
	return MIN(r, 0);
}

/* ---- the groups of a target ---- */

static int cgroup_add(struct attar_target *t, int fd, const char *name)
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
		return file_limit_fail(errno, "cannot open the control group %s", path);
	path += root_len + strspn(path + root_len, "/");
	r = cgroup_add(t, fd, *path ? path : "/");
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
	struct cgroup_hierarchy h _cleanup_(cgroup_hierarchy_done) = {0};
	char *list _cleanup_free_ = strdup(names), *save = NULL;
	int r = cgroup_hierarchy_find(&h);

	if (r < 0)
		return r;
	if (!list)
		return base_oom();
	for (char *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
		r = open_pattern(t, buf_text(&h.where), name);
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

	if (!t->cgroups.n || now - t->cgroups_looked < LOOK_NS)
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
	return removed == t->cgroups.n;
}
