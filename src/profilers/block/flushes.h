/* SPDX-License-Identifier: MIT */
/*
 * The writes that wait for a flush (block_kind.h). They name the thread that a flush is for: the
 * kernel issues it in a worker thread, with no hint at the writes.
 */
#ifndef PROFILERS_BLOCK_FLUSHES_H
#define PROFILERS_BLOCK_FLUSHES_H

#include "block/requests.h"

/* Frees the list. */
void block_flushes_done(struct block_flushes *flushes);

/*
 * A write on `dev` waits for a flush from now on: request has its thread, first sector and bytes.
 * Returns 0 or -ENOMEM.
 */
int block_flushes_wait(
	struct block_flushes *flushes, const struct block_request *request, uint64_t time);

/*
 * It waits no longer. sector: its first one, or the one after its last. Returns whether it was
 * selected, and known to wait.
 */
bool block_flushes_end(struct block_flushes *flushes, uint32_t dev, uint64_t sector);

/*
 * The write that waits for the flush that begins: the first one that was selected, otherwise the
 * first one. It is returned once. NULL: none is known. Borrowed until the next call.
 */
const struct block_request *block_flushes_next(struct block_flushes *flushes, uint32_t dev);

/* Forgets all. */
void block_flushes_forget(struct block_flushes *flushes);

/* Whether the device was seen to have several flushes at a time. */
bool block_flushes_overlap(const struct block *block, uint64_t dev);

/*
 * The completion of a superseded flush was seen: the device has several queues. It was not missed.
 */
void block_flushes_set_overlap(struct block *block, uint64_t dev);

#endif
