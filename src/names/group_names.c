/* SPDX-License-Identifier: MIT */
#include "names/group_names.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "names/container.h"

enum {
	SHORT_ID = 12,
	LOOK_NS = 5000000,
	SETTLE_NS = 1000000000,
	/* Other users can have any number of groups, with names such as containers have: */
	BURST_NS = 200000000, /* time for reading names, */
	SHARE = 20,           /* and a twentieth of the time since the first */
};

static uint32_t number_of_text(struct group_names *g, const char *text, size_t n)
{
	char copy[GROUP_PATH_MAX];
	uint32_t id = 0;

	if (!n)
		return 0;
	n = MIN(n, sizeof(copy) - 1);
	memcpy(copy, text, n);
	copy[n] = '\0';
	return intern_id(&g->texts, copy, &id) == 0 ? id : 0;
}

/* In a recording or in names of slices, the ID of a pod can have '_' for '-'. */
static uint32_t number_of_pod(struct group_names *g, const struct path_part *pod)
{
	char id[64];
	size_t n = MIN(pod->n, sizeof(id));

	for (size_t i = 0; i < n; i++)
		id[i] = pod->at[i] == '_' ? '-' : pod->at[i];
	return number_of_text(g, id, n);
}

static struct group make_group(struct group_names *g, uint32_t text, const char *path, size_t n)
{
	struct group_path parts;
	struct group group = {.keys = {[GROUP_CGROUP] = text}, .since = base_now()};

	group_path_parse(path, n, &parts);
	group.kind = parts.kind;
	group.rank = group_path_rank(&parts);
	group.keys[GROUP_CONTAINER] = number_of_text(g, parts.container.at, parts.container.n);
	group.keys[GROUP_POD] = number_of_pod(g, &parts.pod);
	if (parts.unit.n) /* users can have units of the same name */
		group.keys[GROUP_UNIT] =
			number_of_text(g, path, (size_t)(parts.unit.at + parts.unit.n - path));
	return group;
}

uint32_t group_names_of_path(struct group_names *g, const char *path, size_t n)
{
	uint32_t text;

	n = MIN(strnlen(path, n), (size_t)GROUP_PATH_MAX - 1);
	if (!g->groups.n && !vec_add(&g->groups))
		return 0;
	if (g->groups.n >= GROUPS_MAX) {
		g->dropped++;
		return 0;
	}
	text = number_of_text(g, path, n);
	while (text && g->number_of.n <= text)
		if (!vec_add(&g->number_of))
			return 0;
	if (!text || g->number_of.at[text])
		return text ? g->number_of.at[text] : 0;
	if (vec_push(&g->groups, make_group(g, text, path, n)) < 0)
		return 0;
	return g->number_of.at[text] = (uint32_t)g->groups.n - 1;
}

/* A line NUMBER:CONTROLLERS:PATH */
struct line {
	const char *path;
	size_t n;
	unsigned rank;
};

static bool read_line(const char *line, const char *end, struct line *ret_line)
{
	const char *controllers = memchr(line, ':', (size_t)(end - line)), *path;
	struct group_path parts;
	size_t n;

	if (!controllers)
		return false;
	controllers++;
	path = memchr(controllers, ':', (size_t)(end - controllers));
	if (!path || path[1] != '/')
		return false;
	n = (size_t)(path - controllers);
	*ret_line = (struct line){path + 1, (size_t)(end - path - 1), 0};
	group_path_parse(ret_line->path, ret_line->n, &parts);
	ret_line->rank = 8 * group_path_rank(&parts) + 4 * (ret_line->n > 1) + 2 * (n == 0) +
			 (n == strlen("name=systemd") && !memcmp(controllers, "name=systemd", n));
	return true;
}

uint32_t group_names_of_text(struct group_names *g, const char *text)
{
	struct line best = {0}, line;

	for (const char *end; *text; text = end + (*end == '\n')) {
		end = strchrnul(text, '\n');
		if (read_line(text, end, &line) && (!best.path || line.rank > best.rank))
			best = line;
	}
	return best.path ? group_names_of_path(g, best.path, best.n) : 0;
}

bool group_names_is_better(const struct group_names *g, uint32_t group, const char *path, size_t n)
{
	struct group_path parts;

	group_path_parse(path, n, &parts);
	return group >= g->groups.n || !group ||
	       group_path_rank(&parts) >= g->groups.at[group].rank;
}

/* ---- names ---- */

