/* SPDX-License-Identifier: MIT */
/*
 * Names of containers in the files of the programs that run them. The files need not be trusted:
 * what is malformed has no names, and text is cut.
 */
#ifndef NAMES_CONTAINER_JSON_H
#define NAMES_CONTAINER_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

enum { CONTAINER_NAME_BYTES = 256 };

/* "": unknown. */
struct container_names {
	char name[CONTAINER_NAME_BYTES];
	char pod[CONTAINER_NAME_BYTES]; /* NAMESPACE/NAME */
};

/* What a file does not say stays as it is. Each returns whether it has found a name. */

/* docker: config.v2.json of a container. */
bool container_json_docker(const char *text, size_t n, struct container_names *names);

/* containerd, CRI-O, nerdctl: config.json of a bundle, with annotations. */
bool container_json_bundle(const char *text, size_t n, struct container_names *names);

/* podman: containers.json, with all containers. */
bool container_json_storage(
	const char *text, size_t n, const char *id, struct container_names *names);

/*
 * runc: the paths of the container's control groups in state.json, each ending with NUL. False: it
 * is not JSON, or has none.
 */
bool container_json_groups(const char *text, size_t n, struct buf *ret_paths);

#endif
