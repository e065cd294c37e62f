/* SPDX-License-Identifier: MIT */
/* What the C library of a process keeps of a thread, for runtimes that know threads by it. */
#ifndef LANG_THREAD_H
#define LANG_THREAD_H

#include <stdint.h>
#include <sys/types.h>

#include "lang/memory.h"

struct lang_thread {
	pid_t tid;
	pid_t inside; /* the same in its own namespace of PIDs */
};

/* The pthread_t of a thread. 0: unknown, as with another C library than glibc. */
uint64_t lang_pthread(struct lang_memory *memory, const struct lang_thread *thread);

/* The value of pthread_getspecific(3) for a thread. 0: none, or unknown. */
uint64_t lang_specific(struct lang_memory *memory, const struct lang_thread *thread, unsigned key);

#endif
