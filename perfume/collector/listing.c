/* SPDX-License-Identifier: CC0-1.0 */
/* Lists registered events of programs and their listeners. */
#include "writer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

uint64_t perfume_collector_horizon(const struct perfume_collector *c)
{
	return c->polled;
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

/*
 * The enable words of all events, in the order of the programs, in memory shared with the helper
 * process that reads them.
 */
struct words {
	const struct perfume_collector *c;
	uint32_t *at;
};

static void read_words_of(const struct writer *writer, uint32_t *at)
{
	uint32_t i;

	for (i = 0; i < writer->n_events; i++)
		if (pread(writer->mem, &at[i], sizeof(at[i]), (off_t)writer->area->slots[i].word) !=
			sizeof(at[i]))
			at[i] = 0;
}

/* First the programs of users whose memory does not keep the process waiting. */
static int read_words(const void *ctx)
{
	const struct words *words = ctx;
	const struct writer *writer;
	int trusted;

	for (trusted = 1; trusted >= 0; trusted--) {
		uint32_t *at = words->at;

		for (writer = words->c->writers; writer; writer = writer->next) {
			if (perfume_user_is_trusted(writer->user) == trusted && writer->mem >= 0 &&
				!writer->gone)
				read_words_of(writer, at);
			at += writer->n_events;
		}
	}
	return 0;
}

static int list_event(const struct perfume_collector *c, const struct writer *writer, uint32_t word,
	uint32_t i, perfume_registered_fn *fn, void *ctx)
{
	const struct area_slot *slot = &writer->area->slots[i];
	struct perfume_registered registered = {.source = &writer->events[i]->source};

	if (!__atomic_load_n(&slot->live, __ATOMIC_ACQUIRE))
		return 0;
	registered.word = word;
	registered.written = written_by(writer->area);
	find_listeners(
		c, writer->area, __atomic_load_n(&slot->wanted, __ATOMIC_RELAXED), &registered);
	return fn(ctx, &registered);
}

int perfume_collector_each(struct perfume_collector *c, perfume_registered_fn *fn, void *ctx)
{
	const size_t n = c->n_events * sizeof(uint32_t);
	uint64_t patience = PATIENCE_NS;
	struct words words = {.c = c};
	const struct writer *writer;
	const uint32_t *at;
	uint32_t i;
	int result = 0;

	if (!n)
		return 0;
	words.at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (words.at == MAP_FAILED)
		return -ENOMEM;
	perfume_helper_process(read_words, &words, &patience);
	for (writer = c->writers, at = words.at; writer; writer = writer->next) {
		for (i = 0; i < writer->n_events && !writer->gone && !result; i++)
			result = list_event(c, writer, at[i], i, fn, ctx);
		at += writer->n_events;
	}
	munmap(words.at, n);
	return result;
}
