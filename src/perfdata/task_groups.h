/* SPDX-License-Identifier: MIT */
/*
 * The control groups and users of processes when a recording begins, and of those that execute a
 * program in another group later, with the names of containers and pods, which another machine does
 * not know.
 */
#ifndef PERFDATA_TASK_GROUPS_H
#define PERFDATA_TASK_GROUPS_H

#include "base/buf.h"
#include "base/vec.h"

struct cursor;
struct recording;

enum { RECORDING_GROUPS_MAX = 1 << 16, RECORDING_GROUP_TEXT_MAX = 4096 };

struct recording_group {
	uint32_t pid;
	uint32_t user;                      /* + 1; 0: unknown */
	const char *path, *container, *pod; /* "": unknown */
};

typedef VEC(struct recording_group) recording_groups;

/* Appends the contents of an EVENT_UPDATE_GROUP. */
void recording_group_put(const struct recording_group *group, struct buf *b);

/* Reads it. What is malformed is left out. Returns 0 or -ENOMEM. */
int recording_group_read(struct recording *r, struct cursor *c);

/* What was read so far. */
const recording_groups *recording_get_groups(const struct recording *r);

#endif
