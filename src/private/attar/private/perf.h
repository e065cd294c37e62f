/* SPDX-License-Identifier: MIT */
/*
 * What attar/perf.h has for attar itself only. It may change with each version, and is not
 * installed.
 */
#ifndef ATTAR_PRIVATE_PERF_H
#define ATTAR_PRIVATE_PERF_H

#include "attar/perf.h"

/* The kind of the target. */
enum attar_target_kind target_kind_of(const struct attar_target *target);

/* The pid of the launched command, 0 without one. */
pid_t target_command_pid(const struct attar_target *target);

/*
 * CPU time of the exited command and of the children that it waited for, in ns. -ENOENT: the
 * command has not exited, or there is none; -ECHILD: the calling program reaped it, or ignores
 * SIGCHLD.
 */
int target_command_times(
	const struct attar_target *target, uint64_t *ret_user, uint64_t *ret_system);

/* The CPUs of the target, ascending; a single -1 for any_cpu. Borrowed from the target. */
const int *target_cpus(const struct attar_target *target, size_t *ret_n);

/* Records of this event lost so far; 0 where the kernel does not report it (before Linux 6.0). */
uint64_t counter_lost(const struct attar_counter *counter);

/*
 * Joins the parts of one task's count, of all CPUs or of all core types. They were enabled at the
 * same time and ran one after the other, so together they have no `elsewhere`. Initialize whole
 * with {0}.
 */
void value_join(struct attar_value *whole, const struct attar_value *part);

/*
 * Like attar_rings_new(), but when a ring is full, new records overwrite the oldest (flight
 * recorder). Counters with attr.write_backward (since Linux 4.7) get such rings from
 * attar_rings_new() too, separate from the rings of other counters. Use rings_freeze() to
 * read them. Without attr.write_backward a ring must be read before it wraps.
 */
int rings_new_overwritten(struct attar_target *target, struct attar_counter *const *counters,
	size_t n_counters, size_t bytes, struct attar_ring ***ret_rings, size_t *ret_n);

/* The size of the data of a ring. */
size_t ring_data_size(const struct attar_ring *ring);

/*
 * Pauses kernel output to the overwritable rings among `rings`, waits for writers in the middle of
 * a record (about 10 ms), and locates the records written since the last freeze: attar_ring_next()
 * then returns them, oldest first, each contiguous. They are valid until rings_thaw(), which
 * resumes output; records in between count as lost. Returns the number of records; -ESTALE: a
 * forward-written ring wrapped since the last read, and record boundaries are unknown.
 */
int rings_freeze(struct attar_ring *const *rings, size_t n);

int rings_thaw(struct attar_ring *const *rings, size_t n);

/* Bytes of records that were overwritten before a freeze. */
uint64_t ring_forgotten(const struct attar_ring *ring);

/*
 * Enables or disables all events opened by the calling thread, through libattar or not, with one
 * system call (prctl(2)); events opened by other threads are unaffected. Each event is switched
 * separately: groups are not kept together. 0 or a negative errno.
 */
int counters_enable_all(void);

int counters_disable_all(void);

/*
 * Like attar_group_read(), without times and ids, for frequent reads: only the values of members.
 * Returns the worst quality of them (enum attar_quality), or a negative errno.
 */
int group_values(struct attar_group *group, uint64_t *ret_values);

#endif
