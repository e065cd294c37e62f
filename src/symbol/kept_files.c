/* SPDX-License-Identifier: MIT */
#include "symbol/kept_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/file_limit.h"
#include "symbol/dso_load.h"
#include "symbol/dso_open.h"
#include "symbol/maps.h"

enum { PARENTS_MAX = 1 << 16 };

#define FIRST_WAIT_NS 100000000ULL /* a JIT compiler writes names soon after it maps its memory */

int kept_files_init(struct kept_files *kept)
{
	*kept = (struct kept_files){.max_open = file_limit_for_cache()};
	return dsos_init(&kept->dsos, 0);
}

void kept_files_done(struct kept_files *kept)
{
	dsos_done(&kept->dsos);
	map_done(&kept->parents);
	intern_done(&kept->texts);
	vec_done(&kept->wanted);
}

/* ---- files ---- */

static unsigned close_files(struct dso *dso)
{
	unsigned n = dso_files(dso);

	base_close_p(&dso->fd);
	base_close_p(&dso->debug_fd);
	dso->fd = dso->debug_fd = -1;
	return n;
}

static bool leads_path_to(const struct dso *dso)
{
	int fd _cleanup_close_ = dso_open(&(struct dso_search){.key = &dso->key});

	return fd >= 0;
}

/* Closes files that can be opened later, the oldest first, until there is room for two. */
static bool make_room(struct kept_files *kept)
{
	size_t n = kept->dsos.at.n;

	for (size_t seen = 0; kept->open + 2 > kept->max_open && seen < n; seen++) {
		struct dso *dso = kept->dsos.at.at[kept->oldest++ % n];

		if (dso->fd < 0 || !leads_path_to(dso))
			continue;
		kept->open -= close_files(dso);
		dso->dropped = true;
	}
	return kept->open + 2 <= kept->max_open;
}

/* The process and its ancestors. */
static void set_pids(const struct kept_files *kept, pid_t pid, struct dso_search *where)
{
	for (int i = 0; i < DSO_SEARCH_PIDS && pid > 0; i++) {
		const uint64_t *parent = map_get(&kept->parents, (uint64_t)pid);

		where->pids[i] = pid;
		pid = parent ? (pid_t)*parent : 0;
	}
}

static void kept_files_keep(
	struct kept_files *kept, struct dso *dso, const struct dso_search *where)
{
	if (dso->fd >= 0 || dso->dropped || dso->tries >= DSO_MAX_TRIES)
		return;
	dso->tries++;
	if (!make_room(kept))
		return;
	dso->fd = dso_open(where);
	if (dso->fd < 0) {
		dso->fd = -1;
		return;
	}
	dso_find_foreign_debugfile(dso, "/usr/lib/debug", where);
	kept->open += dso_files(dso);
}

static void keep_file(struct kept_files *kept, pid_t pid, const struct attar_mapping *mapping)
{
	struct dso_search where = {.start = mapping->start, .end = mapping->start + mapping->len};
	struct dso_key key;
	char *path _cleanup_free_ = dso_key_of_file(mapping, &key);
	uint16_t number = path ? dsos_intern(&kept->dsos, &key) : ATTAR_DSO_UNKNOWN;

	if (number < DSO_FIXED)
		return;
	set_pids(kept, pid, &where);
	where.key = &key;
	kept_files_keep(kept, dsos_get(&kept->dsos, number), &where);
}

/* ---- code of JIT compilers ---- */

static struct dso_key key_of_jit(pid_t pid)
{
	return (struct dso_key){.kind = ATTAR_DSO_IS_JIT, .owner = (uint32_t)pid, .path = "[anon]"};
}

/* True: there is nothing more to look for. */
static bool open_jit(struct kept_files *kept, struct jit *jit)
{
	bool was_open = jit_is_open(jit), has_all;

	if (!was_open && kept->open + 2 > kept->max_open && !make_room(kept))
		return true;
	kept->open -= jit_files(jit);
	has_all = jit_open(jit) == 0;
	kept->open += jit_files(jit);
	return has_all;
}

static void set_dump(struct kept_files *kept, struct jit *jit, const char *path)
{
	const char *copy = intern_text(&kept->texts, path);

	if (!copy)
		return;
	kept->open -= jit_files(jit);
	jit_set_dump(jit, copy);
	kept->open += jit_files(jit);
}

static void keep_jit(struct kept_files *kept, pid_t pid, const char *path)
{
	const struct dso_key key = key_of_jit(pid);
	uint16_t number = dsos_intern(&kept->dsos, &key);
	struct dso *dso = dsos_get(&kept->dsos, number);
	bool is_new = number >= DSO_FIXED && !dso->jit.pid, is_dump = jitdump_is_path(path);

	if (number < DSO_FIXED || !(is_new || is_dump))
		return;
	if (is_new)
		jit_init(&dso->jit, pid);
	if (is_dump)
		set_dump(kept, &dso->jit, path);
	if (!open_jit(kept, &dso->jit) && is_new)
		(void)vec_push(
			&kept->wanted, (struct kept_jit){number, base_now_coarse() + FIRST_WAIT_NS,
					       FIRST_WAIT_NS});
}

void kept_files_look(struct kept_files *kept)
{
	uint64_t now = kept->wanted.n ? base_now_coarse() : 0;

	for (size_t i = kept->wanted.n; i-- > 0;) {
		struct kept_jit *it = &kept->wanted.at[i];

		if (now < it->due)
			continue;
		it->wait *= 2;
		it->due = now + it->wait;
		if (open_jit(kept, &dsos_get(&kept->dsos, it->dso)->jit))
			*it = kept->wanted.at[--kept->wanted.n];
	}
}

/* ---- records ---- */

void kept_files_fork(struct kept_files *kept, pid_t pid, pid_t parent)
{
	const struct dso_key key = key_of_jit(pid);
	struct dso *jit = dsos_find(&kept->dsos, &key);

	if (kept->parents.n == PARENTS_MAX)
		map_reset(&kept->parents);
	(void)map_put(&kept->parents, (uint64_t)pid, (uint64_t)parent);
	if (!jit)
		return;
	/* Another process had this number. */
	kept->open -= jit_files(&jit->jit);
	jit_done(&jit->jit);
	jit_init(&jit->jit, pid);
}

void kept_files_map(struct kept_files *kept, pid_t pid, const struct attar_mapping *mapping)
{
	const char *path = mapping->path;
	bool is_memfd = maps_is_memfd(path), is_anonymous = maps_is_anonymous(path);

	if (is_anonymous || jitdump_is_path(path))
		keep_jit(kept, pid, path);
	if (is_memfd || (!is_anonymous && path[0] == '/'))
		keep_file(kept, pid, mapping);
	attar_error_clear();
}

/* ---- for a cache of symbols ---- */

static int duplicate(int fd)
{
	return fd < 0 ? -ENOENT : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int kept_files_open(const struct kept_files *kept, const struct dso_key *key)
{
	const struct dso *found = kept ? dsos_find(&kept->dsos, key) : NULL;

	return found ? duplicate(found->fd) : -ENOENT;
}

int kept_files_open_debug(const struct kept_files *kept, const struct dso_key *key)
{
	const struct dso *found = kept ? dsos_find(&kept->dsos, key) : NULL;

	return found ? duplicate(found->debug_fd) : -ENOENT;
}

void kept_files_open_jit(const struct kept_files *kept, struct jit *jit)
{
	const struct dso_key key = key_of_jit(jit->pid);
	const struct dso *found = kept ? dsos_find(&kept->dsos, &key) : NULL;

	if (found)
		jit_share(jit, &found->jit);
}
