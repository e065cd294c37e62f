/* SPDX-License-Identifier: MIT */
/* The size of a run's rings, and when they are read. */
#ifndef RUN_RINGS_H
#define RUN_RINGS_H

#include "base/base.h"

struct attar_run;

struct run_rings {
	uint64_t pages;     /* of RUN_PAGE_BYTES, of each ring */
	uint32_t watermark; /* unread bytes at which the kernel wakes the run */
	int wait_ms;        /* rings below the watermark are left unread for so long */
	bool has_within;    /* attar_run_read_within() was called, with: */
	unsigned within_ms;
};

/* When the target is known. 0 or a negative errno. */
int rings_choose(struct attar_run *run);

#endif
