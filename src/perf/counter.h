/* SPDX-License-Identifier: MIT */
#ifndef PERF_COUNTER_H
#define PERF_COUNTER_H

#include "attar/perf.h"
#include "base/vec.h"

/* One fd of a counter and where it counts. */
struct counter_fd {
	int fd;
	int cpu;
	uint64_t id; /* the kernel's, as records carry it; 0 when it could not be asked */
};

struct attar_counter {
	char *name;
	struct perf_event_attr attr; /* as opened */
	VEC(struct counter_fd) fds;
	bool has_lost; /* read_format carries PERF_FORMAT_LOST */
};

/* Opens it on the threads tids[first..] of the target too. */
int counter_add_tids(struct attar_counter *c, struct attar_target *t, size_t first);

#endif
