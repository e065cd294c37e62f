/* SPDX-License-Identifier: MIT */
#include "cli/output/listeners.h"

#include <stdio.h>

#include "base/file.h"
#include "base/proc.h"
#include "base/scan_budget.h"

enum { UNIX_MAX = 64 << 20, SCAN_USER_NS = 100000000 };

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

struct search {
	struct listeners *listeners;
	struct map ids; /* inode of a socket -> id */
	struct scan_budget scans;
	pid_t pid;
};

static int look_at_fd(void *ctx, int fd)
{
	struct search *search = ctx;
	char path[64], target[64];
	uint64_t *id;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", search->pid, fd);
	n = readlink(path, target, sizeof(target) - 1);
	target[MAX(n, 0)] = '\0';
	if (strncmp(target, "socket:[", 8) != 0)
		return 0;
	id = map_get(&search->ids, strtoull(target + 8, NULL, 10));
	if (id)
		map_put(&search->listeners->pids, *id, (uint64_t)search->pid);
	return 0;
}

static int search_process(void *ctx, pid_t pid)
{
	struct search *search = ctx;

	search->pid = pid;
	scan_budget_each_fd(&search->scans, pid, look_at_fd, search);
	return 0;
}

static void search(struct listeners *l)
{
	struct search search = {.listeners = l,
		.scans = {.what = "open files",
			.effect = "which of them listen is not known",
			.user_ns = SCAN_USER_NS}};

	l->searched = true;
	find_sockets(&search.ids);
	map_each (&search.ids, socket)
		map_put(&l->sockets, socket->value, 1);
	if (search.ids.n)
		proc_each_process(search_process, &search);
	map_done(&search.ids);
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
		buf_str(b, map_get(&l->sockets, id) ? "unknown"
						    : "exited or in another network namespace");
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
	map_done(&l->sockets);
}
