/* SPDX-License-Identifier: MIT */
#include "attar/stream.h"

attar_place attar_thread_place(struct attar_thread *thread, uint64_t ip)
{
	return attar_space_place(thread->process->space, ip);
}

static attar_place place_of(const struct attar_event *ev, enum attar_code_context context, uint64_t ip)
{
	return context == ATTAR_CONTEXT_KERNEL ? attar_place_kernel(ip)
					       : attar_thread_place(ev->thread, ip);
}

size_t attar_event_stack(const struct attar_event *ev, attar_place *places, size_t max)
{
	const struct attar_sample *s = &ev->record->sample;
	struct attar_callchain chain;
	uint64_t ip;
	size_t n = 0;

	attar_callchain_init(&chain, s->callchain, s->callchain_nr, ev->record->misc);
	while (n < max && attar_callchain_next(&chain, &ip)) {
		places[n] = place_of(ev, chain.context, ip);
		if (n && attar_place_dso(places[n]) == ATTAR_DSO_UNKNOWN)
			break;
		n++;
	}
	if (!n && max)
		places[n++] = place_of(ev, chain.context, s->ip);
	return n;
}
