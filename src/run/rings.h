/* SPDX-License-Identifier: MIT */
/* The size of a run's rings, and when they are read. */
#ifndef RUN_RINGS_H
#define RUN_RINGS_H

#include "run/run.h"

#include "base/base.h"

struct run_rings {
	uint64_t pages;          /* of RUN_PAGE_BYTES, of each ring */
	uint32_t watermark;      /* unread bytes at which the kernel wakes the run */
	int wait_ms;             /* rings below the watermark are left unread for so long */
	bool has_stacks;         /* samples can have copies of stacks */
	const char *overwritten; /* the option by which their contents are; NULL: they are read */
	size_t spare;            /* bytes beyond `pages`, for what is written until a dump */
	bool has_within;         /* run_read_within() was called, with: */
	unsigned within_ms;
};

SHARED_STATE(rings_of, struct run_rings, RINGS)

/* Bytes of each ring. */
size_t rings_bytes(const struct run_rings *rings);

/* The events that were lost while the rings were stopped for dumps. */
uint64_t rings_lost_for_dumps(const struct attar_run *run);

/* When the target is known. 0 or a negative errno. */
int rings_choose(struct attar_run *run);

/* Frames of a stack at most, as the kernel takes it: kernel.perf_event_max_stack. */
uint32_t rings_max_stack(void);

#endif
