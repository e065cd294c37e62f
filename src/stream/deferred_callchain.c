/* SPDX-License-Identifier: MIT */
#include "stream/deferred_callchain.h"

#include "base/base.h"
#include "base/check_arg.h"
#include "perf/open.h"

enum { NONE = -1 };

static uint64_t chain_of(int32_t first, int32_t last)
{
	return (uint32_t)first | (uint64_t)(uint32_t)last << 32;
}

static int32_t first_of(uint64_t chain)
{
	return (int32_t)(uint32_t)chain;
}

static int32_t last_of(uint64_t chain)
{
	return (int32_t)(chain >> 32);
}

void deferred_callchain_init(struct deferred_callchains *d)
{
	*d = (struct deferred_callchains){
		.waiting = {NONE, NONE}, .ready = {NONE, NONE}, .taken = NONE};
}

void deferred_callchain_done(struct deferred_callchains *d)
{
	for (size_t i = 0; d->slots && i < DEFER_MAX; i++) {
		vec_done(&d->slots[i].record);
		vec_done(&d->slots[i].user);
	}
	free(d->slots);
	map_done(&d->chains);
	vec_done(&d->free);
	vec_done(&d->chain);
	deferred_callchain_init(d);
}

/* Allocates the table for the first sample that waits. */
static int make_slots(struct deferred_callchains *d)
{
	if (d->slots)
		return 0;
	d->slots = calloc(DEFER_MAX, sizeof(*d->slots));
	if (!d->slots || vec_reserve(&d->free, DEFER_MAX) < 0)
		return base_oom();
	for (int32_t i = DEFER_MAX; i > 0; i--)
		d->free.at[d->free.n++] = i - 1;
	return 0;
}

static void add_waiting(struct deferred_callchains *d, int32_t i)
{
	struct held *h = &d->slots[i];

	h->older = d->waiting.last;
	h->newer = NONE;
	if (d->waiting.last >= 0)
		d->slots[d->waiting.last].newer = i;
	else
		d->waiting.first = i;
	d->waiting.last = i;
}

static void make_ready(struct deferred_callchains *d, int32_t i)
{
	struct held *h = &d->slots[i];

	if (h->older >= 0)
		d->slots[h->older].newer = h->newer;
	else
		d->waiting.first = h->newer;
	if (h->newer >= 0)
		d->slots[h->newer].older = h->older;
	else
		d->waiting.last = h->older;
	h->next = NONE;
	if (d->ready.last >= 0)
		d->slots[d->ready.last].next = i;
	else
		d->ready.first = i;
	d->ready.last = i;
}

bool deferred_callchain_give_up(struct deferred_callchains *d)
{
	int32_t i = d->waiting.first;
	const struct held *h;

	if (i < 0)
		return false;
	h = &d->slots[i];
	/* The oldest sample is the first one with its cookie. */
	if (h->next >= 0) {
		uint64_t *chain = map_get(&d->chains, h->cookie);

		*chain = chain_of(h->next, last_of(*chain));
	} else {
		map_remove(&d->chains, h->cookie);
	}
	make_ready(d, i);
	d->missing++;
	return true;
}

/* Appends slot i to the list of its cookie. */
static int link_cookie(struct deferred_callchains *d, int32_t i)
{
	uint64_t *chain = map_get(&d->chains, d->slots[i].cookie);

	if (!chain)
		return map_put(&d->chains, d->slots[i].cookie, chain_of(i, i));
	d->slots[last_of(*chain)].next = i;
	*chain = chain_of(first_of(*chain), i);
	return 0;
}

static int copy(struct held *h, const struct attar_event *ev, uint32_t layout)
{
	size_t words = ev->record->size / sizeof(uint64_t);

	h->record.n = h->user.n = 0;
	if (vec_reserve(&h->record, words) < 0)
		return -ENOMEM;
	memcpy(h->record.at, ev->record->header, ev->record->size);
	h->record.n = words;
	h->cookie = ev->record->sample.callchain[ev->record->sample.callchain_nr - 1];
	h->time = ev->time;
	h->counter = ev->counter;
	h->layout = layout;
	h->next = NONE;
	return 0;
}

/* Frees the slot that was delivered last. */
static void put_back_taken(struct deferred_callchains *d)
{
	if (d->taken >= 0)
		d->free.at[d->free.n++] = d->taken;
	d->taken = NONE;
}

