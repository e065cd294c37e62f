/* SPDX-License-Identifier: MIT */
#ifndef PERF_GROUP_H
#define PERF_GROUP_H

#include "perf/counter.h"

struct attar_group {
	unsigned process;               /* that created it, see base/check.h */
	struct attar_counter **members; /* the leader first; each has the same instances */
	size_t n;
	uint64_t *words; /* what read(2) of the leader gives: room for all members and some more */
	size_t n_words;
	uint64_t *ids; /* the kernel's, of all members on the first instance, then on the next */
	size_t n_ids;
	bool plain; /* what the kernel gives are the values: none was reset, none is of one kind of cores */
	struct counter_read_sum *sums; /* one for each member */
	struct attar_value *scratch;   /* one for each member */
};

/* Makes room for more members than there are known. 0, -ENOMEM, or -ENOSPC when there is no end to them. */
int group_grow(struct attar_group *g);

/* Opens the whole group on the threads tids[first..] of the target too. */
int group_add_tids(struct attar_group *g, struct attar_target *t, size_t first);

#endif
