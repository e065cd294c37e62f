/* SPDX-License-Identifier: MIT */
#ifndef PERF_AUX_H
#define PERF_AUX_H

#include "perf/ring.h"

struct attar_aux {
	unsigned process;                  /* that created it, see base/check_arg.h */
	struct perf_event_mmap_page *page; /* the ring's */
	const unsigned char *area;
	size_t size; /* bytes: a power of two */
	bool snapshot;
};

#endif
