/* SPDX-License-Identifier: MIT */
#include "event/probe_search.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/intern.h"
#include "base/parse.h"
#include "base/proc_tree.h"
#include "elf/function.h"
#include "event/probe.h"
#include "event/probe_pattern.h"
#include "event/usdt_files.h"

enum { PID_MAX = 4194304 };

/* Which file is probed if several have the function: calls reach the first of these. */
enum rank { RANK_PROGRAM, RANK_ALLOCATOR, RANK_LIBC, RANK_OTHER, RANK_NONE };

struct probe_search {
	struct list *list;
	struct probe *probe;
	struct intern seen;
	struct stat program; /* of the process that is searched */
	enum rank rank;      /* of the best file so far */
};

static enum rank rank_of(const struct probe_search *s, const struct usdt_file *file)
{
	static const char *const allocators[] = {"malloc", "scudo", "hoard"};
	const char *slash = strrchr(file->path, '/'), *name = slash ? slash + 1 : file->path;

	if (file->st.st_dev == s->program.st_dev && file->st.st_ino == s->program.st_ino)
		return RANK_PROGRAM;
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++)
		if (strstr(name, allocators[i]))
			return RANK_ALLOCATOR;
	if (!strncmp(name, "libc.", 5) || !strncmp(name, "libc-", 5) ||
		!strncmp(name, "ld-musl", 7))
		return RANK_LIBC;
	return RANK_OTHER;
}

/* Whether the file has the function, or one that matches the pattern. */
static bool probe_search_has(
	const struct usdt_file *file, const struct probe *probe, uint64_t *ret_offset)
{
	return probe->is_pattern
		       ? probe_pattern_is_in(file->link, file->path, probe->func) > 0
		       : elf_function_offset(file->link, file->path, probe->func, ret_offset) == 0;
}

static int search_file(void *ctx, const struct usdt_file *file)
{
	struct probe_search *s = ctx;
	enum rank rank = rank_of(s, file);
	size_t before = s->seen.n;
	uint64_t offset = 0;

	if (rank >= s->rank)
		return 0;
	if (!intern_text(&s->seen, file->path))
		return base_oom();
	if (s->seen.n == before)
		return 0;
	if (!probe_search_has(file, s->probe, &offset)) {
		attar_error_clear(); /* most files do not have it */
		return 0;
	}
	s->probe->file = list_text(s->list, file->path, strlen(file->path));
	s->probe->link = list_file(s->list, fcntl(file->fd, F_DUPFD_CLOEXEC, 0));
	if (!s->probe->file || !s->probe->link)
		return base_oom();
	s->probe->offset += offset;
	s->rank = rank;
	return 0;
}

static int search_process(struct probe_search *s, pid_t pid)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &s->program) < 0)
		s->program = (struct stat){0};
	return usdt_each_file(pid, search_file, s);
}

static int search_processes(struct probe_search *s, const struct attar_catalog *catalog)
{
	parse_ints pids = {0};
	int r = parse_list(catalog->pids, PID_MAX, &pids);

	if (r == 0 && catalog->descendants)
		r = proc_add_descendants(&pids);
	for (size_t i = 0; r == 0 && i < pids.n && s->rank == RANK_NONE; i++)
		r = search_process(s, pids.at[i]);
	vec_done(&pids);
	return r;
}

static int search_program(void *ctx, const struct usdt_file *file)
{
	((struct probe_search *)ctx)->program = file->st;
	return search_file(ctx, file);
}

/* What a program that is started now uses, unless it is linked statically. */
static int search_libc(struct probe_search *s)
{
	char *path = NULL;
	int r = probe_find_file("libc.so.6", &path);

	if (r == 0)
		r = usdt_named_file(path, search_file, s);
	free(path);
	return r;
}

static int none_found(const struct attar_catalog *catalog, const char *func)
{
	const char *where = catalog->pids      ? "the files of the processes have"
			    : catalog->program ? "the command and the C library have"
					       : "the C library has";

	return attar_fail(-ENOENT,
		"%s no function '%s'" ATTAR_FIX "name the file, as in uprobe:%s@FILE", where,
		CLIP(func), CLIP(func));
}

int probe_search(struct attar_catalog *catalog, struct list *list, struct probe *probe)
{
	struct probe_search s = {.list = list, .probe = probe, .rank = RANK_NONE};
	int r = 0;

	if (catalog->pids)
		r = search_processes(&s, catalog);
	else if (catalog->program)
		r = usdt_program_file(catalog->program, search_program, &s);
	if (r == 0 && s.rank == RANK_NONE && !catalog->pids)
		r = search_libc(&s);
	intern_done(&s.seen);
	return r == 0 && s.rank == RANK_NONE ? none_found(catalog, probe->func) : r;
}
