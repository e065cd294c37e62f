/* SPDX-License-Identifier: CC0-1.0 */
/* What programs have registered, and who listens to it. */
#include "writer.h"

#include <string.h>
#include <unistd.h>

uint64_t perfume_collector_horizon(const struct perfume_collector *c)
{
	return c->horizon;
}

static void find_listeners(const struct perfume_collector *c, const struct area *area,
	uint32_t wanted, struct perfume_registered *registered)
{
	uint64_t now = perfume_collector_now();
	int k;

	for (k = 0; k < AREA_CLAIMS; k++) {
		uint64_t id = __atomic_load_n(&area->claims[k].id, __ATOMIC_ACQUIRE);
		uint64_t lease = __atomic_load_n(&area->claims[k].lease, __ATOMIC_ACQUIRE);

		if (wanted >> k & 1 && id && id != c->id && lease > now)
			registered->listeners[registered->n_listeners++] = id;
	}
}

static uint64_t written_by(const struct area *area)
{
	uint32_t n = __atomic_load_n(&area->n_rings, __ATOMIC_ACQUIRE), i;
	uint64_t sum = 0;

	for (i = 0; i < n && i < AREA_RINGS; i++)
		sum += __atomic_load_n(&area->rings[i].count, __ATOMIC_RELAXED);
	return sum;
}

static int tell(const struct perfume_collector *c, const struct writer *writer, uint32_t i,
	perfume_registered_fn *fn, void *ctx)
{
	const struct area_slot *slot = &writer->area->slots[i];
	struct perfume_registered registered = {.source = &writer->events[i]->source};

	if (!__atomic_load_n(&slot->live, __ATOMIC_ACQUIRE))
		return 0;
	if (writer->mem < 0 || pread(writer->mem, &registered.word, sizeof(registered.word),
				       (off_t)slot->word) != sizeof(registered.word))
		registered.word = 0;
	registered.written = written_by(writer->area);
	find_listeners(
		c, writer->area, __atomic_load_n(&slot->wanted, __ATOMIC_RELAXED), &registered);
	return fn(ctx, &registered);
}

int perfume_collector_each(struct perfume_collector *c, perfume_registered_fn *fn, void *ctx)
{
	const struct writer *writer;
	uint32_t i;
	int result = 0;

	for (writer = c->writers; writer; writer = writer->next)
		for (i = 0; i < writer->n_events && !writer->gone && !result; i++)
			result = tell(c, writer, i, fn, ctx);
	return result;
}
