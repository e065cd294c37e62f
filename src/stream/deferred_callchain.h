/* SPDX-License-Identifier: MIT */
/*
 * Samples with a deferred user stack. The kernel ends such a call chain with a marker and a cookie,
 * and writes the rest as a CALLCHAIN_DEFERRED record with the same cookie when the thread returns
 * to user mode: soon, or after a long sleep. Copies of the samples wait here. They are delivered
 * complete, or without their user stack if the table is full or the stream ends.
 */
#ifndef STREAM_DEFERRED_CALLCHAIN_H
#define STREAM_DEFERRED_CALLCHAIN_H

#include "attar/stream.h"
#include "base/map.h"
#include "base/vec.h"

enum { DEFER_MAX = 4096 };

/* List links are slot indexes; -1: none. */
struct held {
	uint64_t cookie;
	uint64_t time;        /* of the event */
	uint32_t counter;     /* of the event */
	uint32_t layout;      /* of its sample: see deferred_callchain_hold() */
	int32_t older, newer; /* neighbors in the waiting list */
	int32_t next;         /* with the same cookie; once ready: in delivery order */
	VEC(uint64_t) record; /* a copy; its memory is reused */
	VEC(uint64_t) user;   /* second half of its chain; empty: it never arrived */
};

struct held_list {
	int32_t first, last;
};

struct deferred_callchains {
	struct held *slots; /* DEFER_MAX, owned; NULL until first needed */
	struct map chains;  /* cookie -> first slot that waits for it | last one << 32 */
	VEC(int32_t) free;
	struct held_list waiting; /* by age */
	struct held_list ready;   /* to be delivered */
	int32_t taken;            /* delivered last; its memory is lent until the next call */
	VEC(uint64_t) chain;      /* both halves of that sample's chain */
	uint64_t stitched, missing;
};

void deferred_callchain_init(struct deferred_callchains *d);
void deferred_callchain_done(struct deferred_callchains *d);

/* True if the sample's call chain ends with a cookie. */
static inline bool deferred_callchain_concerns(const struct attar_sample *s)
{
	return s->callchain_nr >= 2 &&
	       s->callchain[s->callchain_nr - 2] == ATTAR_MARKER_USER_DEFERRED;
}

/*
 * Copies the event's sample; layout is the number of its layout in the array that is given to
 * deferred_callchain_take(). If the table is full, the oldest waiting sample becomes ready without
 * its user stack. Returns 0 or -ENOMEM.
 */
int deferred_callchain_hold(
	struct deferred_callchains *d, const struct attar_event *ev, uint32_t layout);

/*
 * Makes the samples that wait for the cookie of this CALLCHAIN_DEFERRED record ready. Returns 0;
 * -ENOMEM: some without their user stack.
 */
int deferred_callchain_resume(struct deferred_callchains *d, const struct attar_record *rec);

/* Makes the oldest waiting sample ready without its user stack. False: none waits. */
bool deferred_callchain_give_up(struct deferred_callchains *d);

static inline bool deferred_callchain_is_ready(const struct deferred_callchains *d)
{
	return d->ready.first >= 0;
}

/*
 * Takes the next ready sample and parses it into rec with its layout; sets the event's time and
 * counter. Both borrow from d until the next call of a function of this header. Returns 1; 0 if
 * none is ready; or -ENOMEM.
 */
int deferred_callchain_take(struct deferred_callchains *d, const struct attar_layout *layouts,
	struct attar_record *rec, struct attar_event *ev);

#endif
