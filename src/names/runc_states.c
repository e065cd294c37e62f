/* SPDX-License-Identifier: MIT */
#include "names/runc_states.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "names/container.h"

static uint64_t hash_of(const char *group, size_t n)
{
	return base_hash_bytes(BASE_HASH_START, group, n);
}

/* The first container with a group keeps it. */
static void add_group(struct runc_states *states, const char *group, uint32_t name)
{
	const size_t n = strlen(group);
	const uint64_t hash = hash_of(group, n);
	uint32_t text;

	if (n <= 1 || map_get(&states->by_group, hash) ||
		intern_id(&states->texts, group, &text) < 0)
		return;
	map_put(&states->by_group, hash, (uint64_t)name << 32 | text);
	states->longest = MAX(states->longest, n);
}

/* A path of cgroupfs ends with the group, after a mount point that is not known. */
static void add_path(struct runc_states *states, const char *path, uint32_t name)
{
	const char *group = *path ? path + 1 : path;

	while ((group = strchr(group, '/')))
		add_group(states, group++, name);
}

static bool read_state(struct runc_states *states, const char *folder, const char *name)
{
	struct buf text _cleanup_(buf_done) = {0}, paths _cleanup_(buf_done) = {0};
	char path[PATH_MAX];
	uint32_t number;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/state.json", folder, name) >=
			sizeof(path) ||
		!container_read_file(path, &text) ||
		!container_json_groups(buf_text(&text), text.len, &paths) ||
		intern_id(&states->texts, name, &number) < 0)
		return false;
	for (const char *at = buf_text(&paths); at < buf_text(&paths) + paths.len;
		at += strlen(at) + 1)
		add_path(states, at, number);
	return true;
}

static void read_folder(struct runc_states *states, const char *folder, unsigned number)
{
	const struct dirent *entry;
	DIR *dir = opendir(folder);

	while (dir && states->seen.n < RUNC_STATES_MAX && (entry = readdir(dir))) {
		uint64_t key = (uint64_t)entry->d_ino << 1 | number;

		if (*entry->d_name != '.' && !map_get(&states->seen, key) &&
			read_state(states, folder, entry->d_name))
			map_put(&states->seen, key, 1);
	}
	if (dir)
		closedir(dir);
}

void runc_states_read(struct runc_states *states, const char *root)
{
	static const char *const folders[] = {"/run/runc", "/run/user/0/runc"};
	char folder[PATH_MAX];

	if (states->seen.n == RUNC_STATES_MAX) /* most of them have ended */
		runc_states_done(states);
	for (unsigned i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(folder, sizeof(folder), "%s%s", root, folders[i]);
		read_folder(states, folder, i);
	}
	attar_error_clear();
}

static const char *name_of(const struct runc_states *states, const char *group, size_t n)
{
	const uint64_t *found = map_get(&states->by_group, hash_of(group, n));
	const char *text = found ? intern_get(&states->texts, (uint32_t)*found) : "";

	return strlen(text) == n && !memcmp(text, group, n)
		       ? intern_get(&states->texts, (uint32_t)(*found >> 32))
		       : NULL;
}

const char *runc_states_find(const struct runc_states *states, const char *group)
{
	const size_t n = strlen(group);

	for (size_t at = MIN(n, states->longest); at > 1; at--) {
		const char *name = at == n || group[at] == '/' ? name_of(states, group, at) : NULL;

		if (name)
			return name;
	}
	return NULL;
}

void runc_states_done(struct runc_states *states)
{
	intern_done(&states->texts);
	map_done(&states->by_group);
	map_done(&states->seen);
	*states = (struct runc_states){0};
}
