/* SPDX-License-Identifier: MIT */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

#include "perf/counter.h"

struct attar_group {
	unsigned process;               /* the process that created it, see base/check_arg.h */
	struct attar_counter **members; /* the leader first; each has the same instances */
	size_t n;
	uint64_t *words; /* buffer for read(2) of the leader: all members and some more */
	size_t n_words;
	uint64_t *ids; /* kernel ids of all members, instance by instance */
	size_t n_ids;
	bool plain; /* values need no adjustment: none was reset, none is of one core type only */
	struct counter_read_sum *sums; /* one for each member */
	struct attar_value *scratch;   /* one for each member */
};

/* Like attar_group_open(), only on the given CPUs of the target: see counter_open_on(). */
int group_open_on(struct attar_target *target, struct counter_cpus cpus,
	const struct attar_group_event *events, size_t n, unsigned flags,
	struct attar_group **ret_group);

/* Grows the buffer for additional members. Returns 0, -ENOMEM, or -ENOSPC if there are too many. */
int group_grow(struct attar_group *g);

#endif
