/* SPDX-License-Identifier: MIT */
/*
 * What threads wait for when a recording begins, and when it ends: no event has it if the wait
 * outlasts the recording.
 */
#ifndef PERFDATA_WAITS_H
#define PERFDATA_WAITS_H

#include "attar/wait.h"
#include "base/buf.h"
#include "base/vec.h"

struct cursor;

enum {
	RECORDING_WAITS_MAX = 4096,    /* threads */
	RECORDING_WAITS_CHAIN_MAX = 8, /* waits of one thread */
};

enum recording_moment { RECORDING_BEGAN, RECORDING_ENDED, RECORDING_MOMENTS };

/* {0}: nothing was read. The chains are owned. */
struct recording_waits {
	uint64_t time;   /* ns: when it was read; 0: it was not */
	uint64_t unread; /* threads for which no time was left */
	bool is_system;  /* all threads of the machine */
	VEC(struct attar_thread_wait) threads;
};

/* Copies the thread and its chain. Returns 0 or -ENOMEM. */
int recording_waits_add(struct recording_waits *waits, const struct attar_thread_wait *thread);

void recording_waits_done(struct recording_waits *waits);

/*
 * Appends the contents of an EVENT_UPDATE_WAITS, which is followed by an EVENT_UPDATE_WAIT for each
 * thread.
 */
void recording_waits_put(
	const struct recording_waits *waits, enum recording_moment moment, struct buf *b);
void recording_waits_put_thread(
	const struct attar_thread_wait *thread, enum recording_moment moment, struct buf *b);

/*
 * Reads them into waits[RECORDING_MOMENTS]. What is malformed is left out. Returns 0 or -ENOMEM.
 */
int recording_waits_read(struct recording_waits *waits, struct cursor *c);
int recording_waits_read_thread(struct recording_waits *waits, struct cursor *c);

#endif