int deferred_callchain_hold(
	struct deferred_callchains *d, const struct attar_event *ev, uint32_t layout)
{
	int32_t i;

	if (make_slots(d) < 0)
		return -ENOMEM;
	put_back_taken(d);
	if (d->free.n == 1) /* one stays free for a sample that is ready before the next */
		deferred_callchain_give_up(d);
	i = d->free.at[d->free.n - 1];
	if (copy(&d->slots[i], ev, layout) < 0 || link_cookie(d, i) < 0)
		return base_oom();
	d->free.n--;
	add_waiting(d, i);
	return 0;
}

int deferred_callchain_resume(struct deferred_callchains *d, const struct attar_record *rec)
{
	uint64_t cookie = rec->callchain_deferred.cookie, nr = rec->callchain_deferred.nr;
	uint64_t *chain = map_get(&d->chains, cookie);
	int32_t i = chain ? first_of(*chain) : NONE, next;
	int r = 0;

	put_back_taken(d);
	map_remove(&d->chains, cookie);
	for (; i >= 0; i = next) {
		struct held *h = &d->slots[i];

		next = h->next;
		make_ready(d, i);
		if (vec_reserve(&h->user, nr) < 0) {
			r = base_oom();
			d->missing++;
			continue;
		}
		if (nr)
			memcpy(h->user.at, rec->callchain_deferred.ips, nr * sizeof(uint64_t));
		h->user.n = nr;
		d->stitched++;
	}
	return r;
}

/*
 * Joins the kernel half, without its marker and cookie, and the user half, with a marker before it.
 */
static int stitch(struct deferred_callchains *d, const struct held *h, struct attar_sample *s)
{
	size_t kernel = s->callchain_nr - 2;

	d->chain.n = 0;
	if (vec_reserve(&d->chain, kernel + 1 + h->user.n) < 0)
		return base_oom();
	memcpy(d->chain.at, s->callchain, kernel * sizeof(uint64_t));
	d->chain.n = kernel;
	if (h->user.at[0] < (uint64_t)PERF_CONTEXT_MAX)
		d->chain.at[d->chain.n++] = (uint64_t)PERF_CONTEXT_USER;
	memcpy(d->chain.at + d->chain.n, h->user.at, h->user.n * sizeof(uint64_t));
	d->chain.n += h->user.n;
	s->callchain = d->chain.at;
	s->callchain_nr = (uint32_t)d->chain.n;
	return 0;
}

int deferred_callchain_take(struct deferred_callchains *d, const struct attar_layout *layouts,
	struct attar_record *rec, struct attar_event *ev)
{
	int32_t i = d->ready.first;
	const struct held *h;
	int r;

	if (i < 0)
		return 0;
	put_back_taken(d);
	d->taken = i;
	h = &d->slots[i];
	d->ready.first = h->next;
	if (h->next < 0)
		d->ready.last = NONE;
	r = attar_record_parse(
		&layouts[h->layout], h->record.at, h->record.n * sizeof(uint64_t), rec);
	if (r == 0 && h->user.n)
		r = stitch(d, h, &rec->sample);
	ev->record = rec;
	ev->time = h->time;
	ev->counter = h->counter;
	ev->cpu = rec->cpu;
	return r < 0 ? r : 1;
}

/* ---- support by the kernel ---- */

/* Any event will do: support does not depend on its type. */
static bool kernel_defers(void)
{
	union uapi_attr attr = {.attr = {.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_CALLCHAIN,
					.disabled = 1}};
	int fd;

	attr.flags |= UAPI_ATTR_DEFER_CALLCHAIN | UAPI_ATTR_DEFER_OUTPUT;
	fd = open_event(&attr, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

bool attar_stream_defer(struct perf_event_attr *attr)
{
	CHECK_ARG_OR(attr, "attr", false);

	union uapi_attr *whole = (union uapi_attr *)attr;

	if (!(attr->sample_type & PERF_SAMPLE_CALLCHAIN) || attr->exclude_callchain_user ||
		!kernel_defers())
		return false;
	whole->flags |= UAPI_ATTR_DEFER_CALLCHAIN | UAPI_ATTR_DEFER_OUTPUT;
	return true;
}
