/* SPDX-License-Identifier: MIT */
/*
 * The containers of runc by their control groups. runc has a directory with a file of its state for
 * each. A file is read once: other users can have any number of groups, which are looked up here.
 *
 *	struct runc_states states = {0};
 *	runc_states_read(&states, "");
 *	const char *name = runc_states_find(&states, "/user/box/below");
 *	runc_states_done(&states);
 */
#ifndef NAMES_RUNC_STATES_H
#define NAMES_RUNC_STATES_H

#include "base/intern.h"
#include "base/map.h"

enum { RUNC_STATES_MAX = 1024 };

struct runc_states {
	struct intern texts; /* groups, and names of containers */
	struct map by_group; /* hash of a group -> numbers of its text, and of a name << 32 */
	struct map seen;     /* inode << 1 | number of its folder: whose file was read */
	size_t longest;      /* bytes of a group */
};

/* Reads the states of new containers. root: the directory in which the files are, "" for "/". */
void runc_states_read(struct runc_states *states, const char *root);

/* The name of the container in a group, or in one that contains it; NULL: there is none. */
const char *runc_states_find(const struct runc_states *states, const char *group);

void runc_states_done(struct runc_states *states);

#endif
