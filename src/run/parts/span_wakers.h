/* SPDX-License-Identifier: MIT */
/*
 * The wakers of a time line's spans, each with its stack once: few places of few programs wake up
 * most threads. Their functions are named by the report.
 */
#ifndef RUN_PARTS_SPAN_WAKERS_H
#define RUN_PARTS_SPAN_WAKERS_H

#include "attar/run.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct span_waker {
	uint32_t comm; /* in the texts given to span_wakers_add() */
	int32_t pid, tid;
	size_t at, depth; /* of its stack in span_wakers.locations */
	struct buf text;  /* "f < g < main"; empty before span_wakers_resolve() */
};

struct span_wakers {
	VEC(struct span_waker) all;
	VEC(attar_location) locations;
	struct map number_of; /* hash of a waker -> its number */
};

/* Adds a waker, or finds an equal one. *ret_number: from 1 on. Returns 0 or -ENOMEM. */
int span_wakers_add(struct span_wakers *wakers, struct intern *texts,
	const struct attar_waker *waker, uint32_t *ret_number);

/* Borrowed until the next span_wakers_add(). */
const struct span_waker *span_wakers_get(const struct span_wakers *wakers, uint32_t number);

/* Names the functions of all stacks that have no text yet. */
void span_wakers_resolve(struct span_wakers *wakers, struct attar_symbols *symbols);

/* The memory of wakers and stacks. */
size_t span_wakers_bytes(const struct span_wakers *wakers);
void span_wakers_done(struct span_wakers *wakers);

#endif
