/* SPDX-License-Identifier: MIT */
/* Which CPUs of this machine share caches, from sysfs. */
#ifndef PROFILERS_LIB_TOPOLOGY_H
#define PROFILERS_LIB_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

enum { TOPOLOGY_L2, TOPOLOGY_LLC, TOPOLOGY_LEVELS }; /* LLC: the cache of the highest level */

struct topology {
	size_t n; /* CPUs */
	/* By CPU: the first CPU that shares its cache; -1: unknown. Owned by the topology. */
	int *of[TOPOLOGY_LEVELS];
};

/* Returns 0 or -ENOMEM. Free with topology_done(). A topology that is zeroed is unknown. */
int topology_read(struct topology *topology);
void topology_done(struct topology *topology);

/* Whether two CPUs share the cache of a level: 1, 0, or -1 if it is unknown. */
int topology_shares(const struct topology *topology, int level, size_t a, size_t b);

#endif
