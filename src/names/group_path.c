/* SPDX-License-Identifier: MIT */
#include "names/group_path.h"

#include <string.h>

enum { ID_MIN = 12, ID_FULL = 64, POD_MIN = 32, POD_MAX = 36 };

static bool is(const struct path_part *part, const char *text)
{
	return strlen(text) == part->n && !memcmp(part->at, text, part->n);
}

static bool begins(const struct path_part *part, const char *text)
{
	size_t n = strlen(text);

	return part->n > n && !memcmp(part->at, text, n);
}

static bool ends(const struct path_part *part, const char *text)
{
	size_t n = strlen(text);

	return part->n > n && !memcmp(part->at + part->n - n, text, n);
}

static struct path_part without(const struct path_part *part, size_t before, const char *after)
{
	struct path_part rest = {part->at + before, part->n - before};

	if (ends(&rest, after))
		rest.n -= strlen(after);
	return rest;
}

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

static bool is_id(const struct path_part *part)
{
	for (size_t i = 0; i < part->n; i++)
		if (!is_hex(part->at[i]))
			return false;
	return part->n >= ID_MIN && part->n <= ID_FULL;
}

/* A UUID, or the hash of a static pod; in names of slices with '_' in place of '-'. */
static bool is_pod_id(const struct path_part *part)
{
	for (size_t i = 0; i < part->n; i++)
		if (!is_hex(part->at[i]) && part->at[i] != '-' && part->at[i] != '_')
			return false;
	return part->n >= POD_MIN && part->n <= POD_MAX;
}

/* "docker-ID.scope", or "libpod-ID" */
static bool take_prefixed(const struct path_part *name, struct group_path *parts)
{
	static const struct {
		const char *prefix;
		enum container_kind kind;
	} prefixes[] = {{"docker-", CONTAINER_DOCKER}, {"cri-containerd-", CONTAINER_CONTAINERD},
		{"nerdctl-", CONTAINER_CONTAINERD}, {"crio-", CONTAINER_CRIO},
		{"libpod-", CONTAINER_PODMAN}};

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		struct path_part id;

		if (!begins(name, prefixes[i].prefix))
			continue;
		id = without(name, strlen(prefixes[i].prefix), ".scope");
		if (!is_id(&id))
			continue;
		parts->kind = prefixes[i].kind;
		parts->container = id;
		return true;
	}
	return false;
}

static bool take_named(
	const struct path_part *name, const struct path_part *parent, struct group_path *parts)
{
	struct path_part found = {0};

	if (begins(name, "lxc.payload."))
		found = without(name, strlen("lxc.payload."), "");
	else if (is(parent, "lxc") || is(parent, "lxc.payload"))
		found = *name;
	else if (begins(name, "machine-") && ends(name, ".scope"))
		found = without(name, strlen("machine-"), ".scope");
	if (!found.n)
		return false;
	parts->kind = CONTAINER_NAMED;
	parts->container = found;
	return true;
}

/* An ID alone: of docker, of a pod, or in full length, which nothing else is. */
static void take_id(
	const struct path_part *name, const struct path_part *parent, struct group_path *parts)
{
	bool is_docker = is(parent, "docker"), is_in_pod = begins(parent, "pod");

	if (!is_id(name) || (!is_docker && !is_in_pod && name->n != ID_FULL))
		return;
	parts->kind = is_docker ? CONTAINER_DOCKER : CONTAINER_UNKNOWN;
	parts->container = *name;
}

static void take_pod(const struct path_part *name, bool is_kube, struct group_path *parts)
{
	struct path_part id = {0};

	if (is_kube && begins(name, "pod"))
		id = without(name, strlen("pod"), "");
	else if (begins(name, "kubepods") && ends(name, ".slice"))
		for (size_t i = 0; i + 4 < name->n && !id.n; i++)
			if (!memcmp(name->at + i, "-pod", 4))
				id = without(name, i + 4, ".slice");
	if (id.n && is_pod_id(&id))
		parts->pod = id;
	if (!begins(name, "machine-libpod_pod_"))
		return;
	id = without(name, strlen("machine-libpod_pod_"), ".slice");
	if (is_id(&id))
		parts->pod = id;
}

/* Services and scopes are in slices. */
static void take_unit(const struct path_part *name, struct group_path *parts)
{
	static const char *const types[] = {".service", ".scope", ".socket", ".mount", ".swap"};
	bool is_slice = ends(name, ".slice"), is_unit = false;

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		is_unit |= ends(name, types[i]);
	if (is_unit || (is_slice && (!parts->unit.n || ends(&parts->unit, ".slice"))))
		parts->unit = *name;
}

/* "kubepods-burstable-podUID.slice:cri-containerd:ID", if only one side uses systemd */
static bool take_triple(const struct path_part *name, struct group_path *parts)
{
	const char *first = memchr(name->at, ':', name->n), *end = name->at + name->n,
		   *second = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
	struct path_part slice, prefix, id;

	if (!second)
		return false;
	slice = (struct path_part){name->at, (size_t)(first - name->at)};
	prefix = (struct path_part){first + 1, (size_t)(second - first - 1)};
	id = (struct path_part){second + 1, (size_t)(end - second - 1)};
	if (!is_id(&id))
		return false;
	take_pod(&slice, true, parts);
	parts->container = id;
	parts->kind = is(&prefix, "cri-containerd") ? CONTAINER_CONTAINERD
		      : is(&prefix, "crio")         ? CONTAINER_CRIO
		      : is(&prefix, "docker")       ? CONTAINER_DOCKER
						    : CONTAINER_UNKNOWN;
	return true;
}

void group_path_parse(const char *path, size_t n, struct group_path *ret_parts)
{
	struct path_part parent = {"", 0};
	const char *end = path + n;
	bool is_kube = false;

	*ret_parts = (struct group_path){0};
	while (path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		const struct path_part name = {path, (size_t)((slash ?: end) - path)};

		path = slash ? slash + 1 : end;
		if (!name.n)
			continue;
		is_kube |= is(&name, "kubepods") || begins(&name, "kubepods");
		take_pod(&name, is_kube, ret_parts);
		take_unit(&name, ret_parts);
		if (!take_triple(&name, ret_parts) && !take_prefixed(&name, ret_parts) &&
			!take_named(&name, &parent, ret_parts))
			take_id(&name, &parent, ret_parts);
		parent = name;
	}
}

unsigned group_path_rank(const struct group_path *parts)
{
	bool is_unit = parts->unit.n && !ends(&parts->unit, ".slice");

	return 4 * (parts->kind != CONTAINER_NONE) + 2 * is_unit + (parts->unit.n > 0);
}
