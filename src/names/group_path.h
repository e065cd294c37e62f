/* SPDX-License-Identifier: MIT */
/*
 * What the path of a control group says, without reading files: the container, pod and unit. Users
 * can name their groups as they like: it is a name, not a proof.
 *
 *	/system.slice/docker-ID.scope                        docker with systemd
 *	/docker/ID                                           docker with cgroupfs
 *	/kubepods.slice/kubepods-podUID.slice/crio-ID.scope  Kubernetes with systemd
 *	/kubepods/burstable/podUID/ID                        Kubernetes with cgroupfs
 *	/machine.slice/libpod-ID.scope                       podman
 *	/lxc.payload.NAME, /machine.slice/machine-NAME.scope LXC, systemd-nspawn
 *	/user.slice/user-1000.slice/session-3.scope          units of systemd
 */
#ifndef NAMES_GROUP_PATH_H
#define NAMES_GROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>

enum container_kind {
	CONTAINER_NONE,
	CONTAINER_UNKNOWN, /* the ID does not say which program made it */
	CONTAINER_DOCKER,
	CONTAINER_CONTAINERD,
	CONTAINER_CRIO,
	CONTAINER_PODMAN,
	CONTAINER_NAMED, /* its ID is its name */
};

/* A part of the path; n 0: there is none. */
struct path_part {
	const char *at;
	size_t n;
};

struct group_path {
	enum container_kind kind;
	struct path_part container; /* its ID, or name */
	struct path_part pod;       /* its ID, in which '_' can stand for '-' */
	struct path_part unit;      /* the innermost service or scope, otherwise slice */
};

void group_path_parse(const char *path, size_t n, struct group_path *ret_parts);

/*
 * How much a path says: of the hierarchies of version 1, those without a controller that a
 * container uses have other paths.
 */
unsigned group_path_rank(const struct group_path *parts);

#endif
