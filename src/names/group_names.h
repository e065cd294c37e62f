/* SPDX-License-Identifier: MIT */
/*
 * Control groups by number: a task has the number of its group, which events add up and compare;
 * names are made for reports. Groups with the same container, pod or unit have the same number of
 * that kind.
 *
 *	struct group_names groups = {.root = ""};
 *	uint32_t group = group_names_of_text(&groups, text_of_proc_pid_cgroup);
 *	...
 *	group_names_resolve(&groups);
 *	uint32_t key = group_names_get(&groups, GROUP_CONTAINER, group);
 *	puts(group_names_text(&groups, GROUP_CONTAINER, key));
 *	group_names_done(&groups);
 */
#ifndef NAMES_GROUP_NAMES_H
#define NAMES_GROUP_NAMES_H

#include "base/intern.h"
#include "names/group_path.h"
#include "names/runc_states.h"

enum { GROUPS_MAX = 1 << 16, GROUP_PATH_MAX = 4096 };

enum group_kind { GROUP_CGROUP, GROUP_UNIT, GROUP_CONTAINER, GROUP_POD, GROUP_KINDS };

struct group {
	/* Numbers in `texts` of what is the same: the path, up to the unit, an ID; 0: none. */
	uint32_t keys[GROUP_KINDS];
	enum container_kind kind;
	unsigned rank;
	bool is_resolved;
	uint64_t since; /* ns: when it was added */
};

struct group_names {
	const char *root; /* in which the files about containers are: "" */
	struct intern texts;
	VEC(struct group) groups; /* [0]: unknown */
	VEC(uint32_t) number_of;  /* by the number of the text of a path; 0: none */
	VEC(uint32_t) names;      /* by the number of a key: of its name; 0: the key itself */
	VEC(uint32_t) uses;       /* by the number of a name: how many keys have it */
	size_t resolved;          /* groups before that are */
	struct runc_states runc;
	uint64_t looked;       /* ns: when containers were looked for; 0: look now */
	uint64_t began, spent; /* ns: when they were looked for first, and how long in all */
	bool is_told;          /* that it takes long */
	uint32_t changes;      /* of names */
	uint64_t dropped;      /* paths, because of the limit */
};

/* The number of the group with this path; 0: there are too many, or out of memory. */
uint32_t group_names_of_path(struct group_names *groups, const char *path, size_t n);

/*
 * The same of a text of /proc/PID/cgroup, which has a path for each hierarchy: the path that says
 * most. If several say as much: the path of version 2, of systemd, or the first. 0: there is none.
 */
uint32_t group_names_of_text(struct group_names *groups, const char *text);

/* Whether a path says at least as much as a group does. */
bool group_names_is_better(
	const struct group_names *groups, uint32_t group, const char *path, size_t n);

/* What a group is of that kind; 0: it is in none. Called per event. */
static inline uint32_t group_names_get(
	const struct group_names *groups, enum group_kind kind, uint32_t group)
{
	return group < groups->groups.n ? groups->groups.at[group].keys[kind] : 0;
}

/*
 * Reads the names of the containers of new groups. To be called again: runc writes its file after
 * it has moved the task into the group.
 */
void group_names_resolve(struct group_names *groups);

/* Sets the name of what has a key, as of a recording. 0 or -ENOMEM. */
int group_names_set(struct group_names *groups, uint32_t key, const char *name);

/* The group belongs to a container with this name, which its path does not say. */
void group_names_set_container(struct group_names *groups, uint32_t group, const char *name);

/* The name that a key was given; otherwise the name of a container that is its ID, or "". */
const char *group_names_own(const struct group_names *groups, uint32_t key);

/* The name of a key, in which containers of the same name have their IDs; "" for 0. */
const char *group_names_text(const struct group_names *groups, enum group_kind kind, uint32_t key);

/* The same without these IDs: it does not change when there is another container of the name. */
const char *group_names_plain(const struct group_names *groups, enum group_kind kind, uint32_t key);

void group_names_done(struct group_names *groups);

#endif
