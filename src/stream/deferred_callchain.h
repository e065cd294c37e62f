/* SPDX-License-Identifier: MIT */
/*
 * Samples whose user stack is still to come. The kernel ends such a call chain by a marker and a
 * cookie, and writes the rest as a CALLCHAIN_DEFERRED record of the same cookie when the thread
 * returns to user code: soon, or after a long sleep. The samples wait here, as copies, and come out
 * whole; or as they are, when the table is full or the stream ends.
 */
#ifndef STREAM_DEFERRED_CALLCHAIN_H
#define STREAM_DEFERRED_CALLCHAIN_H

#include "attar/stream.h"
#include "base/map.h"
#include "base/vec.h"

enum { DEFER_MAX = 4096 };

/* Links of lists are numbers of slots; -1: none. */
struct held {
	uint64_t cookie;
	uint64_t time;        /* of the event */
	uint32_t counter;     /* of the event */
	int32_t older, newer; /* among those that wait */
	int32_t next;         /* of the same cookie; then: in the order of delivery */
	VEC(uint64_t) record; /* a copy; its memory is used again */
	VEC(uint64_t) user;   /* the second half of its chain; none: it never came */
};

struct held_list {
	int32_t first, last;
};

struct deferred_callchains {
	struct held *slots; /* DEFER_MAX, owned; NULL until the first one */
	struct map chains;  /* cookie -> the first slot that waits for it, and << 32 the last */
	VEC(int32_t) free;
	struct held_list waiting; /* by age */
	struct held_list ready;   /* to be delivered */
	int32_t taken;       /* was delivered last: its memory is borrowed until the next one */
	VEC(uint64_t) chain; /* of that one, both halves */
	uint64_t stitched, missing;
};

void deferred_callchain_init(struct deferred_callchains *d);
void deferred_callchain_done(struct deferred_callchains *d);

/* Whether the sample's call chain ends with a cookie. */
static inline bool deferred_callchain_concerns(const struct attar_sample *s)
{
	return s->callchain_nr >= 2 &&
	       s->callchain[s->callchain_nr - 2] == ATTAR_MARKER_USER_DEFERRED;
}

/*
 * Copies the event's sample. In a full table the one that waits longest is ready as it is. 0 or
 * -ENOMEM.
 */
int deferred_callchain_hold(struct deferred_callchains *d, const struct attar_event *ev);

/*
 * Makes ready what waits for the cookie of this CALLCHAIN_DEFERRED record. 0; -ENOMEM: some as it
 * is.
 */
int deferred_callchain_resume(struct deferred_callchains *d, const struct attar_record *rec);

/* What waits longest is ready as it is. False: nothing waits. */
bool deferred_callchain_give_up(struct deferred_callchains *d);

static inline bool deferred_callchain_is_ready(const struct deferred_callchains *d)
{
	return d->ready.first >= 0;
}

/*
 * The next ready one, parsed into rec with the layout of its counter (layouts[ev->counter]); the
 * event's time and counter are filled in. Both borrow from d until the next call of any of these.
 * 1; 0: none is ready; or -ENOMEM.
 */
int deferred_callchain_take(struct deferred_callchains *d, const struct attar_layout *layouts,
	struct attar_record *rec, struct attar_event *ev);

#endif
