/* SPDX-License-Identifier: MIT */
/*
 * The second way into a stream: events that programs write to memory which they share with us (see
 * perfume/collector/collector.h), made into samples that look as if the kernel had recorded them.
 * Their rings need no permission of perf, and lose what is overwritten before it was read: that is
 * counted.
 */
#ifndef STREAM_SHM_SOURCE_H
#define STREAM_SHM_SOURCE_H

#include "attar/stream.h"

/* An event in front of an shm_source; all of it borrowed until the next call. */
struct shm_source_event {
	uint64_t time;
	uint32_t number; /* of the source, as it was introduced */
	pid_t pid, tid;
	const char *comm; /* of the process, when it was found */
	const void *raw;
	uint32_t raw_size;
};

/*
 * The control groups of a target are those whose programs are listened to. Borrowed for the
 * shm_source's life.
 */
void shm_source_target(struct attar_shm_source *shm_source, const struct attar_target *target);

/*
 * Looks for programs and events that are new, and sets how far shm_source_next() goes: the time of
 * this moment, ret_horizon.
 */
int shm_source_begin(struct attar_shm_source *shm_source, uint64_t *ret_horizon);

/* The next event that is no later than `until`: 1; 0: none; -ENOMEM. */
int shm_source_next(
	struct attar_shm_source *shm_source, uint64_t until, struct shm_source_event *ret_event);

/* How many more were lost since the last call. */
uint64_t shm_source_lost(struct attar_shm_source *shm_source);

/*
 * How long a stream may sleep before the rings are to be looked at again, ms, at most max (-1: no
 * limit).
 */
int shm_source_nap_ms(const struct attar_shm_source *shm_source, int max);

/* Readable when a program has announced itself. */
int shm_source_fd(const struct attar_shm_source *shm_source);

#endif
