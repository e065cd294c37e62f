/* SPDX-License-Identifier: MIT */
/*
 * The name of a task. It is reference-counted and shared by the threads that inherited it, so that
 * names need memory only for the threads in the table.
 */
#ifndef STREAM_COMM_H
#define STREAM_COMM_H

#include "base/base.h"

enum {
	COMM_BYTES_MAX = 255
}; /* longer names are truncated; the kernel's have up to 15, workers' up to 63 */

struct comm {
	unsigned refs;
	uint64_t hash; /* of the text */
	bool unknown;  /* stands for a name that is not known, such as "[unknown]" */
	char text[];
};

/*
 * Creates a name from n bytes, or up to a NUL among them. NULL if out of memory. Release with
 * comm_unref().
 */
struct comm *comm_new(const char *text, size_t n);

static inline struct comm *comm_ref(struct comm *comm)
{
	comm->refs++;
	return comm;
}

/* Returns NULL. comm may be NULL. */
struct comm *comm_unref(struct comm *comm);

#endif
