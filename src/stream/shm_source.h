/* SPDX-License-Identifier: MIT */
/*
 * The second source of a stream: events that programs write to memory shared with attar (see
 * perfume/collector/collector.h), converted to samples as if the kernel had recorded them. Their
 * rings need no perf permission. Events overwritten before they were read are counted as lost.
 */
#ifndef STREAM_SHM_SOURCE_H
#define STREAM_SHM_SOURCE_H

#include "attar/stream.h"

/* The next event of an shm_source. Borrowed until the next call. */
struct shm_source_event {
	uint64_t time;
	uint32_t number; /* returned by on_new_event */
	pid_t pid, tid;
	const char *comm; /* of the process, at the time it was found */
	const void *raw;
	uint32_t raw_size;
};

/*
 * If the target has control groups, receives events of programs in them only. target is borrowed
 * until the shm_source is freed. Returns 0 or a negative errno.
 */
int shm_source_target(struct attar_shm_source *shm_source, const struct attar_target *target);

/*
 * Looks for new programs and events. Sets *ret_horizon to the current time: all events up to it are
 * visible. last: all that rings hold now are.
 */
int shm_source_begin(struct attar_shm_source *shm_source, bool last, uint64_t *ret_horizon);

/* Returns 1 with the next event not later than `until`; 0: none; -ENOMEM. */
int shm_source_next(
	struct attar_shm_source *shm_source, uint64_t until, struct shm_source_event *ret_event);

/*
 * The number of events lost since the last call. Without the losses of programs of other users than
 * root and the caller, if programs of several users are read: a program can claim losses, which say
 * nothing about events of other users.
 */
uint64_t shm_source_lost(struct attar_shm_source *shm_source);

/* The number of events left out so far, and the user whose programs lost most of them. */
uint64_t shm_source_lost_of_others(const struct attar_shm_source *shm_source, uid_t *ret_user);

/* The number of lost events that were left in rings at the end, and whose programs wrote them. */
uint64_t shm_source_left(const struct attar_shm_source *shm_source, uid_t *ret_user);

/* The time in ms after which the rings must be read again, at most max (-1: no limit). */
int shm_source_nap_ms(const struct attar_shm_source *shm_source, int max);

#endif
