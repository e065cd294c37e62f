/* SPDX-License-Identifier: MIT */
#include "base/proc_tree.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/map.h"
#include "base/proc.h"

enum { CHILDREN_MAX = 64 << 20 }; /* bytes */

struct tree {
	parse_ints *pids;
	struct map known; /* pid -> 1, for each of pids */
	pid_t parent;     /* whose threads are visited */
};

static int tree_add(struct tree *tree, pid_t pid)
{
	if (pid == getpid() || map_get(&tree->known, (uint64_t)pid))
		return 0;
	if (map_put(&tree->known, (uint64_t)pid, 1) < 0 || vec_push(tree->pids, pid) < 0)
		return base_oom();
	return 0;
}

/* ---- by /proc/PID/task/TID/children: "123 456 " ---- */

static int add_children(void *ctx, int tid)
{
	struct buf text _cleanup_(buf_done) = {0};
	struct tree *tree = ctx;
	char path[64], *at, *end;
	int r = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", tree->parent, tid);
	r = file_read(path, CHILDREN_MAX, &text);
	if (r == -ENOMEM)
		return r;
	if (r < 0 || !text.len) /* the thread has ended */
		return 0;
	r = 0;
	for (at = text.data; r == 0; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		r = tree_add(tree, (pid_t)pid);
	}
	return r;
}

static int add_by_threads(struct tree *tree)
{
	int r = 0;

	for (size_t i = 0; r != -ENOMEM && i < tree->pids->n; i++) {
		tree->parent = tree->pids->at[i];
		r = proc_each_thread(tree->parent, add_children, tree);
	}
	return r;
}

/* ---- by the parents of all processes: kernels without CONFIG_PROC_CHILDREN ---- */

struct child {
	pid_t pid, parent;
};

typedef VEC(struct child) children_list;

static int note_parent(void *ctx, int pid)
{
	struct child child = {pid, proc_parent(pid)};

	return !child.parent || vec_push((children_list *)ctx, child) == 0 ? 0 : base_oom();
}

static int add_by_parents(struct tree *tree)
{
	children_list children = {0};
	int r = proc_each_process(note_parent, &children);
	size_t before;

	do { /* a child can precede its parent */
		before = tree->pids->n;
		vec_each (&children, it)
			if (r == 0 && map_get(&tree->known, (uint64_t)it->parent))
				r = tree_add(tree, it->pid);
	} while (r == 0 && tree->pids->n > before);
	vec_done(&children);
	return r;
}

static bool lists_children(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	return access(path, F_OK) == 0;
}

static int add_descendants(parse_ints *pids, int (*add)(struct tree *))
{
	struct tree tree = {.pids = pids};
	int r = 0;

	vec_each (pids, pid)
		if (r == 0 && map_put(&tree.known, (uint64_t)*pid, 1) < 0)
			r = base_oom();
	if (r == 0)
		r = add(&tree);
	map_done(&tree.known);
	if (r == -ENOMEM)
		return r;
	if (r < 0) /* the last process has ended */
		attar_error_clear();
	return 0;
}

/* The kernel adds the number of processes, or threads, to the links of a directory. */
static uint64_t links_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_nlink : 0;
}

/* A process with hundreds of threads has more files to read than the system has processes. */
static bool has_more_threads_than_processes(const parse_ints *pids)
{
	uint64_t threads = 0;
	char path[64];

	vec_each (pids, pid) {
		snprintf(path, sizeof(path), "/proc/%d/task", *pid);
		threads += links_of(path);
	}
	return threads > links_of("/proc");
}

int proc_add_descendants(parse_ints *pids)
{
	bool by_threads = lists_children() && !has_more_threads_than_processes(pids);

	return add_descendants(pids, by_threads ? add_by_threads : add_by_parents);
}

int proc_add_descendants_by_parents(parse_ints *pids)
{
	return add_descendants(pids, add_by_parents);
}
