/* SPDX-License-Identifier: MIT */
/*
 * Names of containers, from the files of docker, containerd, CRI-O and podman, without their client
 * libraries. Of runc: runc_states.h.
 */
#ifndef NAMES_CONTAINER_H
#define NAMES_CONTAINER_H

#include "base/buf.h"
#include "names/container_json.h"
#include "names/group_path.h"

/*
 * The names of the container with this ID. root: the directory in which the files are, "" for "/".
 * False: no file has a name.
 */
bool container_find_names(const char *root, enum container_kind kind, const char *id,
	struct container_names *ret_names);

/*
 * Reads a regular file; neither the last link of its path nor a FIFO is followed, and nothing waits
 * for a writer. False: there is none, or it is too large.
 */
bool container_read_file(const char *path, struct buf *ret_text);

#endif
