/* SPDX-License-Identifier: MIT */
/*
 * The name of a task, shared by the threads that inherited it and freed with the last of them, so
 * that names take no more memory than the threads that are known.
 */
#ifndef STREAM_COMM_H
#define STREAM_COMM_H

#include "base/base.h"

enum { COMM_BYTES_MAX = 255 }; /* longer names are cut; the kernel's have 15, a worker's up to 63 */

struct comm {
	unsigned refs;
	uint64_t hash; /* of the text */
	char text[];
};

/* A name of n bytes, or up to a NUL among them; NULL when out of memory. For comm_unref(). */
struct comm *comm_new(const char *text, size_t n);

static inline struct comm *comm_ref(struct comm *comm)
{
	comm->refs++;
	return comm;
}

/* NULL, for the caller's variable. Takes NULL. */
struct comm *comm_unref(struct comm *comm);

#endif
