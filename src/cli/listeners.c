/* SPDX-License-Identifier: MIT */
#include "cli/listeners.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>

#include "base/file.h"

enum { UNIX_MAX = 64 << 20 };

/* Lines of /proc/net/unix end in "INODE @perfume-ID": inode -> id. */
static void find_sockets(struct map *ids)
{
	struct buf b _cleanup_(buf_done) = {0};
	char *save = NULL;

	if (file_read("/proc/net/unix", UNIX_MAX, &b) < 0 || !b.len)
		return;
	for (char *line = strtok_r(b.data, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *name = strstr(line, " @perfume-"), *inode;

		if (!name)
			continue;
		*name = '\0';
		inode = strrchr(line, ' ');
		if (inode)
			map_put(ids, strtoull(inode, NULL, 10),
				strtoull(name + strlen(" @perfume-"), NULL, 16));
	}
}

static void look_at_process(struct listeners *l, const struct map *ids, const char *pid)
{
	char path[300];
	struct dirent *entry;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	fds = opendir(path);
	while (fds && (entry = readdir(fds))) {
		char target[64];
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, target, sizeof(target) - 1);
		uint64_t *id;

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (strncmp(target, "socket:[", 8) != 0)
			continue;
		id = map_get(ids, strtoull(target + 8, NULL, 10));
		if (id)
			map_put(&l->pids, *id, strtoull(pid, NULL, 10));
	}
	if (fds)
		closedir(fds);
}

static void search(struct listeners *l)
{
	struct map ids = {0};
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	l->searched = true;
	find_sockets(&ids);
	while (proc && ids.n && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			look_at_process(l, &ids, entry->d_name);
	if (proc)
		closedir(proc);
	map_done(&ids);
	attar_error_clear();
}

void listeners_name(struct listeners *l, uint64_t id, struct buf *b)
{
	struct buf comm _cleanup_(buf_done) = {0};
	char path[64];
	uint64_t *pid;

	if (!l->searched)
		search(l);
	pid = map_get(&l->pids, id);
	if (!pid) {
		buf_str(b, "somebody");
		return;
	}
	snprintf(path, sizeof(path), "/proc/%llu/comm", (unsigned long long)*pid);
	if (file_read(path, 64, &comm) < 0)
		attar_error_clear();
	buf_printf(b, "%.*s (pid %llu)", (int)strcspn(buf_text(&comm), "\n"), buf_text(&comm),
		(unsigned long long)*pid);
}

void listeners_done(struct listeners *l)
{
	map_done(&l->pids);
}
