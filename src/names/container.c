/* SPDX-License-Identifier: MIT */
#include "names/container.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

enum { FILE_BYTES_MAX = 4 << 20 };

/* Which contents a file has. */
enum format { DOCKER, BUNDLE, STORAGE };

bool container_read_file(const char *path, struct buf *ret_text)
{
	struct stat st;
	bool is_read = false;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		is_read = file_read_fd(fd, path, FILE_BYTES_MAX, ret_text) == 0;
	attar_error_clear();
	close(fd);
	return is_read;
}

static const struct place {
	enum format format;
	unsigned kinds;     /* bits of enum container_kind */
	const char *before; /* the ID */
	const char *after;
} places[] = {
#define DOCKER_OR     1U << CONTAINER_UNKNOWN | 1U << CONTAINER_DOCKER
#define CONTAINERD_OR 1U << CONTAINER_UNKNOWN | 1U << CONTAINER_CONTAINERD
#define STORAGE_OR    1U << CONTAINER_UNKNOWN | 1U << CONTAINER_CRIO | 1U << CONTAINER_PODMAN
	{DOCKER, DOCKER_OR, "/var/lib/docker/containers/", "/config.v2.json"},
	{BUNDLE, CONTAINERD_OR, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/",
		"/config.json"},
	{BUNDLE, CONTAINERD_OR, "/run/containerd/io.containerd.runtime.v2.task/default/",
		"/config.json"},
	{BUNDLE, STORAGE_OR, "/run/containers/storage/overlay-containers/",
		"/userdata/config.json"},
	{BUNDLE, STORAGE_OR, "/var/lib/containers/storage/overlay-containers/",
		"/userdata/config.json"},
	{STORAGE, STORAGE_OR, "/var/lib/containers/storage/overlay-containers/containers.json",
		NULL},
	{STORAGE, STORAGE_OR,
		"/var/lib/containers/storage/overlay-containers/volatile-containers.json", NULL},
};

static bool find_in(const char *root, const struct place *place, const char *id,
	struct container_names *ret_names)
{
	struct buf text _cleanup_(buf_done) = {0};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s%s%s", root, place->before, place->after ? id : "",
		place->after ?: "");
	if (!container_read_file(path, &text))
		return false;
	switch (place->format) {
	case DOCKER:
		return container_json_docker(buf_text(&text), text.len, ret_names);
	case BUNDLE:
		return container_json_bundle(buf_text(&text), text.len, ret_names);
	case STORAGE:
		break;
	}
	return container_json_storage(buf_text(&text), text.len, id, ret_names);
}

bool container_find_names(const char *root, enum container_kind kind, const char *id,
	struct container_names *ret_names)
{
	*ret_names = (struct container_names){0};
	if (strchr(id, '/') || *id == '.')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (places[i].kinds & 1U << kind && find_in(root, &places[i], id, ret_names))
			return true;
	return false;
}