int group_names_set(struct group_names *g, uint32_t key, const char *name)
{
	uint32_t number;

	if (intern_id(&g->texts, name, &number) < 0)
		return -ENOMEM;
	while (g->names.n <= key)
		if (!vec_add(&g->names))
			return -ENOMEM;
	while (g->uses.n <= number)
		if (!vec_add(&g->uses))
			return -ENOMEM;
	g->uses.at[g->names.at[key]] -= g->names.at[key] != 0;
	g->names.at[key] = number;
	g->uses.at[number]++;
	g->changes++;
	return 0;
}

/* The number of the name that a key was given; 0: none. */
static uint32_t name_of(const struct group_names *g, uint32_t key)
{
	return key < g->names.n ? g->names.at[key] : 0;
}

void group_names_set_container(struct group_names *g, uint32_t group, const char *name)
{
	struct group *entry = &g->groups.at[group];

	entry->keys[GROUP_CONTAINER] = number_of_text(g, name, strlen(name));
	entry->kind = CONTAINER_NAMED;
	entry->is_resolved = true;
	g->changes++;
}

const char *group_names_own(const struct group_names *g, uint32_t key)
{
	const char *own = intern_get(&g->texts, key);

	if (name_of(g, key))
		return intern_get(&g->texts, name_of(g, key));
	return strspn(own, "0123456789abcdef-") == strlen(own) ? "" : own;
}

/* The group of a container of runc does not say so, and its file is written after the move. */
static void find_runc(struct group_names *g, struct group *group)
{
	const char *name =
		runc_states_find(&g->runc, intern_get(&g->texts, group->keys[GROUP_CGROUP]));

	group->is_resolved = group->rank || g->looked >= group->since + SETTLE_NS;
	if (name)
		group_names_set_container(g, (uint32_t)(group - g->groups.at), name);
}

static void resolve(struct group_names *g, struct group *group)
{
	uint32_t container = group->keys[GROUP_CONTAINER];
	struct container_names names;

	if (!container) {
		find_runc(g, group);
		return;
	}
	group->is_resolved = true;
	if (group->kind == CONTAINER_NAMED || !container_find_names(g->root ?: "", group->kind,
						      intern_get(&g->texts, container), &names))
		return;
	group_names_set(g, container, names.name);
	if (*names.pod && group->keys[GROUP_POD])
		group_names_set(g, group->keys[GROUP_POD], names.pod);
}

static bool has_time(struct group_names *g, uint64_t now)
{
	if (g->spent + (now - g->looked) < BURST_NS + (now - g->began) / SHARE)
		return true;
	if (!g->is_told)
		log_note("reading the names of the containers of all control groups takes long: "
			 "some are shown by their ID");
	g->is_told = true;
	return false;
}

void group_names_resolve(struct group_names *g)
{
	const uint64_t now = base_now();
	bool is_done = true;

	if (g->resolved == g->groups.n || now < g->looked + LOOK_NS)
		return;
	g->began = g->began ?: now;
	g->looked = now;
	runc_states_read(&g->runc, g->root ?: "");
	for (size_t i = g->resolved; i < g->groups.n && has_time(g, base_now()); i++) {
		if (i && !g->groups.at[i].is_resolved)
			resolve(g, &g->groups.at[i]);
		is_done &= !i || g->groups.at[i].is_resolved;
		g->resolved += is_done;
	}
	g->spent += base_now() - now;
}

const char *group_names_plain(const struct group_names *g, enum group_kind kind, uint32_t key)
{
	static __thread char text[SHORT_ID + 1];
	const char *own = intern_get(&g->texts, key), *slash = strrchr(own, '/');

	if (!key || kind == GROUP_CGROUP)
		return own;
	if (kind == GROUP_UNIT)
		return slash ? slash + 1 : own;
	if (name_of(g, key))
		return intern_get(&g->texts, name_of(g, key));
	if (kind == GROUP_POD || strspn(own, "0123456789abcdef") != strlen(own))
		return own;
	snprintf(text, sizeof(text), "%s", own);
	return text;
}

const char *group_names_text(const struct group_names *g, enum group_kind kind, uint32_t key)
{
	static __thread char text[CONTAINER_NAME_BYTES + SHORT_ID + 8];
	const char *plain = group_names_plain(g, kind, key);
	bool has_name = kind == GROUP_CONTAINER || kind == GROUP_POD;

	if (!has_name || !name_of(g, key) || g->uses.at[name_of(g, key)] == 1)
		return plain;
	snprintf(text, sizeof(text), "%.*s (%.*s)", CONTAINER_NAME_BYTES, plain, SHORT_ID,
		intern_get(&g->texts, key));
	return text;
}

void group_names_done(struct group_names *g)
{
	intern_done(&g->texts);
	vec_done(&g->groups);
	vec_done(&g->number_of);
	vec_done(&g->names);
	vec_done(&g->uses);
	runc_states_done(&g->runc);
	*g = (struct group_names){.root = g->root};
}
